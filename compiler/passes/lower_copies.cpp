// Turns each `copy` into what the machine has.
//   in:  `copy` ops, each with its staging registers or none
//   out: no `copy`: neighbouring copies become their loads, then their puts; or their async copies,
//        one commit, and a wait for all of them
#include "compiler/passes/make_ops.h"
#include "compiler/passes/passes_list.h"

namespace tilec::passes {
namespace {

// All loads first, so that they are under way together.
void lower_run(const ir::Block& copies, ir::Block& out) {
  bool any_async = false;
  for (const ir::Op& op : copies) {
    const Place from{op.from, op.from_index};
    any_async |= op.via < 0;
    out.push_back(op.via < 0 ? make_async({op.to, op.to_index}, from, op.guard)
                             : make_load(op.via, from, op.guard));
  }
  if (any_async) {
    out.push_back(make_commit());
    out.push_back(make_wait(0));
  }
  for (const ir::Op& op : copies)
    if (op.via >= 0) out.push_back(make_put({op.to, op.to_index}, op.via));
}

ir::Block lower(const ir::Block& block) {
  ir::Block out;
  ir::Block run;
  for (ir::Op op : block) {
    if (op.kind == ir::OpKind::copy) {
      run.push_back(std::move(op));
      continue;
    }
    if (!run.empty()) lower_run(run, out);
    run.clear();
    op.body = lower(op.body);
    op.otherwise = lower(op.otherwise);
    out.push_back(std::move(op));
  }
  if (!run.empty()) lower_run(run, out);
  return out;
}

}  // namespace

ir::Kernel lower_copies(const ir::Kernel& kernel) {
  ir::Kernel out = kernel;
  out.ops = lower(kernel.ops);
  return out;
}

}  // namespace tilec::passes
