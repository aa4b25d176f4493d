// Blocks of one cluster: they run together on one host thread, meet at the cluster's barrier, and
// reach each other's shared memory. A launch without clusters is one of clusters of one block.
//
// Order between blocks is kept by the phases of that barrier. An access that a thread makes before
// its arrival number e comes before all that another block's thread does after it has waited for
// phase e, or a later one, if the arrivals that it rests on were not .relaxed, or came after a
// fence that covers the access. Nothing else orders blocks: mbarriers and atomics of another
// block's memory are not executed here.
//
// A shared::cluster address is that of mapa: the block's rank + 1 above bit 24, the place in its
// shared memory below; 0 above bit 24 is the block's own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/ptx/block.h"

namespace tilec::ptx {

inline constexpr uint64_t kRankUnit = 1 << 24;  // of a shared::cluster address
inline constexpr uint32_t kMostOfCluster = 16;  // blocks

class ClusterRun {
 public:
  explicit ClusterRun(const Launch& launch);

  /// Begins cluster number `cluster`, x fastest.
  void begin(uint64_t cluster);
  /// Runs each of its blocks for about so many warp instructions; true if all have ended.
  bool advance(uint64_t instructions);

  uint32_t size() const { return static_cast<uint32_t>(blocks_.size()); }
  BlockRun& block(uint32_t rank) { return *blocks_[rank]; }
  const BlockRun& block(uint32_t rank) const { return *blocks_[rank]; }

  /// Phases of the barrier that are complete.
  uint32_t phase() const { return phase_; }
  /// `threads` threads of a block have arrived for this phase by `op`.
  void arrive(uint32_t rank, uint32_t threads, bool relaxed, uint32_t op);
  /// `threads` have ended, `arrived` of them after they had arrived.
  void leave(uint32_t threads, uint32_t arrived);
  /// Whether what a thread of block `rank` did before its arrival number `epoch` comes before
  /// what another block's thread does that has waited `waits` times.
  bool ordered(uint32_t rank, uint32_t epoch, uint32_t waits) const;

 private:
  void try_release();

  const Launch& launch_;
  std::vector<std::unique_ptr<BlockRun>> blocks_;
  uint32_t phase_ = 0;
  uint32_t arrived_ = 0;  // threads, for this phase
  uint32_t alive_ = 0;
  uint32_t missing_ = 0;                    // have ended without arriving
  uint32_t last_op_ = kNone;                // that arrived
  std::vector<std::vector<bool>> relaxed_;  // [phase][rank]: some arrival was
};

/// Number -> blocks: that of rank `rank` in cluster `cluster` of the grid.
uint64_t block_of_cluster(const Launch& launch, uint64_t cluster, uint32_t rank);

/// A load or store of the lanes of `mask` in the shared memory of block `rank` of the cluster;
/// `places` are addresses in it.
void access_other_block(const Op& op, Lanes& lanes, const Places& places, uint32_t mask,
                        uint64_t rank, bool counts, bool checks);

}  // namespace tilec::ptx
