// Barriers and cp.async groups of a block.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/ptx/block.h"

namespace tilec::ptx {
namespace {

uint32_t uniform(const Lanes& lanes, uint32_t slot, uint32_t mask) {
  const auto* values = reinterpret_cast<const uint32_t*>(lanes.registers + slot);
  return values[__builtin_ctz(mask)];
}

}  // namespace

// Lanes arrive each for itself, as on hardware since Volta. A barrier without a thread count waits
// for every thread that has not left.
void BlockRun::arrive(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask) {
  if (mask == 0) return move_to(warp, index, block.next);
  const Control& control = launch_.code->controls[block.control];
  const Op& op = launch_.ops[block.end];
  const uint32_t number = uniform(warp.lanes, control.barrier, mask);
  const uint32_t threads =
      control.threads == kNone ? 0 : uniform(warp.lanes, control.threads, mask);
  const bool bad_count = control.threads != kNone &&
                         (threads == 0 || threads % kLanes != 0 || threads > kMaxBlockThreads);
  if (number >= barriers_.size() || bad_count) {
    found(
        FindingKind::bad_barrier, op, warp, mask,
        {.detail = number >= barriers_.size()
                       ? fmt::format("barrier {}; there are 0 to 15", number)
                       : fmt::format("{} threads; a positive multiple of 32 is wanted", threads)});
    return move_to(warp, index, block.next);
  }
  Barrier& barrier = barriers_[number];
  if (barrier.arrived > 0 && barrier.expected != threads) {
    found(FindingKind::bad_barrier, op, warp, mask,
          {.detail = fmt::format("barrier {} waits for {} threads, this instruction says {}",
                                 number, barrier.expected, threads)});
  }
  if (control.aligned)
    for (const Waiting& other : warp.waiting)
      if (other.barrier == number && other.op != op.index)
        found(FindingKind::divergent_barrier, op, warp, mask,
              {.detail = fmt::format("other lanes of this warp wait at line {}",
                                     launch_.code->infos[other.op].line)});
  barrier.expected = threads;
  barrier.op = op.index;
  // With a thread count, a warp that is not full counts as a whole one.
  const bool whole = threads != 0 && mask == warp.members;
  barrier.arrived += whole ? kLanes : popcount(mask);
  barrier.came |= 1u << warp.index;
  if (control.predicate != kNone) {
    const uint32_t truth = warp.lanes.predicates[control.predicate];
    barrier.truths += popcount((control.negated ? ~truth : truth) & mask);
  }
  if (!control.arrive_only) barrier.waiting |= 1u << warp.index;

  if (control.arrive_only) {
    move_to(warp, index, block.next);
  } else {
    warp.waiting.push_back({.block = block.next,
                            .mask = mask,
                            .frame = warp.ready[index].frame,
                            .barrier = number,
                            .op = op.index});
    park(warp, index, mask, block.next);
  }
  try_release(number);
}

void BlockRun::try_release(uint32_t number) {
  Barrier& barrier = barriers_[number];
  if (barrier.arrived == 0) return;
  const uint32_t expected = barrier.expected == 0 ? alive_threads_ : barrier.expected;
  if (barrier.arrived < expected) return;
  if (shared_shadow_) {
    // Who has left has done all it does before this.
    for (const Warp& warp : warps_)
      if (warp.alive == 0) barrier.came |= 1u << warp.index;
    shared_shadow_->pass_on(barrier.came, barrier.waiting);
    if (barrier.expected == 0 && alive_threads_ < launch_.threads_per_block)
      found(FindingKind::missed_barrier, launch_.ops[barrier.op],
            warps_[first_lane(barrier.waiting)], 1,
            {.detail = fmt::format("{} of {} threads have left before",
                                   launch_.threads_per_block - alive_threads_,
                                   launch_.threads_per_block)});
  }
  const Barrier complete = std::exchange(barrier, {});
  for (Warp& warp : warps_) {
    for (size_t i = 0; i < warp.waiting.size();) {
      if (warp.waiting[i].barrier != number) {
        ++i;
        continue;
      }
      const Waiting waited = warp.waiting[i];
      warp.waiting.erase(warp.waiting.begin() + static_cast<ptrdiff_t>(i));
      write_reduction(warp, waited, complete);
      resume(warp, waited);
    }
  }
}

// What bar.red tells the lanes that waited.
void BlockRun::write_reduction(Warp& warp, const Waiting& waited, const Barrier& barrier) {
  const Control& control = launch_.code->controls[launch_.code->infos[waited.op].control];
  if (control.result == kNone) return;
  if (control.reduce == CollectiveMode::add) {
    auto* to = reinterpret_cast<uint32_t*>(warp.lanes.registers + control.result);
    for (uint32_t left = waited.mask; left != 0; left &= left - 1)
      to[first_lane(left)] = barrier.truths;
  } else {
    const bool truth = control.reduce == CollectiveMode::and_ ? barrier.truths == barrier.arrived
                                                              : barrier.truths != 0;
    uint32_t& to = warp.lanes.predicates[control.result];
    to = truth ? to | waited.mask : to & ~waited.mask;
  }
  if (launch_.code->infos[waited.op].tracked_count != 0 && shared_shadow_)
    note_writes(launch_.ops[waited.op], warp, waited.mask, kAllLanes);
}

// Of the lanes `left`, those with the member mask of the first, and that mask. Forms of old PTX
// have none: the lanes that are there make do.
std::pair<uint32_t, uint32_t> BlockRun::members_of(const Warp& warp, const Collective& how,
                                                   uint32_t left) const {
  if (how.members == kNone) return {left, how.aligned ? warp.alive : left};
  const auto* masks = reinterpret_cast<const uint32_t*>(warp.lanes.registers + how.members);
  const uint32_t members = masks[first_lane(left)];
  uint32_t group = 0;
  for (uint32_t lanes = left; lanes != 0; lanes &= lanes - 1)
    if (masks[first_lane(lanes)] == members) group |= 1u << first_lane(lanes);
  return {group, members};
}

void BlockRun::carry_out(Warp& warp, uint32_t op, uint32_t mask) {
  if (shared_shadow_) shared_shadow_->sync_warp(warp.index);
  const OpInfo& info = launch_.code->infos[op];
  warp.lanes.mask = mask;
  const bool tracked = info.tracked_count != 0 && shared_shadow_;
  const uint32_t held = tracked ? held_by_sources(launch_.ops[op], warp) : 0;
  launch_.ops[op].run_some(launch_.ops[op], warp.lanes);
  if (tracked) note_writes(launch_.ops[op], warp, mask, held);
}

// bar.warp.sync, shfl and their like: the lanes named wait for each other; those that have left
// are not waited for. Lanes with masks of their own, as of tiles of a warp, go by mask.
void BlockRun::arrive_collective(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask) {
  if (mask == 0) return move_to(warp, index, block.next);
  const Collective& how =
      launch_.code->collectives[launch_.code->controls[block.control].collective];
  uint32_t left = mask, staying = 0;
  while (left != 0) {
    const auto [group, members] = members_of(warp, how, left);
    left &= ~group;
    if ((group & ~members) != 0)
      found(FindingKind::bad_barrier, launch_.ops[block.end], warp, group & ~members,
            {.detail = "a lane that its own member mask does not name"});
    if ((members & warp.alive & ~group) == 0) {
      carry_out(warp, block.end, group);
      continue;
    }
    staying |= group;
    warp.waiting.push_back({.block = block.next,
                            .mask = group,
                            .frame = warp.ready[index].frame,
                            .barrier = kCollective,
                            .members = members,
                            .op = block.end});
  }
  if (staying == 0) return move_to(warp, index, block.next);
  park(warp, index, staying, block.next);
  release_collectives(warp);
}

// Collectives are complete once all members wait at the same one; bar.warp.sync may be several.
void BlockRun::release_collectives(Warp& warp) {
  for (size_t i = 0; i < warp.waiting.size();) {
    const Waiting first = warp.waiting[i];
    const auto joins = [&](const Waiting& other) {
      if (other.barrier != kCollective || first.barrier != kCollective) return false;
      const auto kind = [&](const Waiting& of) {
        return launch_.code
            ->collectives[launch_.code->controls[launch_.code->infos[of.op].control].collective]
            .kind;
      };
      const bool both_sync =
          kind(other) == CollectiveKind::sync && kind(first) == CollectiveKind::sync;
      return other.members == first.members && (other.op == first.op || both_sync);
    };
    uint32_t arrived = 0;
    for (const Waiting& other : warp.waiting)
      if (joins(other)) arrived |= other.mask;
    if (first.barrier != kCollective || (first.members & warp.alive & ~arrived) != 0) {
      ++i;
      continue;
    }
    std::vector<Waiting> complete;
    for (const Waiting& other : warp.waiting)
      if (joins(other)) complete.push_back(other);
    std::erase_if(warp.waiting, joins);
    carry_out(warp, first.op, arrived);
    for (const Waiting& waited : complete) resume(warp, waited);
    i = 0;
  }
}

// No warp can go on: say who waits where.
void BlockRun::report_stuck() {
  for (Warp& warp : warps_)
    for (const Waiting& waiting : warp.waiting) {
      const bool of_warp = waiting.barrier == kCollective;
      const char* others = of_warp                              ? "lanes that it names"
                           : waiting.barrier == kClusterBarrier ? "threads of the cluster"
                                                                : "threads";
      found(of_warp ? FindingKind::deadlock : FindingKind::missed_barrier, launch_.ops[waiting.op],
            warp, waiting.mask, {.detail = fmt::format("the other {} never come here", others)});
    }
}

void BlockRun::complete_copies(Warp& warp, uint32_t mask) {
  warp.copies.wait(mask, 0, true,
                   [&](const PendingCopy& copy, uint32_t due) { complete(warp, copy, due); });
}

void BlockRun::complete(const Warp& warp, const PendingCopy& copy, uint32_t mask) {
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    std::byte* to = shared_.data() + copy.to[lane];
    const size_t valid = copy.from[lane] ? copy.valid[lane] : 0;
    if (valid == 16)
      std::memcpy(to, copy.from[lane], 16);
    else if (valid == 4)
      std::memcpy(to, copy.from[lane], 4);
    else if (valid > 0)
      std::memcpy(to, copy.from[lane], valid);
    if (valid < copy.bytes) std::memset(to + valid, 0, copy.bytes - valid);
    if (shared_shadow_)
      shared_shadow_->end_copy(copy.to[lane], copy.bytes,
                               {.op = copy.op,
                                .warp = static_cast<uint8_t>(warp.index),
                                .lane = static_cast<uint8_t>(lane)});
  }
}

}  // namespace tilec::ptx
