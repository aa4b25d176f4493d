// Runs a kernel tile by tile, without data: each storage remembers which slice and which k it
// holds, each slot who wrote and who may still read it. This is what proves rules R5 to R9 of
// verify.h for the slice counts tried: 0, 1, and those round the number of stages and twice that
// number, each with a whole last slice, a partial last slice, and as an edge block.
#pragma once

#include <string>

#include "compiler/ir/kernel.h"

namespace tilec::ir {

/// The first rule broken, as "R8: …"; empty if none. `kernel` must obey R1 to R4.
std::string rehearse(const Kernel& kernel);

}  // namespace tilec::ir
