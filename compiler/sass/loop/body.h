// The steady loop as its passes see it: one basic block that branches to itself.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "compiler/sass/cubin.h"
#include "compiler/sass/operands.h"

namespace tilec::sass {

/// An instruction, and where the assembler had put it: its index among the kernel's words.
struct LoopOp {
  Instruction instruction;
  Operands operands;
  size_t origin = 0;
};

/// Words begin .. end - 1; the last branches to the first. Up to sm_89 the assembler writes two
/// jumps, `@P CALL behind the loop` and then `BRA first`; from sm_90 on one, `@!P BRA first`.
struct Body {
  int sm = 0;
  size_t begin = 0;
  size_t end = 0;
  size_t jumps = 1;         // how many ops at the end jump
  std::vector<LoopOp> ops;  // in the order in which they issue
};

/// Why a loop is left as the assembler made it: one plain line.
template <class T>
using OrWhyNot = tl::expected<T, std::string>;
using WhyNot = tl::unexpected<std::string>;

/// The steady loop of `kernel` and those within it, as far as they are one block of known
/// instructions with multiply-adds in it, nothing entering it but at the top; most multiply-adds
/// first. Empty where there is none.
std::vector<Body> find_bodies(const Kernel& kernel, int sm);

/// `op` with `word` in place of its own, decoded anew.
LoopOp with_word(const LoopOp& op, Word word, int sm);

/// An operand slot's register replaced; see with_register.
LoopOp with_operand(const LoopOp& op, Slot slot, int reg, int sm);

/// The register that `op` writes first; RZ if none.
int result_of(const LoopOp& op);

/// FFMA on registers alone, without guard or modifiers: what an outer product is made of.
bool is_plain_fma(const LoopOp& op);

/// A load from shared memory without a guard.
bool is_shared_load(const LoopOp& op);

}  // namespace tilec::sass
