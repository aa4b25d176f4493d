#include "runtime/ptx/cluster.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilec::ptx {

uint64_t block_of_cluster(const Launch& launch, uint64_t cluster, uint32_t rank) {
  const std::array<uint32_t, 3>& size = launch.code->cluster;
  const std::array<uint32_t, 3>& grid = launch.config.grid;
  std::array<uint32_t, 3> clusters{};
  for (size_t axis = 0; axis < 3; ++axis) clusters[axis] = grid[axis] / size[axis];
  const std::array<uint32_t, 3> first = coordinates(cluster, clusters);
  const std::array<uint32_t, 3> within = coordinates(rank, size);
  std::array<uint64_t, 3> at{};
  for (size_t axis = 0; axis < 3; ++axis)
    at[axis] = uint64_t{first[axis]} * size[axis] + within[axis];
  return at[0] + grid[0] * (at[1] + grid[1] * at[2]);
}

ClusterRun::ClusterRun(const Launch& launch) : launch_(launch) {
  const std::array<uint32_t, 3>& size = launch.code->cluster;
  const uint32_t blocks = size[0] * size[1] * size[2];
  for (uint32_t rank = 0; rank < blocks; ++rank)
    blocks_.push_back(std::make_unique<BlockRun>(launch));
  for (uint32_t rank = 0; rank < blocks; ++rank) blocks_[rank]->join(*this, rank);
}

void ClusterRun::begin(uint64_t cluster) {
  phase_ = arrived_ = missing_ = 0;
  last_op_ = kNone;
  relaxed_.clear();
  alive_ = launch_.threads_per_block * size();
  for (uint32_t rank = 0; rank < size(); ++rank)
    blocks_[rank]->begin(block_of_cluster(launch_, cluster, rank));
}

// Where no block can go on, those that are left wait for threads that never come.
bool ClusterRun::advance(uint64_t instructions) {
  bool progress = false;
  bool left = false;
  for (const auto& block : blocks_) {
    if (block->ended()) continue;
    const bool ended = block->advance(instructions);
    progress |= ended || !block->idle();
    left |= !ended;
  }
  if (!progress)
    for (const auto& block : blocks_)
      if (!block->ended()) block->give_up();
  return !left || !progress;
}

void ClusterRun::arrive(uint32_t rank, uint32_t threads, bool relaxed, uint32_t op) {
  if (relaxed) {
    relaxed_.resize(std::max<size_t>(relaxed_.size(), phase_ + 1));
    relaxed_[phase_].resize(size());
    relaxed_[phase_][rank] = true;
  }
  arrived_ += threads;
  last_op_ = op;
  try_release();
}

void ClusterRun::leave(uint32_t threads, uint32_t arrived) {
  alive_ -= threads;
  arrived_ -= arrived;
  missing_ += threads - arrived;
  try_release();
}

void ClusterRun::try_release() {
  if (arrived_ == 0 || arrived_ < alive_) return;
  if (missing_ > 0)
    blocks_.front()->found_of_cluster(
        last_op_, fmt::format("{} of {} threads of the cluster have left before", missing_,
                              launch_.threads_per_block * size()));
  arrived_ = 0;
  ++phase_;
  for (const auto& block : blocks_) block->release_cluster_barrier();
}

bool ClusterRun::ordered(uint32_t rank, uint32_t epoch, uint32_t waits) const {
  for (uint32_t phase = epoch; phase < waits; ++phase) {
    const bool relaxed =
        phase < relaxed_.size() && !relaxed_[phase].empty() && relaxed_[phase][rank];
    if (!relaxed) return true;
  }
  return false;
}

// barrier.cluster.arrive: lanes arrive each for itself, and go on.
void BlockRun::arrive_at_cluster(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask) {
  const Control& control = launch_.code->controls[block.control];
  uint32_t twice = 0;
  bool relaxed = false;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const uint32_t thread = warp.index * kLanes + static_cast<uint32_t>(first_lane(left));
    if (arrivals_[thread] > waits_[thread])
      twice |= left & (0 - left);
    else
      ++arrivals_[thread];
    relaxed |= control.relaxed && !fenced_[thread];
  }
  if (twice != 0)
    found(FindingKind::bad_barrier, launch_.ops[block.end], warp, twice,
          {.detail = "it arrives at the cluster's barrier again before it has waited"});
  move_to(warp, index, block.next);
  if (const uint32_t fresh = mask & ~twice; fresh != 0)
    cluster_->arrive(rank_, popcount(fresh), relaxed, block.end);
}

// barrier.cluster.wait: for the phase that the lane has arrived for.
void BlockRun::wait_for_cluster(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask) {
  const Control& control = launch_.code->controls[block.control];
  uint32_t early = 0, staying = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const uint32_t bit = left & (0 - left);
    const uint32_t thread = warp.index * kLanes + static_cast<uint32_t>(first_lane(left));
    if (arrivals_[thread] == waits_[thread])
      early |= bit;
    else if (arrivals_[thread] > cluster_->phase())
      staying |= bit;
    else
      has_waited(thread);
  }
  if (early != 0)
    found(FindingKind::bad_barrier, launch_.ops[block.end], warp, early,
          {.detail = "it waits at the cluster's barrier and has not arrived"});
  if (control.aligned)
    for (const Waiting& other : warp.waiting)
      if (other.barrier == kClusterBarrier && other.op != block.end && staying != 0)
        found(FindingKind::divergent_barrier, launch_.ops[block.end], warp, staying,
              {.detail = fmt::format("other lanes of this warp wait at line {}",
                                     launch_.code->infos[other.op].line)});
  if (shared_shadow_) shared_shadow_->sync_warp(warp.index);
  if (staying == 0) return move_to(warp, index, block.next);
  warp.waiting.push_back({.block = block.next,
                          .mask = staying,
                          .frame = warp.ready[index].frame,
                          .barrier = kClusterBarrier,
                          .op = block.end});
  park(warp, index, staying, block.next);
}

void BlockRun::note_fence(const Warp& warp, uint32_t mask) {
  for (uint32_t left = mask; left != 0; left &= left - 1)
    fenced_[warp.index * kLanes + first_lane(left)] = true;
}

void BlockRun::has_waited(uint32_t thread) {
  latest_wait_ = std::max(latest_wait_, ++waits_[thread]);
}

// A phase is complete, for whoever waits for it. It is a barrier of each block too.
void BlockRun::release_cluster_barrier() {
  if (shared_shadow_) shared_shadow_->meet_all();
  if (cluster_->size() > 1) note_sync();  // it orders accesses of global memory too
  for (Warp& warp : warps_) {
    for (size_t i = 0; i < warp.waiting.size();) {
      if (warp.waiting[i].barrier != kClusterBarrier) {
        ++i;
        continue;
      }
      const Waiting waited = warp.waiting[i];
      warp.waiting.erase(warp.waiting.begin() + static_cast<ptrdiff_t>(i));
      for (uint32_t left = waited.mask; left != 0; left &= left - 1)
        has_waited(warp.index * kLanes + static_cast<uint32_t>(first_lane(left)));
      resume(warp, waited);
    }
  }
}

bool BlockRun::waits_for_cluster() const {
  return std::ranges::any_of(warps_, [](const Warp& warp) {
    return std::ranges::any_of(
        warp.waiting, [](const Waiting& waiting) { return waiting.barrier == kClusterBarrier; });
  });
}

void BlockRun::join(ClusterRun& cluster, uint32_t rank) {
  cluster_ = &cluster;
  rank_ = rank;
  arrivals_.resize(launch_.threads_per_block);
  waits_.resize(launch_.threads_per_block);
  fenced_.resize(launch_.threads_per_block);
  visits_.resize(cluster.size());
  if (!shared_shadow_ || cluster.size() == 1) return;
  cluster_shadow_ = std::make_unique<ClusterShadow>(cluster, shared_shadow_->cells());
  shared_shadow_->watch(this);
}

Visitor BlockRun::visitor(uint32_t op, uint32_t warp, uint32_t lane) {
  const uint32_t thread = warp * kLanes + lane;
  fenced_[thread] = false;
  return {.op = op,
          .rank = rank_,
          .thread = thread,
          .epoch = arrivals_[thread],
          .waits = waits_[thread]};
}

void BlockRun::found_of_cluster(uint32_t op, const std::string& detail) {
  found(FindingKind::missed_barrier, launch_.ops[op], warps_.front(), 1, {.detail = detail});
}

// The block is at its end: whoever of another has been in its shared memory must be done, by a
// barrier that one of its threads has waited for. A relaxed arrival will do: the thread has used
// what it has read.
void BlockRun::end() {
  ended_ = true;
  ++counts.run_blocks;
  counts.warps += warps_.size();
  for (const Visitor& visit : visits_) {
    if (visit.op == kNone || visit.epoch < latest_wait_) continue;
    BlockRun& other = cluster_->block(visit.rank);
    other.found(
        FindingKind::shared_race, launch_.ops[visit.op], other.warps_[visit.thread / kLanes],
        1u << visit.thread % kLanes,
        {.space = Space::shared, .detail = "the block whose shared memory it is may have ended"});
  }
}

void BlockRun::give_up() {
  report_stuck();
  stop_ = true;
  end();
}

}  // namespace tilec::ptx
