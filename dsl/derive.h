// What follows from a spec by arithmetic alone. Nothing here is a choice: `complete` made those.
#pragma once

#include <cstdint>
#include <vector>

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
  int threads = 0;   // per block
  int warps = 0;     // ceil(threads / 32)
  Extent warp_grid;  // warps over the block tile; {1, 1} without `warp`
  FragmentAxis m;    // of the thread's tile, within the warp's (or block's) tile
  FragmentAxis n;
  CopyMap copy_a;  // zero where copy is `none`
  CopyMap copy_b;
  int vector_c = 1;           // elements per global access of C
  int fragment_vector_a = 1;  // elements per shared load of an A fragment; `copy none`: global
  int fragment_vector_b = 1;
  int64_t shared_bytes_a = 0;  // one stage, rounded up to 16 so that every stage is aligned
  int64_t shared_bytes_b = 0;
  int64_t shared_bytes_parts = 0;  // a block's part of its tile, where a cluster adds them up
  int64_t shared_bytes = 0;        // max(stages * (a + b), parts): parts come after the last slice
  int registers_expected = 0;      // estimate: accumulators + fragments + staging + addresses
  int blocks_per_sm = 0;           // by threads, registers_expected and shared bytes
  double ideal_share = 0;          // FMAs / (FMAs + fragment loads) per thread and k
};

Derived derive(const Spec& spec, const Limits& limits);

/// How each thread of a cluster's block adds up its tile: in pieces of `vector` elements, of which
/// the block has every so many-th as the cluster has blocks; some at once, their loads under way
/// together.
struct Pieces {
  int all = 1;      // of a thread's tile
  int turns = 1;    // of them, a block's at most
  int at_once = 1;  // divides turns
  int trips() const { return turns / at_once; }
};
Pieces pieces_of(const Extent& thread, int vector, int blocks);

/// Where `lane` stands in a grid of lanes. `columns`: n runs fastest; `rows`: m does.
/// `interleaved`: the bits of the lane's number go to n and m by turns, n first, as long as each
/// has bits left; then pairs of neighbours share m, and pairs of lanes two apart share n, so that a
/// 16-byte fragment load of either operand is served half a warp at a time (banks.h). Needs a grid
/// of powers of two.
Extent lane_position(LaneOrder order, const Extent& grid, int lane);

/// For `interleaved`: whether bit `bit` of a lane's number belongs to m, for all bits of the grid.
std::vector<bool> interleaved_bits(const Extent& grid);

/// How one operand's slice lies in one stage of shared memory, in elements. Coordinates are
/// (k, x) with x = m for A and n for B. A row of the slice is `row_length` elements that lie next
/// to each other; row r begins at r * row_stride. A swizzled row is made of `groups` groups (a
/// power of two) of `group` elements, and group g of row r lies where g XOR (r mod groups) would
/// without the swizzle. That is a bijection within the row, and keeps groups whole.
struct SliceMap {
  bool rows_are_k = true;  // a row holds one k and all x; else one x and all k
  int rows = 0;
  int row_length = 0;
  int row_stride = 0;  // row_length + padding
  int group = 1;       // widest access of the slice: fragment loads and the copy's stores
  int groups = 0;      // of a row; 0: not swizzled

  int64_t offset(int k, int x) const {
    int row = rows_are_k ? k : x;
    int column = rows_are_k ? x : k;
    if (groups > 0) column = ((column / group) ^ (row & (groups - 1))) * group + column % group;
    return static_cast<int64_t>(row) * row_stride + column;
  }
};
SliceMap slice_map(const Spec& spec, bool operand_a);

/// slice_map(spec, operand_a).offset(k, x)
int64_t shared_offset(const Spec& spec, bool operand_a, int k, int x);

/// Elements from one row of the slice in shared memory to the next, padding included.
int shared_row_stride(const Spec& spec, bool operand_a);

/// Elements from one stored row of an operand's slice in global memory to its end: tile_k, tile.m
/// or tile.n, by the layout.
int global_row_length(const Spec& spec, bool operand_a);

/// Elements per shared store of the copy: its vector, or 1 where the slice is turned on the way.
int copy_store_vector(const Spec& spec, bool operand_a);

/// Largest power of two that is at most `bound` and divides `extent`; at least 1.
int widest_vector(int bound, int64_t extent);

/// Registers a thread must have at the very least for its tile: accumulators, one fragment of each
/// operand, 16 for the rest.
int registers_needed(const Extent& thread);

/// Registers a thread can have: by the architecture, the threads of a block, and what the spec's
/// `registers` and `blocks_per_sm` ask for. A multiple of 8, or 255, or `registers` itself.
int registers_allowed(const Spec& spec, int threads, const Limits& limits);

/// Blocks that fit one SM, and by what.
struct Residency {
  int by_threads = 0;
  int by_registers = 0;
  int by_shared = 0;
  int by_limit = 0;
  int blocks() const;
};
Residency residency(const Derived& derived, const Spec& spec, const Limits& limits);

}  // namespace tilec::dsl
