#include "runtime/ptx/shared_shadow.h"

#include <algorithm>

#include "runtime/ptx/block.h"

namespace tilec::ptx {
namespace {

constexpr uint32_t kSeveral = 32;  // lanes, in a read record

}  // namespace

SharedShadow::SharedShadow(uint64_t bytes, uint32_t grain, uint32_t warps)
    : grain_(grain),
      warps_(warps),
      cells_(bytes / grain + 1),
      reads_(cells_.size() * warps),
      now_(warps, 1),
      known_(size_t{warps} * warps, 0) {}

void SharedShadow::reset() {
  std::fill(cells_.begin(), cells_.end(), Cell{});
  std::fill(reads_.begin(), reads_.end(), 0);
  std::fill(now_.begin(), now_.end(), 1);
  std::fill(known_.begin(), known_.end(), 0);
}

void SharedShadow::write_from_outside(size_t cell) {
  cells_[cell] = {.outside = true};
  std::fill_n(reads_.begin() + static_cast<ptrdiff_t>(cell * warps_), warps_, 0);
}

// What the block has never written is this shadow's to say.
void SharedShadow::tell_cluster(size_t index, const Grain& grain, Accessor by, bool write,
                                bool pending, std::vector<Clash>& clashes) {
  if (block_ == nullptr) return;
  const Visitor visitor = block_->visitor(by.op, by.warp, grain.lane);
  ClusterShadow& shadow = *block_->cluster_shadow();
  const auto found = write ? shadow.write(index, visitor, pending) : shadow.read(index, visitor);
  if (!found || found->with.op == kNone) return;
  clash(found->kind, index, grain,
        {.op = found->with.op,
         .warp = static_cast<uint8_t>(found->with.thread / kLanes),
         .lane = static_cast<uint8_t>(found->with.thread % kLanes),
         .rank = static_cast<uint8_t>(found->with.rank)},
        clashes);
}

void SharedShadow::clash(FindingKind kind, size_t index, const Grain& grain, Accessor with,
                         std::vector<Clash>& clashes) const {
  clashes.push_back({.kind = kind, .lane = grain.lane, .offset = index * grain_, .with = with});
}

void SharedShadow::read(const Pattern& pattern, uint64_t offset, Accessor by, bool strong,
                        std::vector<Clash>& clashes) {
  const size_t base = offset / grain_;
  for (const Grain& grain : pattern.grains) {
    const size_t index = base + static_cast<size_t>(static_cast<int64_t>(grain.offset));
    Cell& cell = cells_[index];
    by.lane = grain.lane;
    tell_cluster(index, grain, by, false, false, clashes);
    if (cell.pending) {
      clash(FindingKind::not_waited_for, index, grain, cell.writer, clashes);
    } else if (cell.outside) {
      // ordered, or not, by the cluster's barrier
    } else if (cell.time == 0) {
      clash(FindingKind::unwritten_memory, index, grain, {}, clashes);
    } else if (cell.strong && strong) {
      // What a volatile or atomic write tells, whoever reads it knows.
      uint32_t& known = known_[by.warp * warps_ + cell.writer.warp];
      if (cell.writer.warp != by.warp) known = std::max(known, cell.time);
    } else if (!ordered(cell.time, cell.writer.warp, cell.writer.lane, by) ||
               (grain.shared && cell.writer.warp == by.warp && cell.time == now_[by.warp])) {
      clash(FindingKind::shared_race, index, grain, cell.writer, clashes);
    }
    if (strong) continue;  // such a read races with weak writes alone, and those see the others
    uint32_t& record = reads_[index * warps_ + by.warp];
    const uint32_t time = now_[by.warp];
    const bool same = record >> 6 == time && (record & 63) != grain.lane;
    record = time << 6 | (grain.shared || same ? kSeveral : grain.lane);
    cell.read_op = by.op;
  }
}

void SharedShadow::check_write(Cell& cell, size_t index, const Grain& grain, Accessor by,
                               bool strong, std::vector<Clash>& clashes) {
  if (cell.pending) {
    clash(FindingKind::not_waited_for, index, grain, cell.writer, clashes);
  } else if (cell.time != 0 && !(cell.strong && strong) &&
             !ordered(cell.time, cell.writer.warp, cell.writer.lane, by)) {
    clash(FindingKind::shared_race, index, grain, cell.writer, clashes);
  }
  uint32_t* reads = reads_.data() + index * warps_;
  for (uint32_t warp = 0; warp < warps_; ++warp) {
    if (reads[warp] == 0) continue;
    const auto lane = static_cast<uint8_t>(reads[warp] & 63);
    if (!ordered(reads[warp] >> 6, static_cast<uint8_t>(warp), lane, by))
      clash(FindingKind::shared_race, index, grain,
            {.op = cell.read_op,
             .warp = static_cast<uint8_t>(warp),
             .lane = static_cast<uint8_t>(lane == kSeveral ? 0 : lane)},
            clashes);
    reads[warp] = 0;
  }
}

void SharedShadow::write(const Pattern& pattern, uint64_t offset, Accessor by, bool strong,
                         std::vector<Clash>& clashes) {
  const size_t base = offset / grain_;
  for (const Grain& grain : pattern.grains) {
    const size_t index = base + static_cast<size_t>(static_cast<int64_t>(grain.offset));
    Cell& cell = cells_[index];
    by.lane = grain.lane;
    check_write(cell, index, grain, by, strong, clashes);
    tell_cluster(index, grain, by, true, false, clashes);
    cell.time = now_[by.warp];
    cell.writer = by;
    cell.strong = strong;
    cell.pending = false;
    cell.outside = false;
  }
  if (strong) ++now_[by.warp];
}

void SharedShadow::begin_copy(const Pattern& pattern, uint64_t offset, Accessor by,
                              std::vector<Clash>& clashes) {
  const size_t base = offset / grain_;
  for (const Grain& grain : pattern.grains) {
    const size_t index = base + static_cast<size_t>(static_cast<int64_t>(grain.offset));
    Cell& cell = cells_[index];
    by.lane = grain.lane;
    check_write(cell, index, grain, by, false, clashes);
    tell_cluster(index, grain, by, true, true, clashes);
    cell.time = now_[by.warp];
    cell.writer = by;
    cell.strong = false;
    cell.pending = true;
    cell.outside = false;
  }
}

void SharedShadow::end_copy(uint64_t offset, uint32_t bytes, Accessor by) {
  const size_t first = offset / grain_;
  for (size_t index = first; index < first + std::max(1u, bytes / grain_); ++index) {
    Cell& cell = cells_[index];
    cell.time = now_[by.warp];
    cell.writer = by;
    cell.pending = false;
    if (block_ != nullptr)
      (void)block_->cluster_shadow()->write(index, block_->visitor(by.op, by.warp, by.lane));
  }
}

void SharedShadow::release(uint32_t warp, std::vector<uint32_t>& clock) {
  clock.resize(warps_, 0);
  for (uint32_t v = 0; v < warps_; ++v) clock[v] = std::max(clock[v], known_[warp * warps_ + v]);
  clock[warp] = std::max(clock[warp], now_[warp]++);
}

void SharedShadow::acquire(uint32_t warp, const std::vector<uint32_t>& clock) {
  for (uint32_t v = 0; v < clock.size(); ++v) {
    uint32_t& known = known_[warp * warps_ + v];
    known = std::max(known, clock[v]);
  }
  ++now_[warp];  // lanes of the warp that waited are ordered too
}

void SharedShadow::meet_all() {
  meet(warps_ == 32 ? ~0u : (1u << warps_) - 1);
}

void SharedShadow::meet(uint32_t warps) {
  pass_on(warps, warps);
}

void SharedShadow::pass_on(uint32_t from, uint32_t to) {
  // What all that arrive know together, themselves included, those that go on know too.
  std::vector<uint32_t> together(warps_, 0);
  for (uint32_t w = 0; w < warps_; ++w) {
    if (!(from >> w & 1)) continue;
    for (uint32_t v = 0; v < warps_; ++v)
      together[v] = std::max(together[v], known_[w * warps_ + v]);
    together[w] = std::max(together[w], now_[w]);
  }
  for (uint32_t w = 0; w < warps_; ++w) {
    if (to >> w & 1)
      for (uint32_t v = 0; v < warps_; ++v)
        known_[w * warps_ + v] = std::max(known_[w * warps_ + v], together[v]);
    if (from >> w & 1) ++now_[w];
  }
}

}  // namespace tilec::ptx
