#include "runtime/ptx/copies.h"

namespace tilec::ptx {

PendingCopy& CopyQueue::add() {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(pool_.size()));
    pool_.emplace_back();
    uses_.push_back(0);
  }
  added_ = free_.back();
  return pool_[added_];
}

void CopyQueue::open(uint32_t mask) {
  if (mask == 0) return;
  free_.pop_back();
  uses_[added_] = 1;
  entries_.push_back({.slot = added_, .mask = mask});
}

// Lanes that have committed different numbers of groups before have this one under different
// numbers, so a copy is parted by number.
void CopyQueue::commit(uint32_t mask) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].group != kNone) continue;
    uint32_t left = entries_[i].mask & mask;
    while (left != 0) {
      const uint32_t number = groups_[static_cast<size_t>(__builtin_ctz(left))];
      uint32_t same = 0;
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        if ((left >> lane & 1) && groups_[lane] == number) same |= 1u << lane;
      left &= ~same;
      if (same == entries_[i].mask) {
        entries_[i].group = number;
        break;
      }
      entries_.push_back({.slot = entries_[i].slot, .mask = same, .group = number});
      ++uses_[entries_[i].slot];
      entries_[i].mask &= ~same;
    }
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) groups_[lane] += mask >> lane & 1;
}

uint32_t CopyQueue::due(const Entry& entry, uint32_t mask, uint32_t open, bool all) const {
  const uint32_t lanes = entry.mask & mask;
  if (entry.group == kNone) return all ? lanes : 0;
  uint32_t out = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<size_t>(__builtin_ctz(left));
    if (uint64_t{entry.group} + open < groups_[lane]) out |= 1u << lane;
  }
  return out;
}

void CopyQueue::clear() {
  entries_.clear();
  groups_ = {};
  free_.clear();
  for (uint32_t slot = 0; slot < pool_.size(); ++slot) free_.push_back(slot);
}

}  // namespace tilec::ptx
