// The epilogue: from accumulators to C.
#include <llvm/IR/InlineAsm.h>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kElementBytes = 4;

}  // namespace

// A product that is added to something becomes one fused multiply-add, as in cuBLAS.
llvm::Value* Emitter::evaluate(const dsl::Expression& expression, Value* acc, Value* c) {
  using Kind = dsl::ExpressionKind;
  const auto child = [&](size_t i) { return evaluate(expression.children[i], acc, c); };
  switch (expression.kind) {
    case Kind::number:
      return llvm::ConstantFP::get(builder_.getFloatTy(), expression.number);
    case Kind::acc:
      return acc;
    case Kind::c:
      return c;
    case Kind::alpha:
      return alpha_;
    case Kind::beta:
      return beta_;
    case Kind::negate:
      return builder_.CreateFNeg(child(0));
    case Kind::subtract:
      return builder_.CreateFSub(child(0), child(1));
    case Kind::multiply:
      return builder_.CreateFMul(child(0), child(1));
    case Kind::add:
      break;
  }
  const dsl::Expression& left = expression.children[0];
  if (left.kind != Kind::multiply) return builder_.CreateFAdd(child(0), child(1));
  return builder_.CreateIntrinsic(
      builder_.getFloatTy(), llvm::Intrinsic::fma,
      {evaluate(left.children[0], acc, c), evaluate(left.children[1], acc, c), child(1)});
}

void Emitter::store(const ir::Op& op) {
  Value* row = builder_.CreateAdd(block_m_, thread_m_);
  Value* column = builder_.CreateAdd(block_n_, thread_n_);
  const Operand& to = operand(op.to);
  Value* first =
      advance(to.base, builder_.CreateAdd(builder_.CreateMul(wide(row), to.leading), wide(column)));
  for (int i = 0; i < kernel_.map.each.m; ++i) {
    const int down = element_offset(true, i);
    Value* line = advance(first, scaled(to.leading, down));
    if (op.guard) {
      store_guarded_row(op, i, line, builder_.CreateAdd(row, i32(down)), column);
    } else {
      store_row(op, i, line);
    }
  }
}

void Emitter::store_row(const ir::Op& op, int i, Value* line) {
  const ir::ThreadMap& map = kernel_.map;
  const Values& acc = values(op.from);
  const bool reads = dsl::reads_c(op.epilogue) != dsl::ReadsC::never;
  int width = kernel_.at(op.to).vector;
  while (map.pieces.n % width != 0) width /= 2;
  const llvm::Align align(static_cast<uint64_t>(width) * kElementBytes);
  llvm::Type* type = vector_type(width);
  for (int j = 0; j < map.each.n; j += width) {
    Value* pointer = advance(line, i64(element_offset(false, j)));
    Value* old = reads ? builder_.CreateAlignedLoad(type, pointer, align) : nullptr;
    Value* stored = llvm::PoisonValue::get(type);
    for (int w = 0; w < width; ++w) {
      const auto lane = static_cast<uint64_t>(w);
      Value* c = reads && width > 1 ? builder_.CreateExtractElement(old, lane) : old;
      Value* result = evaluate(op.epilogue, acc[static_cast<size_t>(i * map.each.n + j + w)], c);
      stored = width == 1 ? result : builder_.CreateInsertElement(stored, result, lane);
    }
    builder_.CreateAlignedStore(stored, pointer, align);
  }
}

// Element by element, each access under a predicate of its own: `across < room`, where room is what
// is left of C's columns, or 0 below its last row. Predicated accesses are written as inline
// assembly, since a branch for each would cost more than all the rest of the kernel to compile.
void Emitter::store_guarded_row(const ir::Op& op, int i, Value* line, Value* row, Value* column) {
  const ir::ThreadMap& map = kernel_.map;
  const Operand& to = operand(op.to);
  const Values& acc = values(op.from);
  Value* inside_rows = builder_.CreateICmpULT(row, to.rows);
  Value* left = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, to.columns, column);
  Value* room = builder_.CreateSelect(inside_rows, left, i32(0));
  Value* room_to_read = room;
  const dsl::ReadsC reads = dsl::reads_c(op.epilogue);
  if (reads == dsl::ReadsC::unless_beta_zero)
    room_to_read =
        builder_.CreateSelect(condition({.kind = ir::ConditionKind::beta_is_zero}), i32(0), room);
  llvm::Type* real = builder_.getFloatTy();
  llvm::Type* word = builder_.getInt32Ty();
  Value* address = builder_.CreatePtrToInt(line, builder_.getInt64Ty());
  llvm::InlineAsm* read = llvm::InlineAsm::get(
      llvm::FunctionType::get(real, {word, word, address->getType(), word}, false),
      "{ .reg .pred p; setp.gt.u32 p, $1, $2; mov.f32 $0, 0f00000000; "
      "@p ld.global.f32 $0, [$3+$4]; }",
      "=&f,r,n,l,n,~{memory}", true);
  llvm::InlineAsm* write = llvm::InlineAsm::get(
      llvm::FunctionType::get(builder_.getVoidTy(), {word, word, address->getType(), word, real},
                              false),
      "{ .reg .pred p; setp.gt.u32 p, $0, $1; @p st.global.f32 [$2+$3], $4; }",
      "r,n,l,n,f,~{memory}", true);
  for (int j = 0; j < map.each.n; ++j) {
    Value* across = i32(element_offset(false, j));
    Value* bytes = i32(int64_t{element_offset(false, j)} * kElementBytes);
    Value* old = nullptr;
    if (reads != dsl::ReadsC::never)
      old = builder_.CreateCall(read, {room_to_read, across, address, bytes});
    Value* result = evaluate(op.epilogue, acc[static_cast<size_t>(i * map.each.n + j)], old);
    builder_.CreateCall(write, {room, across, address, bytes, result});
  }
}

}  // namespace tilec::codegen
