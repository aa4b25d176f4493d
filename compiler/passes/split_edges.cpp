// Gives whole tiles a path of their own, without guards.
//   in:  every global access is guarded
//   out: loops over slices run unguarded to `full`, then guarded to `slices`; stores and sums are
//        unguarded where the block is whole. An `exact` kernel keeps the unguarded path alone.
#include "compiler/passes/make_ops.h"
#include "compiler/passes/passes_list.h"

namespace tilec::passes {
namespace {

ir::Block without_guards(const ir::Block& block) {
  ir::Block out = block;
  for (ir::Op& op : out) {
    op.guard = false;
    op.body = without_guards(op.body);
    op.otherwise = without_guards(op.otherwise);
  }
  return out;
}

bool walks_slices(const ir::Op& op) {
  return op.kind == ir::OpKind::loop && op.upper.kind == ir::BoundKind::slices;
}

// Stretches of a workspace have no edges.
bool has_edges(const ir::Kernel& kernel, const ir::Op& op) {
  if (op.kind == ir::OpKind::reduce) return true;
  if (op.kind == ir::OpKind::store) return !kernel.at(op.to).stretches;
  return op.kind == ir::OpKind::sum && !kernel.at(op.from).stretches;
}

ir::Block split(const ir::Kernel& kernel, const ir::Block& ops) {
  ir::Block out;
  const ir::Condition whole{.kind = ir::ConditionKind::whole};
  for (const ir::Op& op : ops) {
    const ir::Op unguarded = without_guards({op})[0];
    if (op.kind == ir::OpKind::branch) {
      out.push_back(make_branch(op.when, split(kernel, op.body), split(kernel, op.otherwise)));
    } else if (kernel.exact) {
      out.push_back(unguarded);
      if (walks_slices(op)) out.back().upper = {ir::BoundKind::full, 0};
    } else if (walks_slices(op)) {
      out.push_back(unguarded);
      out.back().upper = {ir::BoundKind::full, 0};
      out.push_back(op);
      out.back().lower = {ir::BoundKind::full, 0};
    } else if (has_edges(kernel, op)) {
      out.push_back(make_branch(whole, {unguarded}, {op}));
    } else {
      const bool accesses = op.kind == ir::OpKind::store || op.kind == ir::OpKind::sum;
      out.push_back(accesses ? unguarded : op);
    }
  }
  return out;
}

}  // namespace

ir::Kernel split_edges(const ir::Kernel& kernel) {
  ir::Kernel out = kernel;
  out.ops = split(kernel, kernel.ops);
  return out;
}

}  // namespace tilec::passes
