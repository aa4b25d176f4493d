// cp.async of one warp: copies on their way, and the groups they were committed to. A copy is
// carried out when its group is waited for, not before, so that a wait that is missing or one too
// short shows in the results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/ptx/lanes.h"
#include "runtime/ptx/program.h"

namespace tilec::ptx {

struct PendingCopy {
  uint32_t op = 0;
  uint8_t bytes = 0;                            // a lane's
  std::array<uint32_t, kLanes> to{};            // offsets into shared memory
  std::array<const std::byte*, kLanes> from{};  // null: zeros
  std::array<uint8_t, kLanes> valid{};          // bytes that are read; the rest are zeros
};

class CopyQueue {
 public:
  /// Room for a copy, to be filled in and then opened for the lanes of `mask`.
  PendingCopy& add();
  void open(uint32_t mask);

  /// cp.async.commit_group of the lanes of `mask`: each lane counts its own groups.
  void commit(uint32_t mask);

  /// Calls `complete(copy, lanes)` for what lanes of `mask` wait for: groups but the last `open`,
  /// and with `all` also what is in no group yet.
  template <class Complete>
  void wait(uint32_t mask, uint32_t open, bool all, Complete&& complete);

  void clear();

 private:
  struct Entry {
    uint32_t slot = 0;
    uint32_t mask = 0;
    uint32_t group = kNone;  // number among its lanes' groups; kNone: in none yet
  };

  uint32_t due(const Entry& entry, uint32_t mask, uint32_t open, bool all) const;

  std::vector<PendingCopy> pool_;
  std::vector<uint32_t> uses_;  // entries of a slot
  std::vector<uint32_t> free_;
  std::vector<Entry> entries_;
  uint32_t added_ = 0;
  std::array<uint32_t, kLanes> groups_{};  // committed so far, by lane
};

template <class Complete>
void CopyQueue::wait(uint32_t mask, uint32_t open, bool all, Complete&& complete) {
  size_t kept = 0;
  for (Entry& entry : entries_) {
    if (const uint32_t lanes = due(entry, mask, open, all); lanes != 0) {
      complete(pool_[entry.slot], lanes);
      entry.mask &= ~lanes;
    }
    if (entry.mask != 0)
      entries_[kept++] = entry;
    else if (--uses_[entry.slot] == 0)
      free_.push_back(entry.slot);
  }
  entries_.resize(kept);
}

}  // namespace tilec::ptx
