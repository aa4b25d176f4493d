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

// Where the thread's tile begins in an M x N matrix.
llvm::Value* Emitter::first_element(const Operand& operand) {
  return element_pointer(operand, builder_.CreateAdd(operand.row_origin, thread_m_),
                         builder_.CreateAdd(operand.column_origin, thread_n_));
}

// The parts one after the other, so that every run rounds alike. Their loads do not wait for each
// other.
void Emitter::sum(const ir::Op& op) {
  const ir::Storage& s = kernel_.at(op.from);
  if (s.stretches) return sum_stretches(op);
  const Operand& from = operand(op.from);
  const ir::ThreadMap& map = kernel_.map;
  int width = op.guard ? 1 : s.vector;
  while (map.pieces.n % width != 0) width /= 2;
  Value* row = builder_.CreateAdd(block_m_, thread_m_);
  Value* column = builder_.CreateAdd(block_n_, thread_n_);
  Value* first = first_element(from);
  Values& acc = values(op.to);
  acc.assign(static_cast<size_t>(map.each.m) * static_cast<size_t>(map.each.n), nullptr);
  for (int part = 0; part < s.parts; ++part) {
    Value* in_part = part == 0 ? first : advance(first, scaled(from.part_step, part));
    for (int i = 0; i < map.each.m; ++i) {
      const int down = element_offset(true, i);
      Value* line = advance(in_part, scaled(from.leading, down));
      Value* room = room_in_row(from, builder_.CreateAdd(row, i32(down)), column);
      for (int j = 0; j < map.each.n; j += width) {
        const int across = element_offset(false, j);
        Value* loaded =
            op.guard ? read_if(room, across, line, false)
                     : builder_.CreateAlignedLoad(vector_type(width), advance(line, i64(across)),
                                                  llvm::Align(static_cast<uint64_t>(width) * 4));
        for (int w = 0; w < width; ++w) {
          Value*& sum = acc[static_cast<size_t>(i * map.each.n + j + w)];
          Value* element =
              width == 1 ? loaded : builder_.CreateExtractElement(loaded, static_cast<uint64_t>(w));
          sum = sum == nullptr ? element : builder_.CreateFAdd(sum, element);
        }
      }
    }
  }
}

void Emitter::store(const ir::Op& op) {
  Value* row = builder_.CreateAdd(block_m_, thread_m_);
  Value* column = builder_.CreateAdd(block_n_, thread_n_);
  const Operand& to = operand(op.to);
  Value* first = first_element(to);
  if (op.guard) {
    store_guarded(op, first, row, column);
    return;
  }
  for (int i = 0; i < kernel_.map.each.m; ++i)
    store_row(op, i, advance(first, scaled(to.leading, element_offset(true, i))),
              builder_.CreateAdd(row, i32(element_offset(true, i))), column);
}

// A loop over the pieces of the thread's tile, a few rows each. Registers cannot be indexed, so
// each trip stores the first piece and moves the others up: slower than straight code, and a
// fraction of its size, which the assembler's time goes with. Only edge blocks come here, and those
// whose C is not aligned. With `staged_store` rows take the place of the slices.
void Emitter::store_guarded(const ir::Op& op, Value* first, Value* row, Value* column) {
  const dsl::Staging plan = plan_staging(op);
  StagedThread staged{};
  if (plan.rows > 0) {
    block_barrier();
    staged = locate_staged(plan, operand(op.to));
  }
  llvm::LLVMContext& context = module_->getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "rows", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "rows_done", function_);
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode* trip = builder_.CreatePHI(builder_.getInt32Ty(), 2, "piece");
  trip->addIncoming(i32(0), before);
  const ir::ThreadMap& map = kernel_.map;
  const auto width = static_cast<size_t>(map.each.n);
  const size_t moved = width * static_cast<size_t>(map.pieces.m);
  std::vector<llvm::PHINode*> rows;
  for (Value* element : values(op.from)) {
    rows.push_back(builder_.CreatePHI(element->getType(), 2));
    rows.back()->addIncoming(element, before);
  }

  Value* top = scaled(trip, int64_t{map.pieces.m} * map.lanes.m);
  const Values piece(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(moved));
  if (plan.rows > 0) {
    store_staged_piece(op, plan, staged, piece, top);
  } else {
    store_guarded_piece(op, piece, top, first, row, column);
  }

  llvm::BasicBlock* last = builder_.GetInsertBlock();
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i]->addIncoming(i + moved < rows.size() ? static_cast<Value*>(rows[i + moved])
                                                 : llvm::PoisonValue::get(rows[i]->getType()),
                         last);
  Value* next = builder_.CreateAdd(trip, i32(1));
  trip->addIncoming(next, last);
  Value* again = builder_.CreateICmpULT(next, i32(map.each.m / map.pieces.m));
  keep_rolled(builder_.CreateCondBr(again, body, after));
  builder_.SetInsertPoint(after);
}

// One trip: the rows of a piece, `top` rows below the thread's first.
void Emitter::store_guarded_piece(const ir::Op& op, const Values& piece, Value* top, Value* first,
                                  Value* row, Value* column) {
  const ir::ThreadMap& map = kernel_.map;
  std::vector<int> across;
  for (int j = 0; j < map.each.n; ++j) across.push_back(element_offset(false, j));
  for (int r = 0; r < map.pieces.m; ++r) {
    Value* down = builder_.CreateAdd(top, i32(r));
    Value* line = advance(first, builder_.CreateMul(wide(down), operand(op.to).leading));
    const auto begin = piece.begin() + static_cast<ptrdiff_t>(map.each.n) * r;
    const Values elements(begin, begin + map.each.n);
    store_guarded_row(op, elements, across, line, builder_.CreateAdd(row, down), column);
  }
}

// No tile of an exact kernel is moved, and stretches keep all of a tile; of any other, what is the
// tile before's is left to it.
void Emitter::store_row(const ir::Op& op, int i, Value* line, Value* row, Value* column) {
  const ir::ThreadMap& map = kernel_.map;
  const Values& acc = values(op.from);
  const bool reads = dsl::reads_c(op.epilogue) != dsl::ReadsC::never;
  int width = kernel_.at(op.to).vector;
  while (map.pieces.n % width != 0) width /= 2;
  const llvm::Align align(static_cast<uint64_t>(width) * kElementBytes);
  llvm::Type* type = vector_type(width);
  const bool all = kernel_.exact || kernel_.at(op.to).stretches;
  Value* shared = all ? nullptr : shared_in_row(row, column);
  for (int j = 0; j < map.each.n; j += width) {
    const int across = element_offset(false, j);
    Value* pointer = advance(line, i64(across));
    Value* old = nullptr;
    if (reads)
      old = all ? builder_.CreateAlignedLoad(type, pointer, align)
                : read_own(shared, across, line, width);
    Values results;
    for (int w = 0; w < width; ++w) {
      Value* c =
          reads && width > 1 ? builder_.CreateExtractElement(old, static_cast<uint64_t>(w)) : old;
      results.push_back(evaluate(op.epilogue, acc[static_cast<size_t>(i * map.each.n + j + w)], c));
    }
    if (all) {
      builder_.CreateAlignedStore(vector_of(results), pointer, align);
    } else {
      write_own(shared, across, line, results);
    }
  }
}

// Elements `across` of a row, each access under a predicate of its own: `across < room`, where room
// is what is left of C's columns, or 0 below its last row. What a moved tile shares with the one
// before it is that one's to store.
void Emitter::store_guarded_row(const ir::Op& op, const Values& acc, const std::vector<int>& across,
                                Value* line, Value* row, Value* column) {
  Value* room = own_room(operand(op.to), row, column, nullptr);
  Value* skipped = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, own_n_, column);
  const bool reads = dsl::reads_c(op.epilogue) != dsl::ReadsC::never;
  Value* readable = room_to_read(op, room);
  for (size_t j = 0; j < acc.size(); ++j) {
    Value* old = reads ? read_c_if(skipped, readable, across[j], line) : nullptr;
    write_if(skipped, room, across[j], line, evaluate(op.epilogue, acc[j], old));
  }
}

}  // namespace tilec::codegen
