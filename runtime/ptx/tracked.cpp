#include "runtime/ptx/tracked.h"

#include <span>

#include "runtime/ptx/block.h"
#include "runtime/ptx/collectives.h"

namespace tilec::ptx {
namespace {

std::span<const TrackedUse> uses_of(const Code& code, const Op& op) {
  const OpInfo& info = code.infos[op.index];
  return std::span(code.tracked_uses).subspan(info.tracked_begin, info.tracked_count);
}

// Lanes in which the operand of a use holds something.
uint32_t lanes_of(const Warp& warp, const TrackedUse& use) {
  return warp.tracked.written[use.tracked];
}

// Of a select only the chosen operand counts, in each lane.
uint32_t selected(const Code& code, const Op& op, const Warp& warp) {
  uint32_t a = kAllLanes, b = kAllLanes, c = kAllLanes;
  for (const TrackedUse& use : uses_of(code, op)) {
    if (use.write || use.guard) continue;
    (use.field == Field::a ? a : use.field == Field::b ? b : c) = lanes_of(warp, use);
  }
  const uint32_t truth = warp.lanes.predicates[op.c];
  return c & ((truth & a) | (~truth & b));
}

// Of a shuffle, the lane that was read.
uint32_t shuffled(const Op& op, const Warp& warp, uint32_t written) {
  const std::array<uint8_t, kLanes> from = shuffle_sources(op, warp.lanes);
  uint32_t out = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if (written >> from[lane] & 1) out |= 1u << lane;
  return out;
}

}  // namespace

uint32_t held_by_sources(const Op& op, const Warp& warp) {
  const Code& code = *warp.lanes.code;
  const OpInfo& info = code.infos[op.index];
  if (info.lane_op == LaneOp::selp_32 || info.lane_op == LaneOp::selp_64)
    return selected(code, op, warp);
  uint32_t held = kAllLanes;
  for (const TrackedUse& use : uses_of(code, op))
    if (!use.write && !use.guard && !use.sink) held &= lanes_of(warp, use);
  if (info.control != kNone && code.controls[info.control].collective != kNone &&
      code.collectives[code.controls[info.control].collective].kind == CollectiveKind::shuffle)
    held = shuffled(op, warp, held);
  return held;
}

namespace {

Tracked::Origin origin_of(const Code& code, const Op& op, const Warp& warp) {
  for (const TrackedUse& use : uses_of(code, op)) {
    if (use.write || (lanes_of(warp, use) == kAllLanes)) continue;
    const Tracked::Origin known = warp.tracked.origins[use.tracked];
    return known.op != kNone ? known
                             : Tracked::Origin{.op = op.index, .reg = code.tracked[use.tracked]};
  }
  return {};
}

}  // namespace

void Tracked::reset(const Code& code) {
  written.assign(code.tracked.size(), 0);
  origins.assign(code.tracked.size(), {});
}

void check_reads(const Op& op, Warp& warp, uint32_t mask, bool guards) {
  const Code& code = *warp.lanes.code;
  for (const TrackedUse& use : uses_of(code, op)) {
    if (use.write || use.guard != guards || !(use.sink || use.guard)) continue;
    const uint32_t missing = mask & ~lanes_of(warp, use);
    if (missing == 0) continue;
    const Tracked::Origin origin = warp.tracked.origins[use.tracked];
    const bool passed_on = origin.op != kNone && origin.op != op.index;
    Trouble trouble{.detail = "register " +
                              code.name_of(passed_on ? origin.reg : code.tracked[use.tracked])};
    if (passed_on) {
      trouble.detail += ", which comes to matter here";
      trouble.clash = {
          .op = origin.op,
          .block = warp.run->block(),
          .thread = warp.index * uint32_t{kLanes} + static_cast<uint32_t>(first_lane(missing))};
    }
    warp.run->found(FindingKind::unwritten_register, op, warp, missing, trouble);
    warp.tracked.written[use.tracked] |= missing;  // said once
  }
}

void note_writes(const Op& op, Warp& warp, uint32_t mask, uint32_t held) {
  const Code& code = *warp.lanes.code;
  const Tracked::Origin origin =
      (mask & ~held) != 0 ? origin_of(code, op, warp) : Tracked::Origin{};
  for (const TrackedUse& use : uses_of(code, op)) {
    if (!use.write) continue;
    uint32_t& written = warp.tracked.written[use.tracked];
    written = (written & ~mask) | (held & mask);
    if ((mask & ~held) != 0) warp.tracked.origins[use.tracked] = origin;
  }
}

}  // namespace tilec::ptx
