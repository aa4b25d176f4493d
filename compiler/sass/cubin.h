// The kernels of a cubin: their words, what the assembler recorded of them, and their line tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/sass/line_table.h"
#include "compiler/sass/word.h"
#include "dsl/error.h"

namespace tilec::sass {

struct Kernel {
  std::string name;
  std::vector<Word> words;      // the whole section, padding included
  uint64_t file_offset = 0;     // bytes from the cubin's start to the first word
  int registers = 0;            // per thread; 0 if not recorded
  int64_t frame_bytes = 0;      // per thread, of local memory
  int64_t min_stack_bytes = 0;  // per thread
  int64_t shared_bytes = 0;     // static, the system's share included where the target has one
  std::vector<int> threads_per_block;  // .reqntid or .maxntid, up to three; empty if not recorded
  std::vector<LineRow> lines;          // by offset; empty without line information
};

struct Cubin {
  int sm = 0;             // 90 for sm_90 and sm_90a
  std::string assembler;  // "Cuda compilation tools, release 13.0, V13.0.88"; empty if not said
  std::vector<Kernel> kernels;  // in order of their sections

  const Kernel* find(std::string_view name) const;  // null if there is none
};

/// Errors (machine road): those of read_elf; not-a-cubin for another machine's ELF file; no-kernel.
/// Damaged notes and line tables are left out, not errors: the words are what matters.
dsl::Result<Cubin> read_cubin(std::span<const uint8_t> file);

}  // namespace tilec::sass
