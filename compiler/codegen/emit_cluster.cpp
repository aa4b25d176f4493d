// The epilogue of a cluster: its blocks add up their parts of a tile through each other's shared
// memory, in place of a workspace and a second kernel.
//
// A thread's tile is made of pieces, `vector` elements next to each other in C. Piece p of thread t
// lies in the exchange at (p * threads + t) * vector, so that each access of a warp is one run of
// addresses, free of conflicts. The block of rank r sums and stores pieces r, r + blocks, ... of
// its threads' tiles: as many as the others, give or take one.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kElementBytes = 4;

}  // namespace

// What the others are to read is shared memory alone: the fence says so, and costs little. Of a
// `barrier.cluster.arrive.release` the assembler makes one that waits for all of the GPU.
void Emitter::cluster_barrier() {
  llvm::InlineAsm* fence =
      llvm::InlineAsm::get(llvm::FunctionType::get(builder_.getVoidTy(), false),
                           "fence.release.sync_restrict::shared::cta.cluster;", "~{memory}", true);
  builder_.CreateCall(fence, {});
  depart();
}

// Relaxed: a release would wait for the stores of C. What was read has been used by then, and a
// block that ends needs no more than that.
void Emitter::depart() {
  for (const llvm::Intrinsic::ID half :
       {llvm::Intrinsic::nvvm_barrier_cluster_arrive_relaxed_aligned,
        llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned})
    builder_.CreateIntrinsic(builder_.getVoidTy(), half, {});
}

llvm::Value* Emitter::exchange_of_thread(const ir::Storage& x) {
  return builder_.CreateGEP(builder_.getFloatTy(), shared_, scaled(thread_, x.vector));
}

void Emitter::share(const ir::Op& op) {
  const ir::Storage& x = kernel_.at(op.to);
  const llvm::ArrayRef<Value*> acc = values(op.from);
  const auto width = static_cast<size_t>(x.vector);
  Value* place = exchange_of_thread(x);
  for (size_t first = 0; first < acc.size(); first += width) {
    const int64_t offset = static_cast<int64_t>(first) * kernel_.map.threads();
    builder_.CreateAlignedStore(vector_of(acc.slice(first, width)),
                                builder_.CreateGEP(builder_.getFloatTy(), place, i32(offset)),
                                llvm::Align(width * kElementBytes));
  }
}

void Emitter::reduce(const ir::Op& op) {
  const ir::Storage& x = kernel_.at(op.from);
  const int blocks = kernel_.split_k;
  const dsl::Pieces pieces = dsl::pieces_of(kernel_.map.each, x.vector, blocks);
  Value* own = exchange_of_thread(x);
  Values exchanges;
  for (int block = 0; block < blocks; ++block)
    exchanges.push_back(
        builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_mapa_shared_cluster, {}, {own, i32(block)}));
  if (pieces.trips() == 1) return reduce_pieces(op, exchanges, i32(0), pieces.at_once);

  llvm::LLVMContext& context = module_->getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "pieces", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "pieces_done", function_);
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode* turn = builder_.CreatePHI(builder_.getInt32Ty(), 2, "turn");
  turn->addIncoming(i32(0), before);
  reduce_pieces(op, exchanges, turn, pieces.at_once);
  Value* next = builder_.CreateAdd(turn, i32(pieces.at_once));
  turn->addIncoming(next, builder_.GetInsertBlock());
  keep_rolled(builder_.CreateCondBr(builder_.CreateICmpULT(next, i32(pieces.turns)), body, after));
  builder_.SetInsertPoint(after);
}

// `pieces` of them from turn `turn` on: first all that is read, so that nothing waits for two roads
// one after the other.
void Emitter::reduce_pieces(const ir::Op& op, const Values& exchanges, Value* turn, int pieces) {
  const auto access = [&](Piece& piece, bool store) {
    op.guard ? access_guarded_piece(op, piece, store) : access_piece(op, piece, store);
  };
  std::vector<Piece> all;
  for (int i = 0; i < pieces; ++i) {
    Value* number = scaled(builder_.CreateAdd(turn, i32(i)), kernel_.split_k);
    all.push_back(piece(op, builder_.CreateAdd(number, share_)));
  }
  if (dsl::reads_c(op.epilogue) != dsl::ReadsC::never)
    for (Piece& piece : all) access(piece, false);
  sum_pieces(kernel_.at(op.from), exchanges, all);
  for (Piece& piece : all) access(piece, true);
}

// Element `element` of a thread's tile, from its first: element_offset of a number known at run
// time.
llvm::Value* Emitter::offset_along(bool along_m, Value* element) {
  const ir::ThreadMap& map = kernel_.map;
  const int piece = along_m ? map.pieces.m : map.pieces.n;
  const int stride = piece * (along_m ? map.lanes.m : map.lanes.n);
  return builder_.CreateAdd(scaled(builder_.CreateUDiv(element, i32(piece)), stride),
                            builder_.CreateURem(element, i32(piece)));
}

Emitter::Piece Emitter::piece(const ir::Op& op, Value* number) {
  const ir::Storage& x = kernel_.at(op.from);
  const ir::ThreadMap& map = kernel_.map;
  const int in_row = map.each.n / x.vector;
  const int all = map.each.m * in_row;
  Piece out{};
  if (all % kernel_.split_k != 0) {
    // What lies past the last is read there, and not stored.
    out.ours = builder_.CreateICmpULT(number, i32(all));
    number = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, i32(all - 1));
  }
  out.place = scaled(number, int64_t{map.threads()} * x.vector);
  Value* i = builder_.CreateUDiv(number, i32(in_row));
  Value* j = scaled(builder_.CreateURem(number, i32(in_row)), x.vector);
  Value* down = builder_.CreateAdd(thread_m_, offset_along(true, i));
  Value* across = builder_.CreateAdd(thread_n_, offset_along(false, j));
  out.row = builder_.CreateAdd(block_m_, down);
  out.column = builder_.CreateAdd(block_n_, across);
  out.line = element_pointer(operand(op.to), out.row, out.column);
  return out;
}

// The parts one after the other, so that every run rounds alike, and as with a workspace. Their
// loads do not wait for each other.
void Emitter::sum_pieces(const ir::Storage& x, const Values& exchanges,
                         std::vector<Piece>& pieces) {
  const auto width = static_cast<size_t>(x.vector);
  const llvm::Align align(width * kElementBytes);
  std::vector<Values> parts;
  for (const Piece& piece : pieces) {
    parts.emplace_back();
    for (Value* exchange : exchanges)
      parts.back().push_back(builder_.CreateAlignedLoad(
          vector_type(x.vector), builder_.CreateGEP(builder_.getFloatTy(), exchange, piece.place),
          align));
  }
  for (size_t p = 0; p < pieces.size(); ++p) {
    for (size_t w = 0; w < width; ++w) {
      Value* sum = nullptr;
      for (Value* part : parts[p]) {
        Value* element =
            width == 1 ? part : builder_.CreateExtractElement(part, static_cast<uint64_t>(w));
        sum = sum == nullptr ? element : builder_.CreateFAdd(sum, element);
      }
      pieces[p].sums.push_back(sum);
    }
  }
}

// In vectors of C, but for those that the tile before stores.
void Emitter::access_piece(const ir::Op& op, Piece& piece, bool store) {
  const int all = kernel_.at(op.from).vector;
  const int width = std::min(kernel_.at(op.to).vector, all);
  const llvm::Align align(static_cast<uint64_t>(width) * kElementBytes);
  const bool plain = kernel_.exact && piece.ours == nullptr;
  Value* shared = kernel_.exact ? i32(0) : shared_in_row(piece.row, piece.column);
  if (piece.ours != nullptr) shared = builder_.CreateSelect(piece.ours, shared, i32(-1));
  for (int j = 0; j < all; j += width) {
    Value* pointer = advance(piece.line, i64(j));
    if (!store) {
      Value* read = plain ? builder_.CreateAlignedLoad(vector_type(width), pointer, align)
                          : read_own(shared, j, piece.line, width);
      for (int w = 0; w < width; ++w)
        piece.old.push_back(
            width == 1 ? read : builder_.CreateExtractElement(read, static_cast<uint64_t>(w)));
      continue;
    }
    Values results;
    for (int w = j; w < j + width; ++w) {
      const auto e = static_cast<size_t>(w);
      results.push_back(
          evaluate(op.epilogue, piece.sums[e], piece.old.empty() ? nullptr : piece.old[e]));
    }
    if (plain) {
      builder_.CreateAlignedStore(vector_of(results), pointer, align);
    } else {
      write_own(shared, j, piece.line, results);
    }
  }
}

// Element by element, as store_guarded_row does it.
void Emitter::access_guarded_piece(const ir::Op& op, Piece& piece, bool store) {
  Value* room = own_room(operand(op.to), piece.row, piece.column, piece.ours);
  Value* skipped = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, own_n_, piece.column);
  if (!store) room = room_to_read(op, room);
  for (int j = 0; j < kernel_.at(op.from).vector; ++j) {
    if (!store) {
      piece.old.push_back(read_c_if(skipped, room, j, piece.line));
      continue;
    }
    const auto e = static_cast<size_t>(j);
    write_if(skipped, room, j, piece.line,
             evaluate(op.epilogue, piece.sums[e], piece.old.empty() ? nullptr : piece.old[e]));
  }
}

}  // namespace tilec::codegen
