// Gives ops their handlers for one launch.
#include <cstring>

#include "runtime/ptx/access.h"
#include "runtime/ptx/block.h"
#include "runtime/ptx/collectives.h"

namespace tilec::ptx {
namespace {

void nothing(const Op&, Lanes&) {}

// Arguments and results of device functions: b bytes of local memory from a to d, or zeros.
void copy_arguments(const Op& op, Lanes& lanes) {
  BlockRun& run = *lanes.warp->run;
  const bool watched = run.launch().config.checks == Checks::all;
  const uint32_t mask = guarded(lanes.code->infos[op.index], lanes, lanes.mask);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(first_lane(left));
    std::byte* local = run.local(*lanes.warp, lane) - kLocalBegin;
    uint8_t* written = watched ? run.local_written(*lanes.warp, lane) - kLocalBegin : nullptr;
    if (op.a == kNone) {
      std::memset(local + op.d, 0, op.b);
      if (watched) std::memset(written + op.d, 1, op.b);
      continue;
    }
    std::memmove(local + op.d, local + op.a, op.b);
    if (watched) std::memmove(written + op.d, written + op.a, op.b);
  }
}

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
  if (info.is_copy) return {copy_arguments, copy_arguments};
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

// The same for an op that uses registers which some path reads before it writes them.
void run_tracked(const Op& op, Lanes& lanes) {
  const OpInfo& info = lanes.code->infos[op.index];
  Warp& warp = *lanes.warp;
  const uint32_t mask = guarded(info, lanes, lanes.mask);
  check_reads(op, warp, lanes.mask, true);
  check_reads(op, warp, mask, false);
  const uint32_t held = held_by_sources(op, warp);
  if (info.lane_op != LaneOp::none)
    run_guarded_lane(op, lanes);
  else if (info.access != kNone)
    run_guarded_access(op, lanes);
  else if (info.is_copy)
    copy_arguments(op, lanes);
  note_writes(op, warp, mask, held);
}

}  // namespace

void bind(const Code& code, const LaunchConfig& config, std::vector<Op>& ops) {
  ops = code.ops;
  for (Op& op : ops) {
    const OpInfo& info = code.infos[op.index];
    if (info.access != kNone) op.extra = info.access;
    if (info.control != kNone) {
      const uint32_t collective = code.controls[info.control].collective;
      if (collective == kNone) continue;
      op.extra = collective;
      op.run_all = op.run_some = collective_handler(code.collectives[collective]);
      continue;
    }
    if (info.tracked_count != 0 && config.checks == Checks::all) {
      op.run_all = op.run_some = run_tracked;
      continue;
    }
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
