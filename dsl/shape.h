// The extents of one matrix multiply, and the grid of blocks that a spec covers them with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dsl/error.h"
#include "dsl/spec.h"

namespace tilec::dsl {

/// C[m, n] = A[m, k] * B[k, n], in elements.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool operator==(const GemmShape&) const = default;
};

/// Where the matrices of a batch of multiplications lie: there is one; each lies so many elements
/// after the one before; or an array holds a pointer to each.
enum class Batch { none, strided, pointers };

inline constexpr int64_t kMostExtent = 2147483647;  // kernels count rows and columns in 32 bits
inline constexpr int64_t kMostBlocks = 2147483647;  // of a grid along x

/// `4096x512x64` is M x N x K; `4096` alone is a cube. Extents may be 0.
/// Errors: malformed-shape, extent-out-of-range; both with the place in the text.
Result<GemmShape> parse_shape(std::string_view text);

/// Tiles of C that `shape` has: ceil(m / tile.m) * ceil(n / tile.n); 0 where C is empty.
int64_t count_tiles(const Extent& tile, const GemmShape& shape);

/// The tiles of `spec`. Each is a block of the grid, or `split_k` blocks.
/// Errors: shape-not-tiled if edges are `exact` and the tile does not divide the shape;
///         grid-over-limit if there are more blocks than a grid can have.
Result<int64_t> grid_blocks(const Spec& spec, const GemmShape& shape);

/// Elements from one row of a part of the workspace to the next: N, rounded up so that rows are
/// aligned to 16 bytes.
int64_t workspace_row(const GemmShape& shape);

/// Bytes of device memory that the kernel wants beside its operands, for one matrix of a batch:
/// with `split_k` a part of M rows for each of the blocks that share a tile; else, and where those
/// are a cluster, 0. What
/// `stream_k` wants depends on the device: stream_workspace_bytes.
int64_t workspace_bytes(const Spec& spec, const GemmShape& shape);

/// How `stream_k` deals the tiles of C. The slices of K of the first `tiles` of them are shared out
/// to `blocks` blocks, a stretch of equal length each, that touches two tiles at most; of the
/// others each is a block's. None where the tiles fill the device evenly, or where K has no slice.
struct Stream {
  int64_t tiles = 0;
  int64_t blocks = 0;
  bool operator==(const Stream&) const = default;
};

/// `at_once`: blocks that the device holds at once, > 0.
Stream stream_of(const Spec& spec, const GemmShape& shape, int64_t at_once);

/// Two tiles in f32 for each block that has a stretch.
int64_t stream_workspace_bytes(const Spec& spec, const Stream& stream);

/// Slices of K that the first blocks of a tile take, the most that any takes.
int64_t slices_a_block(const Spec& spec, const GemmShape& shape);

}  // namespace tilec::dsl
