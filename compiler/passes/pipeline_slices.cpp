// Overlaps the copies of later slices with the products of this one.
//   in:  in the unguarded loop a slice is copied, then used
//   out: where rings have S > 1 slots, slices 0 .. S-2 are copied before the loop, and trip i
//   copies
//        slice i + S - 1 while it uses slice i. Through registers: loads before the products, puts
//        after them. Async: trip i waits for slice i, with S - 2 groups still under way.
// Loops that start at `full` drain what is left over and stay as they are.
#include <algorithm>

#include "compiler/passes/make_ops.h"
#include "compiler/passes/passes_list.h"

namespace tilec::passes {
namespace {

struct Slice {
  ir::Block fetch;  // load or async
  ir::Block put;
  ir::Block use;
};

bool is_async(const Slice& slice) {
  return std::any_of(slice.fetch.begin(), slice.fetch.end(),
                     [](const ir::Op& op) { return op.kind == ir::OpKind::async; });
}

Slice take_apart(const ir::Block& body) {
  Slice out;
  for (const ir::Op& op : body) {
    switch (op.kind) {
      case ir::OpKind::load:
      case ir::OpKind::async:
        out.fetch.push_back(op);
        break;
      case ir::OpKind::put:
        out.put.push_back(op);
        break;
      case ir::OpKind::commit:
      case ir::OpKind::wait:
        break;  // placed anew
      default:
        out.use.push_back(op);
    }
  }
  return out;
}

// The same ops for slice `index`, where it exists.
ir::Block at_slice(const ir::Block& ops, const ir::Index& index, ir::Bound slices) {
  ir::Block out = ops;
  for (ir::Op& op : out) {
    if (op.kind != ir::OpKind::load) op.to_index = index;
    if (op.kind == ir::OpKind::put) continue;
    op.from_index = index;
    const bool exists = index.variable.empty() && index.offset == 0;  // inside `if 0 < full`
    if (!exists) op.when = less(index, slices);
  }
  return out;
}

void append(ir::Block& out, const ir::Block& more) {
  out.insert(out.end(), more.begin(), more.end());
}

ir::Op overlap(const ir::Op& loop, int stages) {
  const Slice slice = take_apart(loop.body);
  const bool async = is_async(slice);
  ir::Block path;
  for (int s = 0; s < stages - 1; ++s) {
    append(path, at_slice(slice.fetch, {"", s}, loop.upper));
    if (async) path.push_back(make_commit());
    append(path, at_slice(slice.put, {"", s}, loop.upper));
  }
  const ir::Index ahead{loop.variable, stages - 1};
  ir::Op steady = loop;
  steady.body.clear();
  if (async) steady.body.push_back(make_wait(stages - 2));
  append(steady.body, at_slice(slice.fetch, ahead, loop.upper));
  if (async) steady.body.push_back(make_commit());
  append(steady.body, slice.use);
  append(steady.body, at_slice(slice.put, ahead, loop.upper));
  path.push_back(std::move(steady));
  if (async) path.push_back(make_wait(0));
  return make_branch(less({"", 0}, loop.upper), std::move(path));
}

}  // namespace

ir::Kernel pipeline_slices(const ir::Kernel& kernel) {
  int stages = 1;
  for (const ir::Storage& s : kernel.storage)
    if (s.space == ir::Space::shared) stages = std::max(stages, s.stages);
  ir::Kernel out = kernel;
  if (stages == 1) return out;
  for (ir::Op& op : out.ops)
    if (op.kind == ir::OpKind::loop && op.lower.kind == ir::BoundKind::number)
      op = overlap(op, stages);
  return out;
}

}  // namespace tilec::passes
