// Makers of single ops, so that passes read as the IR they build.
#pragma once

#include "compiler/ir/kernel.h"

namespace tilec::passes {

/// A slice of a global operand, or a slot of a ring.
struct Place {
  ir::Id storage = -1;
  ir::Index index;
};

ir::Op make_zero(ir::Id accumulators);
ir::Op make_copy(const Place& to, const Place& from, ir::Id via, bool guard);
ir::Op make_load(ir::Id to, const Place& from, bool guard);
ir::Op make_put(const Place& to, ir::Id from);
ir::Op make_async(const Place& to, const Place& from, bool guard);
ir::Op make_commit();
ir::Op make_wait(int groups);
ir::Op make_barrier();
ir::Op make_fragment(ir::Id to, const Place& from, const ir::Index& k, bool guard);
ir::Op make_outer(ir::Id accumulators, ir::Id m, ir::Id n);
ir::Op make_sum(ir::Id accumulators, ir::Id parts, bool guard);
ir::Op make_store(ir::Id to, ir::Id from, const dsl::Expression& epilogue, bool guard);
ir::Op make_share(ir::Id exchange, ir::Id accumulators);
ir::Op make_reduce(ir::Id to, ir::Id exchange, const dsl::Expression& epilogue, bool guard);
ir::Op make_cluster_barrier();
ir::Op make_depart();
ir::Op make_loop(const std::string& variable, ir::Bound lower, ir::Bound upper, ir::Block body);
ir::Op make_branch(const ir::Condition& condition, ir::Block body, ir::Block otherwise = {});

/// The condition `left < right`.
ir::Condition less(const ir::Index& left, ir::Bound right);

}  // namespace tilec::passes
