// The completed spec: every clause of the language with every default filled in, and checked.
// `complete` (complete.h) is the only maker of one, so whoever holds a Spec may rely on the rules
// in validate.h. `format` (format.h) prints one in a form that parses back to the same Spec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dsl/expression.h"

namespace tilec::dsl {

/// Rows x columns of C.
struct Extent {
  int m = 0;
  int n = 0;
  bool operator==(const Extent&) const = default;
};

enum class CopyMode { none, through_registers, async };  // `none`, `register`, `async`

/// Which output axis consecutive threads walk: `rows` walks down m, `columns` along n.
enum class LaneOrder { rows, columns, interleaved };

/// A thread's tile in one piece, or in vector-wide pieces spread over the warp's tile.
enum class FragmentShape { whole, split };

/// How one operand's slice lies in shared memory.
///   plain: as in global memory.  transposed: the other axis is contiguous.
/// padding: elements added to each row of the slice.  swizzled: vector-wide groups of a row
/// change places by row index (exclusive with padding).
struct SharedLayout {
  bool transposed = false;
  int padding = 0;
  bool swizzled = false;
  bool operator==(const SharedLayout&) const = default;
};

enum class RasterOrder { rows, columns, swizzle };

/// Order in which blocks, numbered along the grid's x, take tiles of C. `swizzle N`: bands of N
/// tile rows, walked column by column within the band.
struct Raster {
  RasterOrder order = RasterOrder::rows;
  int width = 1;  // N of `swizzle N`
  bool operator==(const Raster&) const = default;
};

enum class Edges { guard, exact };

/// A and B as stored, row-major. Not transposed: A is M x K, B is K x N.
/// Transposed (`t`): A is stored K x M, B is stored N x K.
struct OperandLayout {
  bool a_transposed = false;
  bool b_transposed = false;
  bool operator==(const OperandLayout&) const = default;
};

struct Spec {
  std::string name = "gemm";   // the kernel's name: the entry point in PTX
  Extent tile;                 // block tile of C
  int tile_k = 8;              // slice of K
  std::optional<Extent> warp;  // warp's tile of C; none: one grid of threads over the block tile
  Extent thread{1, 1};         // thread's tile of C
  int stages = 1;              // slices held in shared memory at once
  CopyMode copy = CopyMode::through_registers;
  int vector_global = 4;  // elements per global access, upper bound for each operand
  int vector_shared = 4;  // elements per shared access, upper bound for each operand
  LaneOrder lanes = LaneOrder::columns;
  Extent lane_grid;  // lanes of a warp over its tile; without `warp`, threads over the block
  FragmentShape fragment = FragmentShape::split;
  SharedLayout shared_a;
  SharedLayout shared_b;
  int blocks_per_sm = 0;  // 0: not asked for
  int registers = 0;      // 0: not asked for
  Raster raster;
  int split_k = 1;            // blocks that share the slices of K of one tile of C
  int cluster = 1;            // blocks of a cluster: 1, or the `split_k` blocks of a tile
  bool stream_k = false;      // the last, partial wave of tiles is shared out slice by slice
  bool persistent = false;    // a block computes several tiles, one after the other
  bool staged_store = false;  // rows of C that are not aligned go through shared memory
  OperandLayout layout;
  Expression epilogue;  // over acc, c, alpha, beta
  Edges edges = Edges::guard;
  bool sass = false;  // our own back end may rewrite the steady loop after the assembler
  std::string target = "sm_90a";

  bool operator==(const Spec&) const = default;

  /// Whether parts of C go to a workspace, for a second kernel to add up.
  bool leaves_parts() const { return (split_k > 1 && cluster == 1) || stream_k; }
};

}  // namespace tilec::dsl
