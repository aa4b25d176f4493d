// Where block and thread stand: which tile of C, and which part of it.
#include <algorithm>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {

// Which tile of C, by its number in the order of `raster`: the block's, along x of the grid.
void Emitter::locate_block() {
  const dsl::Extent extent = streams() ? kernel_.stream.tile : kernel_.tile;
  const auto tiles = [&](Value* along, int tile) { return tiles_along(along, tile); };
  Value* x = tile_ == nullptr ? special_register("%ctaid.x") : tile_;
  Value* tile_m = nullptr;
  Value* tile_n = nullptr;
  switch (kernel_.raster.order) {
    case dsl::RasterOrder::rows: {
      Value* tiles_n = tiles(n_, extent.n);
      tile_m = builder_.CreateUDiv(x, tiles_n);
      tile_n = builder_.CreateURem(x, tiles_n);
      break;
    }
    case dsl::RasterOrder::columns: {
      Value* tiles_m = tiles(m_, extent.m);
      tile_n = builder_.CreateUDiv(x, tiles_m);
      tile_m = builder_.CreateURem(x, tiles_m);
      break;
    }
    case dsl::RasterOrder::swizzle: {
      // Bands of `width` tile rows, each walked column by column; the last may be lower.
      Value* tiles_m = tiles(m_, extent.m);
      Value* band_size = scaled(tiles(n_, extent.n), kernel_.raster.width);
      Value* first = scaled(builder_.CreateUDiv(x, band_size), kernel_.raster.width);
      Value* within = builder_.CreateURem(x, band_size);
      Value* height = builder_.CreateBinaryIntrinsic(
          llvm::Intrinsic::umin, builder_.CreateSub(tiles_m, first), i32(kernel_.raster.width));
      tile_n = builder_.CreateUDiv(within, height);
      tile_m = builder_.CreateAdd(first, builder_.CreateURem(within, height));
      break;
    }
  }
  own_m_ = scaled(tile_m, extent.m);
  own_n_ = scaled(tile_n, extent.n);
  block_m_ = inside(ir::Axis::m, own_m_, m_, extent.m);
  block_n_ = inside(ir::Axis::n, own_n_, n_, extent.n);
  if (sub_m_ == nullptr) return;
  block_m_ = builder_.CreateAdd(block_m_, sub_m_);
  block_n_ = builder_.CreateAdd(block_n_, sub_n_);
}

// Where a tile begins that is moved back inside C: at the border less the tile, if that is a place
// where the vectors of A and B may begin. Of stream_k both kernels have to move it alike.
llvm::Value* Emitter::inside(ir::Axis axis, Value* origin, Value* extent, int tile) {
  if (kernel_.exact) return origin;
  int vector = 1;
  for (const ir::Storage& s : kernel_.storage)
    if (s.space == ir::Space::global && s.column_axis == axis && !like_c(s))
      vector = std::max(vector, s.vector);
  if (streams()) vector = axis == ir::Axis::m ? kernel_.stream.starts.m : kernel_.stream.starts.n;
  Value* last = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, extent, i32(tile));
  Value* moved = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, origin, last);
  if (vector == 1) return moved;
  Value* odd = builder_.CreateAnd(last, i32(vector - 1));
  return builder_.CreateSelect(builder_.CreateICmpEQ(odd, i32(0)), moved, origin);
}

// The lane's coordinates along m and n: the rule is dsl::lane_position.
std::pair<llvm::Value*, llvm::Value*> Emitter::locate_lane(Value* lane) {
  const ir::ThreadMap& map = kernel_.map;
  if (map.order == dsl::LaneOrder::interleaved) {
    Value *at_m = i32(0), *at_n = i32(0);
    int bit = 0, bit_m = 0, bit_n = 0;
    for (const bool along_m : dsl::interleaved_bits(map.lanes)) {
      Value* one = builder_.CreateAnd(builder_.CreateLShr(lane, static_cast<uint64_t>(bit++)), 1);
      Value*& at = along_m ? at_m : at_n;
      int& weight = along_m ? bit_m : bit_n;
      at = builder_.CreateOr(at, builder_.CreateShl(one, static_cast<uint64_t>(weight++)));
    }
    return {at_m, at_n};
  }
  const bool rows = map.order == dsl::LaneOrder::rows;
  const int inner = rows ? map.lanes.m : map.lanes.n;
  Value* fast = builder_.CreateURem(lane, i32(inner));
  Value* slow = builder_.CreateUDiv(lane, i32(inner));
  return rows ? std::pair{fast, slow} : std::pair{slow, fast};
}

// Where the thread's tile begins within the block's. Warps are numbered along n first.
void Emitter::locate_thread() {
  const ir::ThreadMap& map = kernel_.map;
  thread_ = special_register("%tid.x");
  const int lanes = map.lanes.m * map.lanes.n;
  Value* warp = builder_.CreateUDiv(thread_, i32(lanes));
  Value* lane = builder_.CreateURem(thread_, i32(lanes));
  const auto [lane_m, lane_n] = locate_lane(lane);
  const auto place = [&](Value* warp_index, Value* lane_index, int lane_count, int each,
                         int piece) {
    return builder_.CreateAdd(scaled(warp_index, int64_t{lane_count} * each),
                              scaled(lane_index, piece));
  };
  thread_m_ = place(builder_.CreateUDiv(warp, i32(map.warps.n)), lane_m, map.lanes.m, map.each.m,
                    map.pieces.m);
  thread_n_ = place(builder_.CreateURem(warp, i32(map.warps.n)), lane_n, map.lanes.n, map.each.n,
                    map.pieces.n);
}

}  // namespace tilec::codegen
