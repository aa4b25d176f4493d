// Gives ops their handlers for one launch.
#include "runtime/ptx/access.h"
#include "runtime/ptx/block.h"

namespace tilec::ptx {
namespace {

void nothing(const Op&, Lanes&) {}

struct Bound {
  Handler all = nothing;
  Handler some = nothing;
};

Bound unguarded(const Code& code, const LaunchConfig& config, uint32_t op) {
  const OpInfo& info = code.infos[op];
  if (info.lane_op != LaneOp::none) {
    const LaneKernel& kernel = host_kernels()[static_cast<size_t>(info.lane_op)];
    return {kernel.run_all, kernel.run_some};
  }
  if (info.access != kNone) {
    const Handler handler = access_handler(code.accesses[info.access], config);
    return {handler, handler};
  }
  return {};
}

// Runs the op for the lanes whose guard holds, and counts the others as kept off.
template <class Inner>
void run_guarded(const Op& op, Lanes& lanes, Inner&& inner) {
  const OpInfo& info = lanes.code->infos[op.index];
  const uint32_t all = lanes.mask;
  const uint32_t mask = guarded(info, lanes, all);
  if (mask != all) lanes.warp->run->counts.off[op.index] += popcount(all & ~mask);
  if (mask == 0) return;
  lanes.mask = mask;
  inner(op, lanes);
  lanes.mask = all;
}

void run_guarded_lane(const Op& op, Lanes& lanes) {
  run_guarded(op, lanes, [](const Op& inner, Lanes& active) {
    const auto index = static_cast<size_t>(active.code->infos[inner.index].lane_op);
    const LaneKernel& kernel = host_kernels()[index];
    (active.mask == kAllLanes ? kernel.run_all : kernel.run_some)(inner, active);
  });
}

void run_guarded_access(const Op& op, Lanes& lanes) {
  run_guarded(op, lanes, [](const Op& inner, Lanes& active) {
    const Access& access = active.code->accesses[active.code->infos[inner.index].access];
    access_handler(access, active.warp->run->launch().config)(inner, active);
  });
}

}  // namespace

void bind(const Code& code, const LaunchConfig& config, std::vector<Op>& ops) {
  ops = code.ops;
  for (Op& op : ops) {
    const OpInfo& info = code.infos[op.index];
    if (info.control != kNone) continue;
    const Bound bound = unguarded(code, config, op.index);
    op.run_all = bound.all;
    op.run_some = bound.some;
    if (info.guard == kNone) continue;
    if (info.lane_op != LaneOp::none)
      op.run_all = op.run_some = run_guarded_lane;
    else if (info.access != kNone)
      op.run_all = op.run_some = run_guarded_access;
  }
}

}  // namespace tilec::ptx
