// What is known of a block's shared memory: who wrote each grain of it last, who has read it since,
// and what orders them.
//
// Order is kept by vector clocks over warps. A warp's clock goes up whenever it passes something
// on: at a barrier, at a warp barrier, at an atomic or volatile write. `known_[w][v]` is the last
// time of v that w has heard of. An access of w is ordered after one that v made at time t if
// t <= known_[w][v]; within a warp, if the lane is the same or the warp's clock has moved on.
// Converged execution orders nothing: since Volta lanes of a warp may run apart.
//
// A cp.async owns its bytes from where it is issued until its thread waits for it: whoever touches
// them in between, that thread included, sees what the copy has not brought yet.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/findings.h"
#include "runtime/ptx/pattern.h"
#include "runtime/ptx/program.h"

namespace tilec::ptx {

class BlockRun;

/// Who makes an access, or made one.
struct Accessor {
  uint32_t op = kNone;
  uint8_t warp = 0;
  uint8_t lane = 0;
  uint8_t rank = kOwnBlock;  // of its block in the cluster
  static constexpr uint8_t kOwnBlock = 255;
};

/// What an access clashes with.
struct Clash {
  FindingKind kind{};
  uint32_t lane = 0;    // at fault
  uint64_t offset = 0;  // bytes from the begin of shared memory
  Accessor with;        // op kNone: nothing (memory never written)
};

class SharedShadow {
 public:
  /// `grain`: bytes that are watched together; no access of the kernel is smaller.
  SharedShadow(uint64_t bytes, uint32_t grain, uint32_t warps);

  void reset();  // for the next block
  uint32_t grain() const { return grain_; }

  /// A load or store of `by.warp` with `pattern`, whose first lane is at byte `offset`. `strong`:
  /// volatile, relaxed, acquire, release or atomic. Clashes are added to `clashes`.
  void read(const Pattern& pattern, uint64_t offset, Accessor by, bool strong,
            std::vector<Clash>& clashes);
  void write(const Pattern& pattern, uint64_t offset, Accessor by, bool strong,
             std::vector<Clash>& clashes);

  /// A cp.async of one lane, from its issue to its arrival.
  void begin_copy(const Pattern& pattern, uint64_t offset, Accessor by,
                  std::vector<Clash>& clashes);
  void end_copy(uint64_t offset, uint32_t bytes, Accessor by);

  /// In a cluster: what `block`, whose memory it is, does there is told to its ClusterShadow too,
  /// and what that finds is added.
  void watch(BlockRun* block) { block_ = block; }
  size_t cells() const { return cells_.size(); }
  /// Another block has written there; its ClusterShadow knows of it.
  void write_from_outside(size_t cell);
  /// All warps have met at a barrier of the cluster.
  void meet_all();

  /// All warps of `warps` (a bit each) have met at a barrier.
  void meet(uint32_t warps);
  /// Warps of `from` have arrived, warps of `to` go on: bar.arrive.
  void pass_on(uint32_t from, uint32_t to);
  /// An mbarrier's clock: `warp` arrives and leaves in it what it knows, or waits and learns it.
  void release(uint32_t warp, std::vector<uint32_t>& clock);
  void acquire(uint32_t warp, const std::vector<uint32_t>& clock);
  void sync_warp(uint32_t warp) { ++now_[warp]; }

 private:
  struct Cell {
    uint32_t time = 0;  // of the last write; 0: never written
    Accessor writer;
    bool strong = false;
    bool pending = false;
    bool outside = false;  // written by another block
    uint32_t read_op = kNone;
  };

  bool ordered(uint32_t time, uint8_t warp, uint8_t lane, const Accessor& by) const {
    if (warp == by.warp) return lane == by.lane || time < now_[warp];
    return time <= known_[by.warp * warps_ + warp];
  }
  void check_write(Cell& cell, size_t index, const Grain& grain, Accessor by, bool strong,
                   std::vector<Clash>& clashes);
  void tell_cluster(size_t index, const Grain& grain, Accessor by, bool write, bool pending,
                    std::vector<Clash>& clashes);
  void clash(FindingKind kind, size_t index, const Grain& grain, Accessor with,
             std::vector<Clash>& clashes) const;

  uint32_t grain_;
  uint32_t warps_;
  BlockRun* block_ = nullptr;  // null: of no cluster
  std::vector<Cell> cells_;
  std::vector<uint32_t> reads_;  // [cell][warp]: time << 6 | lane, lane 32: several; 0: none
  std::vector<uint32_t> now_;    // clock of each warp, from 1
  std::vector<uint32_t> known_;  // [warp][warp]
};

}  // namespace tilec::ptx
