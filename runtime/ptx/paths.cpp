// Where lanes go: branches, calls, leaving, and meeting again.
#include <algorithm>

#include "runtime/ptx/cluster.h"

namespace tilec::ptx {

// The lanes of `mask` go to `target`, the others on.
void BlockRun::branch(Warp& warp, size_t index, uint32_t target, uint32_t mask) {
  const uint32_t all = warp.ready[index].mask;
  const uint32_t next = launch_.code->blocks[warp.ready[index].block].next;
  if (mask == all) return move_to(warp, index, target);
  if (mask == 0) return move_to(warp, index, next);
  ++counts.blocks[warp.ready[index].block].divergent;
  const Waiting parted{.block = target, .mask = mask, .frame = warp.ready[index].frame};
  warp.ready[index].mask = all & ~mask;
  move_to(warp, index, next);
  resume(warp, parted);
}

// brx.idx: lanes with one index go together. An index past the table has no meaning in PTX.
void BlockRun::branch_by_index(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask) {
  const Control& control = launch_.code->controls[block.control];
  const auto* values = reinterpret_cast<const uint32_t*>(warp.lanes.registers + control.index);
  const uint32_t frame = warp.ready[index].frame;
  const uint32_t from = warp.ready[index].block;
  uint32_t parts = mask != warp.ready[index].mask;
  park(warp, index, mask, block.next);
  while (mask != 0) {
    const uint32_t value = values[first_lane(mask)];
    uint32_t same = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1)
      if (values[first_lane(left)] == value) same |= 1u << first_lane(left);
    mask &= ~same;
    if (value >= control.targets.size()) {
      found(FindingKind::trap, launch_.ops[block.end], warp, same,
            {.detail = "an index past the table of targets"});
      stop_ = true;
      return;
    }
    ++parts;
    resume(warp, {.block = control.targets[value], .mask = same, .frame = frame});
  }
  if (parts > 1) ++counts.blocks[from].divergent;
}

uint32_t BlockRun::frame_of(Warp& warp, uint32_t parent, uint32_t resume) {
  for (uint32_t i = 1; i < warp.frames.size(); ++i)
    if (warp.frames[i].parent == parent && warp.frames[i].resume == resume) return i;
  warp.frames.push_back(
      {.parent = parent, .resume = resume, .depth = warp.frames[parent].depth + 1});
  return static_cast<uint32_t>(warp.frames.size() - 1);
}

void BlockRun::call(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask) {
  if (mask == 0) return move_to(warp, index, block.next);
  const uint32_t target = launch_.code->controls[block.control].target;
  const Waiting inside{
      .block = target, .mask = mask, .frame = frame_of(warp, warp.ready[index].frame, block.next)};
  park(warp, index, mask, block.next);
  resume(warp, inside);
}

// Takes lanes off a split; those that stay go on to `next`.
void BlockRun::park(Warp& warp, size_t index, uint32_t mask, uint32_t next) {
  Split& split = warp.ready[index];
  split.mask &= ~mask;
  if (split.mask == 0)
    warp.ready.erase(warp.ready.begin() + static_cast<ptrdiff_t>(index));
  else
    move_to(warp, index, next);
}

void BlockRun::resume(Warp& warp, const Waiting& waited) {
  warp.ready.push_back(
      {.block = kNone, .mask = waited.mask, .last_run = warp.steps, .frame = waited.frame});
  move_to(warp, warp.ready.size() - 1, waited.block);
}

// Sends a split to a block, joining it to one that is there already.
void BlockRun::move_to(Warp& warp, size_t index, uint32_t block) {
  warp.ready[index].block = block;
  if (warp.ready.size() == 1) return;
  for (size_t i = 0; i < warp.ready.size(); ++i) {
    if (i == index || warp.ready[i].block != block ||
        warp.ready[i].frame != warp.ready[index].frame)
      continue;
    warp.ready[i].mask |= warp.ready[index].mask;
    warp.ready[i].yielded &= warp.ready[index].yielded;
    warp.ready[i].last_run = std::max(warp.ready[i].last_run, warp.ready[index].last_run);
    warp.ready.erase(warp.ready.begin() + static_cast<ptrdiff_t>(index));
    return;
  }
}

void BlockRun::leave(Warp& warp, size_t index, uint32_t mask) {
  warp.alive &= ~mask;
  alive_threads_ -= popcount(mask);
  uint32_t arrived = 0;  // at the cluster's barrier, for the phase that is open
  for (uint32_t left = mask; left != 0; left &= left - 1)
    arrived += arrivals_[warp.index * kLanes + first_lane(left)] > cluster_->phase() ? 1U : 0U;
  Split& split = warp.ready[index];
  split.mask &= ~mask;
  if (split.mask == 0) {
    warp.ready.erase(warp.ready.begin() + static_cast<ptrdiff_t>(index));
  } else {
    move_to(warp, index, launch_.code->blocks[split.block].next);
  }
  // Who has left is not waited for.
  for (uint32_t barrier = 0; barrier < barriers_.size(); ++barrier) try_release(barrier);
  release_collectives(warp);
  cluster_->leave(popcount(mask), arrived);
}

}  // namespace tilec::ptx
