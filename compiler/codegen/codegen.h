// Tile IR to LLVM IR to PTX. The only folder that knows LLVM, and no header of it shows it.
#pragma once

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

/// Lowers a verified, synchronised kernel. `.loc` lines of the PTX name lines of ir::print(kernel),
/// as file NAME.tile. Errors: internal, if LLVM rejects what we made.
dsl::Result<Generated> generate(const ir::Kernel& kernel, const Target& target);

}  // namespace tilec::codegen
