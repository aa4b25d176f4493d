// Loops, branches, and the phis they need.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <set>

#include "compiler/codegen/emitter.h"
#include "compiler/codegen/liveness.h"

namespace tilec::codegen {

void Emitter::block(const ir::Block& ops) {
  for (const ir::Op& next : ops) {
    builder_.SetCurrentDebugLocation(
        llvm::DILocation::get(module_->getContext(), static_cast<unsigned>(line_), 1, subprogram_));
    ++line_;
    op(next);
  }
}

void Emitter::op(const ir::Op& op) {
  switch (op.kind) {
    case ir::OpKind::zero: {
      const ir::Storage& s = kernel_.at(op.to);
      values(op.to).assign(static_cast<size_t>(s.rows) * static_cast<size_t>(s.columns),
                           llvm::ConstantFP::get(builder_.getFloatTy(), 0.0));
      break;
    }
    case ir::OpKind::load:
      load(op);
      break;
    case ir::OpKind::put:
      put(op);
      break;
    case ir::OpKind::async:
      async(op);
      break;
    case ir::OpKind::commit:
      builder_.CreateIntrinsic(builder_.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_commit_group,
                               {});
      break;
    case ir::OpKind::wait:
      builder_.CreateIntrinsic(builder_.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_wait_group,
                               {i32(op.count)});
      break;
    case ir::OpKind::barrier:
      block_barrier();
      break;
    case ir::OpKind::fragment:
      if (kernel_.at(op.from).space == ir::Space::global) {
        fragment_from_global(op);
      } else {
        fragment_from_ring(op);
      }
      break;
    case ir::OpKind::outer:
      outer(op);
      break;
    case ir::OpKind::sum:
      sum(op);
      break;
    case ir::OpKind::store:
      store(op);
      break;
    case ir::OpKind::share:
      share(op);
      break;
    case ir::OpKind::reduce:
      reduce(op);
      break;
    case ir::OpKind::cluster_barrier:
      cluster_barrier();
      break;
    case ir::OpKind::depart:
      depart();
      break;
    case ir::OpKind::loop:
      loop(op);
      break;
    case ir::OpKind::branch:
      branch(op);
      break;
    case ir::OpKind::copy:
      break;  // lower_copies left none
  }
}

llvm::Value* Emitter::value(const ir::Index& index) {
  if (index.variable.empty()) return i32(index.offset);
  Value* variable = loops_.at(index.variable).variable;
  return index.offset == 0 ? variable : builder_.CreateAdd(variable, i32(index.offset));
}

llvm::Value* Emitter::value(const ir::Bound& bound) {
  switch (bound.kind) {
    case ir::BoundKind::full:
      return full_;
    case ir::BoundKind::slices:
      return slices_;
    case ir::BoundKind::number:
      return i32(bound.number);
  }
  return nullptr;
}

llvm::Value* Emitter::condition(const ir::Condition& condition) {
  switch (condition.kind) {
    case ir::ConditionKind::none:
      return builder_.getTrue();
    case ir::ConditionKind::whole:
      return whole_;
    case ir::ConditionKind::beta_is_zero:
      return builder_.CreateFCmpOEQ(beta_, llvm::ConstantFP::get(beta_->getType(), 0.0));
    case ir::ConditionKind::in_parts:
      return in_parts_;
    case ir::ConditionKind::less:
      return builder_.CreateICmpULT(value(condition.left), value(condition.right));
  }
  return nullptr;
}

// index % stages. A counter may run beside the loop's variable (plan_counters), so that no
// division is needed: (counter + offset) wraps at most once.
llvm::Value* Emitter::slot(const ir::Storage& ring, const ir::Index& index) {
  if (ring.stages == 1) return i32(0);
  if (index.variable.empty()) return i32(index.offset % ring.stages);
  const Loop& loop = loops_.at(index.variable);
  const auto counter = loop.counters.find(ring.stages);
  if (counter == loop.counters.end()) return builder_.CreateURem(value(index), i32(ring.stages));
  Value* sum = builder_.CreateAdd(counter->second, i32(index.offset % ring.stages));
  Value* wrapped = builder_.CreateSub(sum, i32(ring.stages));
  return builder_.CreateSelect(builder_.CreateICmpULT(sum, i32(ring.stages)), sum, wrapped);
}
// The walks of a loop, each with the address where it starts; to be called before the loop.
std::vector<Emitter::Walk> Emitter::plan_walks(const ir::Op& loop) {
  std::vector<Walk> walks;
  for (const ir::Op& op : loop.body) {
    const bool fetches = op.kind == ir::OpKind::load || op.kind == ir::OpKind::async;
    if (!fetches || op.guard || op.from_index.variable != loop.variable) continue;
    const bool stops = op.kind == ir::OpKind::load && op.when.kind != ir::ConditionKind::none;
    Value* slice = builder_.CreateAdd(value(loop.lower), i32(op.from_index.offset));
    if (stops)
      slice = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, slice,
                                             builder_.CreateSub(value(op.when.right), i32(1)));
    Value* start = advance(operand(op.from).first,
                           builder_.CreateMul(wide(slice), operand(op.from).slice_step));
    // A loop that copies through registers has none to spare for this.
    if (op.kind == ir::OpKind::async) start = in_one_piece(start);
    walks.push_back({op.from, op.from_index.offset, stops, start, nullptr});
  }
  return walks;
}

// The same pointer, of which LLVM does not see what it is made of. Else the loop's strength
// reduction takes it apart, and the assembler multiplies the parts out anew in every trip.
llvm::Value* Emitter::in_one_piece(Value* pointer) {
  llvm::InlineAsm* move =
      llvm::InlineAsm::get(llvm::FunctionType::get(pointer->getType(), {pointer->getType()}, false),
                           "mov.b64 $0, $1;", "=l,l", false);
  return builder_.CreateCall(move, {pointer});
}

void Emitter::open_walks(std::vector<Walk>& walks, llvm::BasicBlock* before) {
  for (Walk& walk : walks) {
    walk.pointer = builder_.CreatePHI(walk.start->getType(), 2);
    walk.pointer->addIncoming(walk.start, before);
  }
}

// Moves each walk on by one slice; one that stops, only while the next slice is a full one.
void Emitter::close_walks(const ir::Op& loop, Loop& state) {
  for (Walk& walk : state.walks) {
    Value* step = operand(walk.operand).slice_step;
    if (walk.stops) {
      Value* next = builder_.CreateAdd(state.variable, i32(walk.offset + loop.count));
      step = builder_.CreateSelect(builder_.CreateICmpULT(next, value(loop.upper)), step, i64(0));
    }
    walk.pointer->addIncoming(advance(walk.pointer, step), builder_.GetInsertBlock());
  }
}

// By stages, the slot of the loop's first trip, for the rings that get a counter; to be called
// before the loop. Where the loop starts at 0, rings of a power of two do well with a mask, others
// would divide. Where it starts elsewhere it runs a trip or two, and a division is no loss; but
// with a mask LLVM's loop strength reduction counts the masked bits in 16-bit registers, whose
// upper halves then hold what happened to be there.
std::map<int, llvm::Value*> Emitter::plan_counters(const ir::Op& loop) {
  std::map<int, Value*> first;
  const bool from_zero = loop.lower == ir::Bound{ir::BoundKind::number, 0};
  for (const ir::Storage& s : kernel_.storage) {
    const bool power_of_two = (s.stages & (s.stages - 1)) == 0;
    if (s.space != ir::Space::shared || s.stages == 1 || loop.count != 1) continue;
    if (from_zero == power_of_two || first.count(s.stages) > 0) continue;
    first[s.stages] = from_zero ? i32(0) : builder_.CreateURem(value(loop.lower), i32(s.stages));
  }
  return first;
}

void Emitter::open_counters(Loop& state, const std::map<int, Value*>& first,
                            llvm::BasicBlock* before) {
  for (const auto& [stages, slot] : first) {
    llvm::PHINode* counter = builder_.CreatePHI(builder_.getInt32Ty(), 2, "slot");
    counter->addIncoming(slot, before);
    state.counters[stages] = counter;
  }
}

void Emitter::loop(const ir::Op& op) {
  llvm::LLVMContext& context = module_->getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, op.variable + "_loop", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, op.variable + "_done", function_);
  std::vector<Walk> walks = plan_walks(op);
  const std::map<int, Value*> first_slots = plan_counters(op);
  builder_.CreateCondBr(builder_.CreateICmpULT(value(op.lower), value(op.upper)), body, after);
  const std::vector<Values> entry = values_;

  builder_.SetInsertPoint(body);
  Loop& state = loops_[op.variable];
  llvm::PHINode* variable = builder_.CreatePHI(builder_.getInt32Ty(), 2, op.variable);
  variable->addIncoming(value(op.lower), before);
  state.variable = variable;
  std::vector<std::pair<ir::Id, std::vector<llvm::PHINode*>>> carried;
  for (ir::Id id : carried_by(op.body)) {
    carried.emplace_back(id, std::vector<llvm::PHINode*>());
    for (Value*& element : values(id)) {
      llvm::PHINode* phi = builder_.CreatePHI(element->getType(), 2);
      phi->addIncoming(element, before);
      carried.back().second.push_back(phi);
      element = phi;
    }
  }
  open_counters(state, first_slots, before);
  open_walks(walks, before);
  state.walks = std::move(walks);

  block(op.body);

  for (auto& [stages, counter] : state.counters) {
    Value* next = builder_.CreateAdd(counter, i32(1));
    Value* wrapped = builder_.CreateSelect(builder_.CreateICmpEQ(next, i32(stages)), i32(0), next);
    counter->addIncoming(wrapped, builder_.GetInsertBlock());
  }
  close_walks(op, state);
  Value* next = builder_.CreateAdd(variable, i32(op.count));
  Value* again = builder_.CreateICmpULT(next, value(op.upper));
  llvm::BasicBlock* last = builder_.GetInsertBlock();
  variable->addIncoming(next, last);
  for (auto& [id, phis] : carried)
    for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(values(id)[i], last);
  keep_rolled(builder_.CreateCondBr(again, body, after));
  loops_.erase(op.variable);
  ++line_;  // the closing brace

  builder_.SetInsertPoint(after);
  merge(entry, last, before);
}

// What is to be unrolled is unrolled in tile IR; the assembler shall leave loops as they are.
void Emitter::keep_rolled(llvm::Instruction* back_edge) {
  llvm::LLVMContext& context = module_->getContext();
  llvm::MDNode* disable =
      llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, {nullptr, disable});
  id->replaceOperandWith(0, id);
  back_edge->setMetadata(llvm::LLVMContext::MD_loop, id);
}

void Emitter::branch(const ir::Op& op) {
  llvm::LLVMContext& context = module_->getContext();
  llvm::BasicBlock* then = llvm::BasicBlock::Create(context, "then", function_);
  llvm::BasicBlock* otherwise = llvm::BasicBlock::Create(context, "else", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "join", function_);
  builder_.CreateCondBr(condition(op.when), then, otherwise);
  const std::vector<Values> entry = values_;

  builder_.SetInsertPoint(then);
  block(op.body);
  llvm::BasicBlock* then_end = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  ++line_;  // `} else {` or the closing brace
  std::vector<Values> then_values = std::move(values_);

  values_ = entry;
  builder_.SetInsertPoint(otherwise);
  block(op.otherwise);
  if (!op.otherwise.empty()) ++line_;
  llvm::BasicBlock* otherwise_end = builder_.GetInsertBlock();
  builder_.CreateBr(after);

  builder_.SetInsertPoint(after);
  merge(then_values, otherwise_end, then_end);
}

void Emitter::only_if(Value* condition, llvm::function_ref<void()> body) {
  if (condition == nullptr) {
    body();
    return;
  }
  llvm::LLVMContext& context = module_->getContext();
  llvm::BasicBlock* then = llvm::BasicBlock::Create(context, "active", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", function_);
  builder_.CreateCondBr(condition, then, after);
  builder_.SetInsertPoint(then);
  body();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

// At the start of a block with two predecessors: `values_` came from `from`, `other` from
// `other_from`. Registers that only one of them has set hold nothing any more.
void Emitter::merge(const std::vector<Values>& other, llvm::BasicBlock* from,
                    llvm::BasicBlock* other_from) {
  for (size_t id = 0; id < values_.size(); ++id) {
    if (values_[id].size() != other[id].size()) {
      values_[id].clear();
      continue;
    }
    for (size_t i = 0; i < values_[id].size(); ++i) {
      if (values_[id][i] == other[id][i]) continue;
      llvm::PHINode* phi = builder_.CreatePHI(values_[id][i]->getType(), 2);
      phi->addIncoming(values_[id][i], from);
      phi->addIncoming(other[id][i], other_from);
      values_[id][i] = phi;
    }
  }
}

}  // namespace tilec::codegen
