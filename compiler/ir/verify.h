// The verifier of tile IR. It runs after every pass, and `tilec opt` runs it on what it reads.
//
// By structure:
//   R1  every storage an op names exists and is of the space and axes that the op wants
//   R2  an index names a loop variable in scope
//   R3  head and storage agree: threads cover the tile, slices are tile.k deep, strides hold a row,
//       vectors divide what they walk, C has a part for each block that shares K
//       an exchange holds a tile of a cluster's blocks
//   R4  sizes are positive and within bounds
// By running the kernel, tile by tile, for slice counts from 0 to past twice the stages:
//   R5  an unguarded access touches only slices below `full`; an unguarded store only whole blocks
//   R6  every slice and every k enters the accumulators once, in ascending order, with both
//       fragments of the same slice and k; or they hold the sum of all parts of a workspace; what a
//       cluster adds up is what each of its blocks has of all its slices
//   R7  C is stored once
// and in a `synchronised` kernel:
//   R8  what a fragment reads has landed (waited for) and is visible (a barrier since); what a
//   `reduce`
//       reads was shared before a `cluster_barrier`
//   R9  a slot is not written while others may still read it, or while a copy into it is under way;
//       nor a ring or an exchange in the other's place; no block ends while its exchange is read
#pragma once

#include "compiler/ir/kernel.h"
#include "dsl/error.h"

namespace tilec::ir {

/// The first rule broken, if any: code "tile-ir-R1" …, message with op and numbers. Road: user (the
/// caller turns it into `internal` where a pass made the kernel).
dsl::Result<void> verify(const Kernel& kernel);

}  // namespace tilec::ir
