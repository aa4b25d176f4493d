// `stream_k`: which slices of which tile a block takes, and how parts of a tile are added up.
//
// The slices of the first `tiles` tiles, tile by tile in the order of K, are dealt to `blocks`
// blocks in stretches that differ by one slice at most: dsl/shape.h, stream_of. No stretch is
// longer than a tile, so that it touches one tile or two.
#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kTilesOfStretch = 2;
constexpr uint64_t kElementBytes = 4;

}  // namespace

// All ops once, and once more where a stretch goes on in the next tile. The barrier between the two
// keeps the slices of one from the copies of the other.
void Emitter::every_tile_of_stretch() {
  llvm::LLVMContext& context = module_->getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "tile", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "tiles_done", function_);
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode* turn = builder_.CreatePHI(builder_.getInt32Ty(), 2, "turn");
  turn->addIncoming(i32(0), before);
  turn_ = turn;
  tile();
  if (shared_ != nullptr) block_barrier();
  locate_stretch();
  turn->addIncoming(i32(1), builder_.GetInsertBlock());
  keep_rolled(builder_.CreateCondBr(more_, body, after));
  builder_.SetInsertPoint(after);
}

// Where there are no stretches nothing of this is used, but nothing may divide by 0 either.
llvm::Value* Emitter::at_least_one(Value* value) {
  return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, value, i32(1));
}

Emitter::Stretches Emitter::stretches() {
  Stretches out{};
  out.tiles = function_->getArg(kStreamTiles);
  out.blocks = function_->getArg(kStreamBlocks);
  out.slices = slices_of_k();
  Value* all = builder_.CreateMul(out.tiles, out.slices);
  out.length = builder_.CreateUDiv(all, at_least_one(out.blocks));
  out.longer = builder_.CreateURem(all, at_least_one(out.blocks));
  return out;
}

// The first slice of a block's stretch, counted over all tiles.
llvm::Value* Emitter::stretch_begin(const Stretches& all, Value* block) {
  return builder_.CreateAdd(
      builder_.CreateMul(block, all.length),
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, block, all.longer));
}

// The block whose stretch a slice belongs to.
llvm::Value* Emitter::stretch_of(const Stretches& all, Value* slice) {
  Value* longer_length = builder_.CreateAdd(all.length, i32(1));
  Value* end_of_longer = builder_.CreateMul(all.longer, longer_length);
  Value* among_longer = builder_.CreateUDiv(slice, longer_length);
  Value* length = at_least_one(all.length);
  Value* among_others = builder_.CreateAdd(
      all.longer, builder_.CreateUDiv(builder_.CreateSub(slice, end_of_longer), length));
  return builder_.CreateSelect(builder_.CreateICmpULT(slice, end_of_longer), among_longer,
                               among_others);
}

// The blocks that have the first and the last slice of the tile.
std::pair<llvm::Value*, llvm::Value*> Emitter::blocks_of_tile(const Stretches& all) {
  Value* begin = builder_.CreateMul(tile_, all.slices);
  Value* last = builder_.CreateSub(builder_.CreateAdd(begin, all.slices), i32(1));
  Value* first_block = stretch_of(all, begin);
  return {first_block, stretch_of(all, last)};
}

// The tile of this turn, and the slices of it that are the block's.
void Emitter::locate_stretch() {
  const Stretches all = stretches();
  Value* block = special_register("%ctaid.x");
  Value* has_stretch = builder_.CreateICmpULT(block, all.blocks);
  Value* begin = stretch_begin(all, block);
  Value* end = stretch_begin(all, builder_.CreateAdd(block, i32(1)));
  Value* first_tile = builder_.CreateUDiv(begin, at_least_one(all.slices));
  Value* boundary = builder_.CreateMul(builder_.CreateAdd(first_tile, i32(1)), all.slices);
  Value* is_first = builder_.CreateICmpEQ(turn_, i32(0));
  Value* from = builder_.CreateSelect(is_first, begin, boundary);
  Value* to = builder_.CreateSelect(
      is_first, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, boundary), end);
  Value* tile = builder_.CreateAdd(first_tile, turn_);
  Value* first_slice = builder_.CreateSub(from, builder_.CreateMul(tile, all.slices));
  Value* whole_tile = builder_.CreateAdd(all.tiles, builder_.CreateSub(block, all.blocks));

  tile_ = builder_.CreateSelect(has_stretch, tile, whole_tile);
  slices_ = builder_.CreateSelect(has_stretch, builder_.CreateSub(to, from), all.slices);
  first_k_ = scaled(builder_.CreateSelect(has_stretch, first_slice, i32(0)), kernel_.tile_k);
  in_parts_ = builder_.CreateICmpNE(slices_, all.slices);
  stretch_slot_ = builder_.CreateAdd(scaled(block, kTilesOfStretch), turn_);
  more_ = builder_.CreateAnd(builder_.CreateAnd(has_stretch, is_first),
                             builder_.CreateICmpUGT(end, boundary));
}

// A block of the sum lies in one of the tiles that were dealt, all blocks of a tile side by side.
void Emitter::locate_tile_of_sum() {
  const dsl::Extent& tile = kernel_.stream.tile;
  const int across = tile.n / kernel_.tile.n;
  const int blocks = tile.m / kernel_.tile.m * across;
  Value* block = special_register("%ctaid.x");
  tile_ = builder_.CreateUDiv(block, i32(blocks));
  Value* within = builder_.CreateURem(block, i32(blocks));
  sub_m_ = scaled(builder_.CreateUDiv(within, i32(across)), kernel_.tile.m);
  sub_n_ = scaled(builder_.CreateURem(within, i32(across)), kernel_.tile.n);
  const auto [first, last] = blocks_of_tile(stretches());
  in_parts_ = builder_.CreateICmpNE(first, last);
  first_k_ = i32(0);
}

// Each part is a tile of its own, row by row.
void Emitter::locate_stretches(Operand& out) {
  const dsl::Extent& tile = kernel_.stream.tile;
  out.base = workspace();
  out.leading = i64(tile.n);
  out.part_step = i64(int64_t{tile.m} * tile.n);
  out.row_origin = sub_m_ == nullptr ? i32(0) : sub_m_;
  out.column_origin = sub_n_ == nullptr ? i32(0) : sub_n_;
  if (stretch_slot_ == nullptr) return;
  out.base = advance(out.base, builder_.CreateMul(wide(stretch_slot_), out.part_step));
}

// From the block that has the tile's first slice to the one that has its last: for the first of
// them it may be the second tile that it touches, for the others it is the first.
void Emitter::sum_stretches(const ir::Op& op) {
  llvm::LLVMContext& context = module_->getContext();
  const Operand& from = operand(op.from);
  const int width = kernel_.map.each.n;
  const Stretches all = stretches();
  const auto [first, last] = blocks_of_tile(all);
  Value* goes_on =
      builder_.CreateICmpULT(stretch_begin(all, first), builder_.CreateMul(tile_, all.slices));
  Value* element = first_element(from);
  const auto part = [&](Value* slot) {
    Value* pointer = advance(element, builder_.CreateMul(wide(slot), from.part_step));
    return builder_.CreateAlignedLoad(vector_type(width), pointer,
                                      llvm::Align(static_cast<uint64_t>(width) * kElementBytes));
  };
  Value* head = part(builder_.CreateAdd(scaled(first, kTilesOfStretch),
                                        builder_.CreateZExt(goes_on, builder_.getInt32Ty())));
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "parts", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "parts_done", function_);
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode* block = builder_.CreatePHI(builder_.getInt32Ty(), 2, "block");
  block->addIncoming(first, before);
  llvm::PHINode* sum = builder_.CreatePHI(head->getType(), 2, "sum");
  sum->addIncoming(head, before);
  Value* next = builder_.CreateAdd(block, i32(1));  // a tile in parts has two blocks at least
  Value* added = builder_.CreateFAdd(sum, part(scaled(next, kTilesOfStretch)));
  block->addIncoming(next, body);
  sum->addIncoming(added, body);
  builder_.CreateCondBr(builder_.CreateICmpULT(next, last), body, after);
  builder_.SetInsertPoint(after);
  Values& acc = values(op.to);
  acc.clear();
  for (int i = 0; i < width; ++i)
    acc.push_back(width == 1 ? added
                             : builder_.CreateExtractElement(added, static_cast<uint64_t>(i)));
}

}  // namespace tilec::codegen
