#include "runtime/ptx/block.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

namespace tilec::ptx {
namespace {

// A warp runs so many instructions before the next gets its turn: enough for a spin on another
// warp to end, few enough to come back often.
constexpr uint64_t kQuantum = 1 << 16;
// Lanes that waited so many steps of their warp for other lanes get a turn of their own: they may
// hold what the others spin for.
constexpr uint64_t kPatience = 1 << 17;
constexpr uint32_t kTurn = 1 << 10;

}  // namespace

BlockRun::BlockRun(const Launch& launch) : launch_(launch) {
  const Code& code = *launch.code;
  warps_.resize(launch.warps_per_block);
  order_.resize(launch.warps_per_block);
  storage_.resize(size_t{code.register_bytes} * launch.warps_per_block + 256);
  predicates_.resize(size_t{code.predicates} * launch.warps_per_block);
  shared_.resize(launch.shared_end - kSharedBegin + 32);
  local_.resize((code.local_end - kLocalBegin) * launch.warps_per_block * kLanes);
  if (launch.config.checks == Checks::all) {
    local_written_.resize(local_.size());
    shared_shadow_ =
        std::make_unique<SharedShadow>(shared_bytes(), code.shared_grain, launch.warps_per_block);
    site_of_op_.resize(code.ops.size());
  }
  counts.blocks.resize(code.blocks.size());
  counts.off.resize(code.ops.size());
  counts.matrix_multiply_adds.resize(code.ops.size());
  counts.accesses.resize(code.accesses.size());
  counts.async_sources.resize(code.accesses.size());
  patterns.resize(code.accesses.size());
  source_patterns.resize(code.accesses.size());
  last_allocation.resize(code.accesses.size(), nullptr);
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  std::byte* registers = storage_.data() + (256 - address % 256) % 256;
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    Warp& warp = warps_[w];
    warp.run = this;
    warp.index = w;
    warp.lanes.registers = registers + size_t{code.register_bytes} * w;
    warp.lanes.predicates = predicates_.data() + size_t{code.predicates} * w;
    warp.lanes.clock = &executed_;
    warp.lanes.code = &code;
    warp.lanes.warp = &warp;
  }
}

std::byte* BlockRun::local(const Warp& warp, uint32_t lane) {
  return local_.data() + (size_t{warp.index} * kLanes + lane) * local_bytes();
}

uint8_t* BlockRun::local_written(const Warp& warp, uint32_t lane) {
  return local_written_.data() + (size_t{warp.index} * kLanes + lane) * local_bytes();
}

Owner BlockRun::owner(uint32_t op) {
  uint32_t& site = site_of_op_[op];
  if (site == 0) {
    site = launch_.sites->add(op, block_);
    open_sites_.push_back(op);
  }
  return {.site = site, .block = block_, .synchronised = synchronised_};
}

void BlockRun::note_sync() {
  if (!shared_shadow_) return;
  std::vector<uint32_t> numbers;
  for (uint32_t op : open_sites_) numbers.push_back(std::exchange(site_of_op_[op], 0));
  open_sites_.clear();
  synchronised_ = launch_.sites->synchronise(numbers);
}

void BlockRun::begin(uint64_t block) {
  block_ = block;
  executed_ = 0;
  stop_ = ended_ = false;
  round_ = 0;
  std::iota(order_.begin(), order_.end(), 0U);
  start();
}

bool BlockRun::advance(uint64_t instructions) {
  const uint64_t until = executed_ + instructions;
  const uint64_t before = executed_;
  while (!stop_) {
    bool progress = false;
    bool left = false;
    const Schedule& schedule = launch_.schedule;
    if (schedule.permutes()) schedule.shuffle(order_, block_, round_);
    ++round_;
    for (uint32_t index : order_) {
      Warp& warp = warps_[index];
      if (!warp.ready.empty()) {
        run_warp(warp, schedule.permutes() ? schedule.turn(index, block_, round_) : kQuantum);
        progress = true;
      }
      left |= warp.alive != 0;
      if (stop_) break;
    }
    if (!left) break;
    if (!progress && !stop_) {
      if (waits_for_cluster()) {
        idle_ = executed_ == before;
        return false;
      }
      report_stuck();
      break;
    }
    if (executed_ >= until && !stop_) {
      idle_ = false;
      return false;
    }
  }
  end();
  return true;
}

void BlockRun::start() {
  alive_threads_ = launch_.threads_per_block;
  barriers_ = {};
  std::memset(storage_.data(), 0, storage_.size());
  std::fill(predicates_.begin(), predicates_.end(), 0);
  // Shared and local memory hold a NaN with a known pattern until they are written.
  std::memset(shared_.data(), 0xFF, shared_.size());
  std::fill(local_.begin(), local_.end(), std::byte{0xFF});
  std::fill(local_written_.begin(), local_written_.end(), 0);
  if (shared_shadow_) shared_shadow_->reset();
  if (cluster_shadow_) cluster_shadow_->reset();
  std::fill(arrivals_.begin(), arrivals_.end(), 0);
  std::fill(waits_.begin(), waits_.end(), 0);
  std::fill(fenced_.begin(), fenced_.end(), false);
  std::fill(visits_.begin(), visits_.end(), Visitor{});
  latest_wait_ = 0;
  std::fill(site_of_op_.begin(), site_of_op_.end(), 0);
  open_sites_.clear();
  synchronised_ = 0;
  mbarriers = {};
  for (Warp& warp : warps_) start_warp(warp);
}

void BlockRun::start_warp(Warp& warp) {
  const uint32_t first = warp.index * kLanes;
  const uint32_t count = std::min<uint32_t>(kLanes, launch_.threads_per_block - first);
  warp.members = warp.alive = count == kLanes ? kAllLanes : (1u << count) - 1;
  warp.steps = 0;
  warp.turn = 0;
  warp.ready.assign(1, {.block = 0, .mask = warp.alive});
  warp.waiting.clear();
  warp.frames.assign(1, {});
  warp.copies.clear();
  warp.tracked.reset(*launch_.code);
  fill_constants(warp);
}

void BlockRun::run_warp(Warp& warp, uint64_t instructions) {
  const uint64_t until = executed_ + instructions;
  while (!warp.ready.empty() && executed_ < until && !stop_) {
    if (all_yielded(warp)) return;
    const size_t index = warp.ready.size() == 1 ? 0 : pick(warp);
    Split& split = warp.ready[index];
    split.last_run = ++warp.steps;
    const CodeBlock& block = launch_.code->blocks[split.block];
    if (executed_ > launch_.config.max_block_instructions) {
      const size_t op = std::min<size_t>(block.begin, launch_.ops.size() - 1);
      found(FindingKind::too_long, launch_.ops[op], warp, split.mask,
            {.detail = "more than " + std::to_string(launch_.config.max_block_instructions) +
                       " warp instructions in one block"});
      stop_ = true;
      return;
    }
    execute(warp, split, block);
    split.yielded = std::exchange(yield_, false);
    if (block.control == kNone && block.next != kNone)
      move_to(warp, index, block.next);
    else
      control(warp, index, block);
  }
}

// Whether no lane of the warp has more to do than to wait; if so, the next turn begins afresh.
bool BlockRun::all_yielded(Warp& warp) {
  for (const Split& split : warp.ready)
    if (!split.yielded) return false;
  for (Split& split : warp.ready) split.yielded = false;
  return true;
}

// The split whose block comes first in the code's order, unless another has waited too long.
size_t BlockRun::pick(Warp& warp) {
  size_t best = 0, oldest = 0;
  // Whoever is deeper in calls goes first, to come back to where the others are.
  const auto rank = [&](const Split& split) {
    return std::tuple(split.yielded, ~warp.frames[split.frame].depth,
                      launch_.code->blocks[split.block].order);
  };
  for (size_t i = 1; i < warp.ready.size(); ++i) {
    const Split& split = warp.ready[i];
    if (rank(split) < rank(warp.ready[best])) best = i;
    if (split.last_run < warp.ready[oldest].last_run) oldest = i;
  }
  if (warp.turn > 0) {
    // The turn goes to whoever ran last, which is the split that was given it.
    --warp.turn;
    return static_cast<size_t>(
        std::max_element(warp.ready.begin(), warp.ready.end(),
                         [](const Split& a, const Split& b) { return a.last_run < b.last_run; }) -
        warp.ready.begin());
  }
  if (warp.steps - warp.ready[oldest].last_run > kPatience) {
    warp.turn = kTurn;
    return oldest;
  }
  return best;
}

void BlockRun::execute(Warp& warp, const Split& split, const CodeBlock& block) {
  const Op* op = launch_.ops.data() + block.begin;
  const Op* const end = launch_.ops.data() + block.end;
  Lanes& lanes = warp.lanes;
  lanes.mask = split.mask;
  executed_ += block.end - block.begin + 1;
  BlockCount& count = counts.blocks[split.block];
  ++count.warps;
  count.threads += popcount(split.mask);
  if (split.mask == kAllLanes) {
    for (; op != end; ++op) op->run_all(*op, lanes);
  } else {
    for (; op != end; ++op) op->run_some(*op, lanes);
  }
}

void BlockRun::control(Warp& warp, size_t index, const CodeBlock& block) {
  const uint32_t all = warp.ready[index].mask;
  if (block.control == kNone) return leave(warp, index, all);  // past the end: exit
  const Control& control = launch_.code->controls[block.control];
  const OpInfo& info = launch_.code->infos[block.end];
  const uint32_t mask = guarded(info, warp.lanes, all);
  if (info.tracked_count != 0 && launch_.config.checks == Checks::all) {
    check_reads(launch_.ops[block.end], warp, all, true);
    check_reads(launch_.ops[block.end], warp, mask, false);
  }
  if (info.guard != kNone) counts.off[block.end] += popcount(all & ~mask);
  switch (control.kind) {
    case ControlKind::branch:
      return branch(warp, index, control.target, mask);
    case ControlKind::indirect:
      return branch_by_index(warp, index, block, mask);
    case ControlKind::call:
      return call(warp, index, block, mask);
    case ControlKind::return_: {
      if (mask == 0) return move_to(warp, index, block.next);
      const CallFrame frame = warp.frames[warp.ready[index].frame];
      const Waiting back{.block = frame.resume, .mask = mask, .frame = frame.parent};
      park(warp, index, mask, block.next);
      return resume(warp, back);
    }
    case ControlKind::exit:
      return leave(warp, index, mask);
    case ControlKind::barrier:
      return arrive(warp, index, block, mask);
    case ControlKind::cluster_arrive:
      return arrive_at_cluster(warp, index, block, mask);
    case ControlKind::fence:
      note_fence(warp, mask);
      return move_to(warp, index, block.next);
    case ControlKind::cluster_wait:
      return wait_for_cluster(warp, index, block, mask);
    case ControlKind::collective:
      return arrive_collective(warp, index, block, mask);
    case ControlKind::commit_group:
      warp.copies.commit(mask);
      return move_to(warp, index, block.next);
    case ControlKind::wait_group:
      warp.copies.wait(mask, control.groups, control.wait_all,
                       [&](const PendingCopy& copy, uint32_t due) { complete(warp, copy, due); });
      return move_to(warp, index, block.next);
    case ControlKind::trap:
      if (mask == 0) return move_to(warp, index, block.next);
      found(FindingKind::trap, launch_.ops[block.end], warp, mask);
      stop_ = true;
      return;
  }
}

}  // namespace tilec::ptx
