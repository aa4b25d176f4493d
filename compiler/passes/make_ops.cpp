#include "compiler/passes/make_ops.h"

#include <utility>

namespace tilec::passes {
namespace {

ir::Op make(ir::OpKind kind) {
  ir::Op op;
  op.kind = kind;
  return op;
}

}  // namespace

ir::Op make_zero(ir::Id accumulators) {
  ir::Op op = make(ir::OpKind::zero);
  op.to = accumulators;
  return op;
}

ir::Op make_copy(const Place& to, const Place& from, ir::Id via, bool guard) {
  ir::Op op = make_async(to, from, guard);
  op.kind = ir::OpKind::copy;
  op.via = via;
  return op;
}

ir::Op make_load(ir::Id to, const Place& from, bool guard) {
  ir::Op op = make(ir::OpKind::load);
  op.to = to;
  op.from = from.storage;
  op.from_index = from.index;
  op.guard = guard;
  return op;
}

ir::Op make_put(const Place& to, ir::Id from) {
  ir::Op op = make(ir::OpKind::put);
  op.to = to.storage;
  op.to_index = to.index;
  op.from = from;
  return op;
}

ir::Op make_async(const Place& to, const Place& from, bool guard) {
  ir::Op op = make_load(to.storage, from, guard);
  op.kind = ir::OpKind::async;
  op.to_index = to.index;
  return op;
}

ir::Op make_commit() {
  return make(ir::OpKind::commit);
}

ir::Op make_wait(int groups) {
  ir::Op op = make(ir::OpKind::wait);
  op.count = groups;
  return op;
}

ir::Op make_barrier() {
  return make(ir::OpKind::barrier);
}

ir::Op make_fragment(ir::Id to, const Place& from, const ir::Index& k, bool guard) {
  ir::Op op = make_load(to, from, guard);
  op.kind = ir::OpKind::fragment;
  op.k = k;
  return op;
}

ir::Op make_outer(ir::Id accumulators, ir::Id m, ir::Id n) {
  ir::Op op = make(ir::OpKind::outer);
  op.to = accumulators;
  op.from = m;
  op.from_n = n;
  return op;
}

ir::Op make_sum(ir::Id accumulators, ir::Id parts, bool guard) {
  ir::Op op = make_load(accumulators, {parts, {}}, guard);
  op.kind = ir::OpKind::sum;
  return op;
}

ir::Op make_store(ir::Id to, ir::Id from, const dsl::Expression& epilogue, bool guard) {
  ir::Op op = make(ir::OpKind::store);
  op.to = to;
  op.from = from;
  op.epilogue = epilogue;
  op.guard = guard;
  return op;
}

ir::Op make_share(ir::Id exchange, ir::Id accumulators) {
  ir::Op op = make(ir::OpKind::share);
  op.to = exchange;
  op.from = accumulators;
  return op;
}

ir::Op make_reduce(ir::Id to, ir::Id exchange, const dsl::Expression& epilogue, bool guard) {
  ir::Op op = make_store(to, exchange, epilogue, guard);
  op.kind = ir::OpKind::reduce;
  return op;
}

ir::Op make_cluster_barrier() {
  return make(ir::OpKind::cluster_barrier);
}

ir::Op make_depart() {
  return make(ir::OpKind::depart);
}

ir::Op make_loop(const std::string& variable, ir::Bound lower, ir::Bound upper, ir::Block body) {
  ir::Op op = make(ir::OpKind::loop);
  op.variable = variable;
  op.lower = lower;
  op.upper = upper;
  op.count = 1;
  op.body = std::move(body);
  return op;
}

ir::Op make_branch(const ir::Condition& condition, ir::Block body, ir::Block otherwise) {
  ir::Op op = make(ir::OpKind::branch);
  op.when = condition;
  op.body = std::move(body);
  op.otherwise = std::move(otherwise);
  return op;
}

ir::Condition less(const ir::Index& left, ir::Bound right) {
  return {.kind = ir::ConditionKind::less, .left = left, .right = right};
}

}  // namespace tilec::passes
