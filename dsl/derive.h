// What follows from a spec by arithmetic alone. Nothing here is a choice: `complete` made those.
#pragma once

#include <cstdint>

#include "dsl/limits.h"
#include "dsl/spec.h"

namespace tilec::dsl {

/// How the threads of a block bring one operand's slice from global to shared memory. The slice is
/// rows x columns as stored in global memory (columns contiguous). Vector access v = pass * threads
/// + thread covers elements [row][column ..< column + vector) with
///   row = v / (columns / vector), column = v % (columns / vector) * vector;  active if row < rows.
struct CopyMap {
  int rows = 0;
  int columns = 0;
  int vector = 1;  // elements per access
  int passes = 0;  // accesses per thread and slice = ceil(rows * columns / vector / threads)
};

/// One axis of a thread's tile: element i of `count` lies at
///   base(lane) + i / piece * stride + i % piece,   base(lane) = lane coordinate * piece
/// `whole`: piece = count, stride unused. `split`: piece = vector, stride = lanes * piece.
struct FragmentAxis {
  int count = 1;
  int piece = 1;
  int stride = 0;
  int lanes = 1;  // lanes along this axis
};

struct Derived {
  int threads = 0;       // per block
  int warps = 0;         // ceil(threads / 32)
  Extent warp_grid;      // warps over the block tile; {1, 1} without `warp`
  FragmentAxis m;        // of the thread's tile, within the warp's (or block's) tile
  FragmentAxis n;
  CopyMap copy_a;        // zero where copy is `none`
  CopyMap copy_b;
  int vector_c = 1;      // elements per global access of C
  int fragment_vector_a = 1;  // elements per shared load of an A fragment
  int fragment_vector_b = 1;
  int64_t shared_bytes_a = 0;  // one stage
  int64_t shared_bytes_b = 0;
  int64_t shared_bytes = 0;    // all stages, both operands
  int registers_expected = 0;  // estimate: accumulators + fragments + staging + addresses
  int blocks_per_sm = 0;       // by threads, registers_expected and shared bytes
  double ideal_share = 0;      // FMAs / (FMAs + fragment loads) per thread and k
};

Derived derive(const Spec& spec, const Limits& limits);

/// Elements from one row of the slice in shared memory to the next, padding included.
int shared_row_stride(const Spec& spec, bool operand_a);

}  // namespace tilec::dsl
