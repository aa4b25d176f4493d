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

}  // namespace

ir::Kernel split_edges(const ir::Kernel& kernel) {
  ir::Kernel out = kernel;
  out.ops.clear();
  const ir::Condition whole{.kind = ir::ConditionKind::whole};
  for (const ir::Op& op : kernel.ops) {
    const ir::Op unguarded = without_guards({op})[0];
    if (kernel.exact) {
      out.ops.push_back(unguarded);
      if (walks_slices(op)) out.ops.back().upper = {ir::BoundKind::full, 0};
    } else if (walks_slices(op)) {
      out.ops.push_back(unguarded);
      out.ops.back().upper = {ir::BoundKind::full, 0};
      out.ops.push_back(op);
      out.ops.back().lower = {ir::BoundKind::full, 0};
    } else if (op.kind == ir::OpKind::store || op.kind == ir::OpKind::sum) {
      out.ops.push_back(make_branch(whole, {unguarded}, {op}));
    } else {
      out.ops.push_back(op);
    }
  }
  return out;
}

}  // namespace tilec::passes
