// Our decoder against nvdisasm's text, instruction by instruction.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/sass/decode.h"
#include "compiler/sass/disassemble.h"

namespace tilec::sass {

struct Mismatch {
  uint32_t offset = 0;  // bytes from the kernel's start
  std::string text;     // nvdisasm's
  std::string what;     // "register 2 is R7, decoded R9"
};

/// Compares words, names, guards, general registers, their `.reuse` flags, and branch targets.
/// An instruction that our tables do not know, or whose registers they do not, agrees on the rest.
/// Stall, yield, barriers and waits are not in nvdisasm's text: they are not compared here.
std::vector<Mismatch> cross_check(std::span<const Instruction> instructions,
                                  const TextKernel& text);

}  // namespace tilec::sass
