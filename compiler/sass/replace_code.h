// A cubin with the words of one kernel replaced, and everything that it records about them with
// them: sizes, registers, where it exits, which line each instruction came from.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/sass/cubin.h"

namespace tilec::sass {

/// The new words of a kernel. Branches within already lead where they should.
struct Code {
  std::vector<Word> words;
  /// For each word: the index of the old one whose place and line it takes. Rising wherever the old
  /// words stand outside of what was rewritten.
  std::vector<size_t> origins;
  int registers = 0;  // per thread
};

/// Pads with NOPs to the size that code sections come in (128 bytes).
/// Errors (machine road): those of read_cubin; no-kernel for an unknown name; not-editable where
/// the cubin records something about offsets that we do not know how to keep true.
dsl::Result<std::vector<uint8_t>> replace_code(std::span<const uint8_t> file,
                                               std::string_view kernel, const Code& code);

/// A NOP as the assembler pads with: all fields at rest.
Word nop_word();

}  // namespace tilec::sass
