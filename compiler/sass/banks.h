// The f32 register file, and what it makes of a run of FFMAs: a prediction.
//
// Measured on an H200 with FFMA words patched into an assembled loop:
//   - There are two banks, even and odd registers; each gives one operand a cycle. An FFMA takes
//     max(1, operands read from the even bank, operands read from the odd bank) cycles.
//   - An operand whose reuse flag was set by the previous instruction of the same warp in the same
//     slot, and is the same register, is not read again. RZ is not read either.
//   - An instruction in between evicts only the slots that it reads.
// The same is assumed of the other targets; nobody has measured them for this project.
#pragma once

#include <span>

#include "compiler/sass/decode.h"

namespace tilec::sass {

struct BankUse {
  int fmas = 0;           // FFMA instructions
  int cycles = 0;         // the register file is busy with them
  int operands_read = 0;  // from the banks
  int operands_reused = 0;
  /// Cycles an FFMA beyond the one it needs to issue; 0 without FFMAs.
  double conflicts_per_fma() const { return fmas == 0 ? 0.0 : double(cycles - fmas) / fmas; }
  double cycles_per_fma() const { return fmas == 0 ? 0.0 : double(cycles) / fmas; }
};

/// The reuse cache of one warp: which register each slot keeps, -1 none.
struct ReuseCache {
  std::array<int, 3> held{-1, -1, -1};
};

/// Cycles that the register file needs for `instruction`'s reads; updates `cache`.
int bank_cycles(const Instruction& instruction, ReuseCache& cache, BankUse& use);

/// A run of instructions in order, as a loop body: the cache of the last trip meets the first
/// instruction.
BankUse bank_use(std::span<const Instruction* const> body);

}  // namespace tilec::sass
