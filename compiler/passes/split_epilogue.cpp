// Where beta is 0, C must not be read: it may hold NaN, or nothing at all.
//   in:  one `store` of the whole expression
//   out: an unguarded store whose expression reads C only through products with beta stands behind
//   a
//        branch, beside one without those products; a guarded one tests beta with each element
#include "compiler/passes/make_ops.h"
#include "compiler/passes/passes_list.h"

namespace tilec::passes {
namespace {

ir::Block split(const ir::Block& block) {
  ir::Block out;
  const ir::Condition beta_is_zero{.kind = ir::ConditionKind::beta_is_zero};
  for (ir::Op op : block) {
    op.body = split(op.body);
    op.otherwise = split(op.otherwise);
    const bool stores = op.kind == ir::OpKind::store || op.kind == ir::OpKind::reduce;
    if (stores && !op.guard && dsl::reads_c(op.epilogue) == dsl::ReadsC::unless_beta_zero) {
      ir::Op without_c = op;
      without_c.epilogue = dsl::with_beta_zero(op.epilogue);
      out.push_back(make_branch(beta_is_zero, {without_c}, {op}));
    } else {
      out.push_back(std::move(op));
    }
  }
  return out;
}

}  // namespace

ir::Kernel split_epilogue(const ir::Kernel& kernel) {
  ir::Kernel out = kernel;
  out.ops = split(kernel.ops);
  return out;
}

}  // namespace tilec::passes
