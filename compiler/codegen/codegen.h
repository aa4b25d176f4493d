// Tile IR to LLVM IR to PTX. The only folder that knows LLVM, and no header of it shows it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "compiler/ir/kernel.h"
#include "compiler/target.h"
#include "dsl/error.h"

namespace tilec::codegen {

struct Generated {
  std::string llvm;  // after optimisation
  std::string ptx;
  std::vector<StageTime> times;
};

/// Lowers verified, synchronised kernels into one module. `.loc` lines of the PTX name lines of
/// ir::print of all of them, one after the other, as file NAME.tile of the first.
/// Errors: internal, if LLVM rejects what we made.
dsl::Result<Generated> generate(std::span<const ir::Kernel> kernels, const Target& target);

}  // namespace tilec::codegen
