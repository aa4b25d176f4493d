// The epilogue: from accumulators to C.
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
  const ir::ThreadMap& map = kernel_.map;
  const Operand& to = operand(op.to);
  const Values& acc = values(op.from);
  const bool reads = dsl::reads_c(op.epilogue) != dsl::ReadsC::never;
  int width = op.guard ? 1 : kernel_.at(op.to).vector;
  while (map.pieces.n % width != 0) width /= 2;
  const llvm::Align align(static_cast<uint64_t>(width) * kElementBytes);
  Value* row = builder_.CreateAdd(block_m_, thread_m_);
  Value* column = builder_.CreateAdd(block_n_, thread_n_);
  Value* first =
      advance(to.base, builder_.CreateAdd(builder_.CreateMul(wide(row), to.leading), wide(column)));
  for (int i = 0; i < map.each.m; ++i) {
    const int down = element_offset(true, i);
    Value* line = advance(first, scaled(to.leading, down));
    for (int j = 0; j < map.each.n; j += width) {
      const int across = element_offset(false, j);
      Value* pointer = advance(line, i64(across));
      Value* active = nullptr;
      if (op.guard)
        active =
            inside(to, builder_.CreateAdd(row, i32(down)), builder_.CreateAdd(column, i32(across)));
      only_if(active, [&] {
        llvm::Type* type = vector_type(width);
        Value* old = reads ? builder_.CreateAlignedLoad(type, pointer, align) : nullptr;
        Value* stored = width == 1 ? nullptr : llvm::PoisonValue::get(type);
        for (int w = 0; w < width; ++w) {
          const auto lane = static_cast<uint64_t>(w);
          Value* c = old == nullptr || width == 1 ? old : builder_.CreateExtractElement(old, lane);
          Value* result =
              evaluate(op.epilogue, acc[static_cast<size_t>(i * map.each.n + j + w)], c);
          stored = width == 1 ? result : builder_.CreateInsertElement(stored, result, lane);
        }
        builder_.CreateAlignedStore(stored, pointer, align);
      });
    }
  }
}

}  // namespace tilec::codegen
