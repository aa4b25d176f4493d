// The words' text as nvdisasm writes it: a second reader of the same bits, from NVIDIA.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/sass/word.h"
#include "dsl/error.h"

namespace tilec::sass {

/// One instruction: "@!P0 FFMA R3, R4.reuse, R5, R3".
struct TextLine {
  uint32_t offset = 0;  // bytes from the kernel's start
  std::string text;     // without the closing semicolon, single spaces
  Word word;
};

struct TextLabel {
  std::string name;     // ".L_x_3"
  uint32_t offset = 0;  // of the instruction that follows it
};

struct TextKernel {
  std::string name;
  std::vector<TextLine> lines;
  std::vector<TextLabel> labels;
};

struct Disassembly {
  std::string tool;  // the path of the nvdisasm that wrote it
  std::vector<TextKernel> kernels;

  const TextKernel* find(std::string_view name) const;  // null if there is none
};

/// Where nvdisasm is: $TILEC_NVDISASM; .deps/nvdisasm/nvdisasm in a folder above this program;
/// $PATH; /usr/local/cuda/bin. None if nowhere.
std::optional<std::string> find_nvdisasm();

/// Runs `tool` on `cubin` as a child process.
/// Errors (machine road): nvdisasm-failed, with its words; temporary-file.
dsl::Result<Disassembly> disassemble(std::span<const uint8_t> cubin, const std::string& tool);

/// Reads what `nvdisasm -c -hex` printed. Lines that are no instruction are passed over.
Disassembly parse_disassembly(std::string_view text);

}  // namespace tilec::sass
