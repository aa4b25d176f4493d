// Writes out the products of a slice, so that row numbers become constants of addresses.
//   in:  a loop over k inside each loop over slices
//   out: inside loops that start at slice 0 the loop over k is gone, or runs in steps as large as
//        the budget allows; loops that drain the rest stay rolled, to keep the kernel small
#include "compiler/passes/make_ops.h"
#include "compiler/passes/passes_list.h"

namespace tilec::passes {
namespace {

constexpr int kBudget = 4096;  // multiply-adds of one thread in straight line

bool walks_k(const ir::Op& op) {
  return op.kind == ir::OpKind::loop && op.lower.kind == ir::BoundKind::number &&
         op.upper.kind == ir::BoundKind::number;
}

void unroll(const ir::Kernel& kernel, const ir::Op& loop, ir::Block& out) {
  const int trips = loop.upper.number - loop.lower.number;
  int copies = trips;
  while (copies > 1 &&
         (trips % copies != 0 || copies * kernel.map.each.m * kernel.map.each.n > kBudget))
    --copies;
  ir::Block body;
  const bool gone = copies == trips;
  for (int copy = 0; copy < copies; ++copy) {
    for (ir::Op op : loop.body) {
      if (op.k.variable == loop.variable)
        op.k = gone ? ir::Index{"", loop.lower.number + copy + op.k.offset}
                    : ir::Index{loop.variable, copy + op.k.offset};
      body.push_back(std::move(op));
    }
  }
  if (gone) {
    out.insert(out.end(), body.begin(), body.end());
  } else {
    out.push_back(loop);
    out.back().count = copies;
    out.back().body = std::move(body);
  }
}

ir::Block unroll_in(const ir::Kernel& kernel, const ir::Block& block) {
  ir::Block out;
  for (ir::Op op : block) {
    const bool drains = op.kind == ir::OpKind::loop && op.lower.kind == ir::BoundKind::full;
    if (walks_k(op)) {
      unroll(kernel, op, out);
      continue;
    }
    if (!drains) op.body = unroll_in(kernel, op.body);
    out.push_back(std::move(op));
  }
  return out;
}

}  // namespace

ir::Kernel unroll_slices(const ir::Kernel& kernel) {
  ir::Kernel out = kernel;
  out.ops = unroll_in(kernel, kernel.ops);
  return out;
}

}  // namespace tilec::passes
