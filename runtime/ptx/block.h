// A block of threads at work: its warps, its shared memory, its barriers. One host thread owns a
// BlockRun, as one of a cluster (cluster.h), and runs one block after another in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ptx/cluster_shadow.h"
#include "runtime/ptx/copies.h"
#include "runtime/ptx/global_shadow.h"
#include "runtime/ptx/machine.h"
#include "runtime/ptx/mbarriers.h"
#include "runtime/ptx/pattern.h"
#include "runtime/ptx/program.h"
#include "runtime/ptx/schedule.h"
#include "runtime/ptx/shared_shadow.h"
#include "runtime/ptx/tracked.h"

namespace tilec::ptx {

/// What all blocks of a launch share; nothing in it changes while they run but global memory.
struct Launch {
  const Program* program = nullptr;
  const Code* code = nullptr;
  LaunchConfig config;
  Memory* memory = nullptr;
  std::vector<Op> ops;  // Code::ops with handlers
  std::vector<std::byte> parameters;
  std::vector<uint64_t> variables;     // addresses of Program::variables
  uint64_t shared_end = kSharedBegin;  // static + dynamic
  uint32_t threads_per_block = 1;
  uint32_t warps_per_block = 1;
  Schedule schedule{std::nullopt, 1};
  OwnerSites* sites = nullptr;  // with Checks::all
};

/// Lanes that are at the same place. `resume` is the block they go to next.
struct Split {
  uint32_t block = 0;
  uint32_t mask = 0;
  uint64_t last_run = 0;  // step of the warp at which it last ran
  uint32_t frame = 0;     // index into Warp::frames
  bool yielded = false;   // it only waits: others go first
};

/// A chain of calls that some lanes are in. Frame 0 is the entry.
struct CallFrame {
  uint32_t parent = 0;
  uint32_t resume = kNone;  // block to return to
  uint32_t depth = 0;
};

/// Lanes that wait at a barrier.
struct Waiting {
  uint32_t block = 0;  // where they go on
  uint32_t mask = 0;
  uint32_t frame = 0;
  uint32_t barrier = 0;  // 0…15; kCollective: for other lanes of the warp; kClusterBarrier
  uint32_t members = 0;  // of a collective: the lanes that have to come
  uint32_t op = 0;       // the barrier or collective
};
inline constexpr uint32_t kCollective = 16;
inline constexpr uint32_t kClusterBarrier = 17;
inline constexpr uint32_t kMaxBlockThreads = 1024;

/// Number -> x, y, z, x fastest.
inline std::array<uint32_t, 3> coordinates(uint64_t number,
                                           const std::array<uint32_t, 3>& extents) {
  const uint64_t xy = uint64_t{extents[0]} * extents[1];
  return {static_cast<uint32_t>(number % extents[0]),
          static_cast<uint32_t>(number / extents[0] % extents[1]),
          static_cast<uint32_t>(number / xy)};
}

class BlockRun;
class ClusterRun;

struct Warp {
  Lanes lanes;
  BlockRun* run = nullptr;
  uint32_t index = 0;
  uint32_t members = 0;  // lanes that are threads of the block
  uint32_t alive = 0;    // of these, the ones that have not left
  uint64_t steps = 0;
  uint32_t turn = 0;  // steps that a split kept waiting too long may still take
  std::vector<Split> ready;
  std::vector<Waiting> waiting;
  std::vector<CallFrame> frames;
  CopyQueue copies;
  Tracked tracked;
};

struct BlockCount {
  uint64_t warps = 0;
  uint64_t threads = 0;
  uint64_t divergent = 0;  // its branch parted the lanes
};

/// What one host thread has counted; sums over threads do not depend on who ran what.
struct RawCounts {
  std::vector<BlockCount> blocks;              // by CodeBlock
  std::vector<uint64_t> off;                   // lanes kept off by a guard, by op
  std::vector<MemoryCounts> accesses;          // by Access
  std::vector<MemoryCounts> async_sources;     // the global side of cp.async, by Access
  std::vector<uint64_t> matrix_multiply_adds;  // by op
  uint64_t warps = 0;
  uint64_t run_blocks = 0;

  void add(const RawCounts& other);
};

/// Findings of one host thread, folded by kind, instruction and instruction clashed with.
struct FoundSite {
  uint32_t op = kNone;
  uint64_t block = 0;   // number in the grid
  uint32_t thread = 0;  // number in the block
};
struct Found {
  FindingKind kind{};
  FoundSite site;
  FoundSite clash;
  Space space{};
  uint64_t address = 0;
  int bytes = 0;
  std::string detail;
  uint64_t count = 0;
};
class FoundList {
 public:
  /// Lanes of `count` threads; of equal findings the one of the least block and thread is shown.
  void add(Found found);
  void add(const FoundList& other);
  const std::vector<Found>& list() const { return list_; }

 private:
  std::vector<Found> list_;
};

/// The particulars of a finding.
struct Trouble {
  Space space = Space::none;
  uint64_t address = 0;
  int bytes = 0;
  std::string detail = {};
  FoundSite clash = {};
};

class BlockRun {
 public:
  explicit BlockRun(const Launch& launch);

  /// Begins block number `block` of the grid.
  void begin(uint64_t block);
  /// Runs it for about so many warp instructions; true if it has ended.
  bool advance(uint64_t instructions);
  bool ended() const { return ended_; }

  // cluster.cpp: as one of a cluster's blocks.
  void join(ClusterRun& cluster, uint32_t rank);
  ClusterRun* cluster() { return cluster_; }
  /// All it could do in its last turn was wait for other blocks of the cluster.
  bool idle() const { return idle_; }
  /// They never come: the block ends here.
  void give_up();
  void release_cluster_barrier();
  void found_of_cluster(uint32_t op, const std::string& detail);
  /// The thread, as it is about to be in shared memory: a fence before that does not cover it.
  Visitor visitor(uint32_t op, uint32_t warp, uint32_t lane);
  std::optional<VisitorClash> visited(size_t cell, const Visitor& by, bool write);
  ClusterShadow* cluster_shadow() { return cluster_shadow_.get(); }

  // What handlers need.
  const Launch& launch() const { return launch_; }
  const Code& code() const { return *launch_.code; }
  std::byte* shared() { return shared_.data(); }  // of address kSharedBegin
  uint64_t shared_bytes() const { return launch_.shared_end - kSharedBegin; }
  std::byte* local(const Warp& warp, uint32_t lane);
  uint64_t local_bytes() const { return code().local_end - kLocalBegin; }
  uint64_t block() const { return block_; }
  void found(FindingKind kind, const Op& op, const Warp& warp, uint32_t mask,
             const Trouble& trouble = {});

  // With Checks::all only.
  SharedShadow& shared_shadow() { return *shared_shadow_; }
  uint32_t grain() const { return shared_shadow_->grain(); }
  uint8_t* local_written(const Warp& warp, uint32_t lane);
  Owner owner(uint32_t op);
  /// The block has come by an atomic or volatile access of global memory.
  void note_sync();
  std::vector<Clash> clashes;  // of the access at hand
  bool watched() const { return shared_shadow_ != nullptr; }
  void begin_copy(const Op& op, const Warp& warp, uint32_t lane, uint64_t offset, uint32_t bytes);

  Mbarriers mbarriers;
  /// The warp at work only waits: its turn may end.
  void yield() { yield_ = true; }
  /// All cp.async of these lanes arrive.
  void complete_copies(Warp& warp, uint32_t mask);

  RawCounts counts;
  FoundList findings;
  std::vector<Pattern> patterns;                   // by Access, for the shared or only side
  std::vector<Pattern> source_patterns;            // for the global side of cp.async
  std::vector<const Allocation*> last_allocation;  // by Access

 private:
  struct Barrier {
    uint32_t arrived = 0;   // threads
    uint32_t expected = 0;  // 0: all that are alive
    uint32_t op = kNone;
    uint32_t came = 0;     // warps that have arrived
    uint32_t waiting = 0;  // of these, those that wait
    uint32_t truths = 0;   // bar.red: threads whose predicate holds
  };

  void start();
  void start_warp(Warp& warp);
  void fill_constants(Warp& warp);
  void run_warp(Warp& warp, uint64_t instructions);
  bool all_yielded(Warp& warp);
  size_t pick(Warp& warp);
  void execute(Warp& warp, const Split& split, const CodeBlock& block);
  void control(Warp& warp, size_t index, const CodeBlock& block);
  void move_to(Warp& warp, size_t index, uint32_t block);
  void leave(Warp& warp, size_t index, uint32_t mask);
  void arrive(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask);
  void arrive_collective(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask);
  std::pair<uint32_t, uint32_t> members_of(const Warp& warp, const Collective& how,
                                           uint32_t left) const;
  void release_collectives(Warp& warp);
  void carry_out(Warp& warp, uint32_t op, uint32_t mask);
  void park(Warp& warp, size_t index, uint32_t mask, uint32_t next);
  void resume(Warp& warp, const Waiting& waited);
  void call(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask);
  void branch(Warp& warp, size_t index, uint32_t target, uint32_t mask);
  void branch_by_index(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask);
  uint32_t frame_of(Warp& warp, uint32_t parent, uint32_t resume);
  void try_release(uint32_t barrier);
  void complete(const Warp& warp, const PendingCopy& copy, uint32_t mask);
  void write_reduction(Warp& warp, const Waiting& waited, const Barrier& barrier);
  void report_stuck();
  void end();
  void arrive_at_cluster(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask);
  void wait_for_cluster(Warp& warp, size_t index, const CodeBlock& block, uint32_t mask);
  void note_fence(const Warp& warp, uint32_t mask);
  void has_waited(uint32_t thread);
  bool waits_for_cluster() const;

  const Launch& launch_;
  uint64_t block_ = 0;
  uint64_t executed_ = 0;  // warp instructions of this block
  bool stop_ = false;
  bool yield_ = false;
  uint32_t alive_threads_ = 0;
  std::vector<Warp> warps_;
  std::vector<uint32_t> order_;     // of the warps' turns in this round
  uint64_t round_ = 0;              // of turns of all warps
  std::vector<std::byte> storage_;  // registers of all warps
  std::vector<uint32_t> predicates_;
  std::vector<std::byte> shared_;
  std::vector<std::byte> local_;
  std::vector<uint8_t> local_written_;
  std::unique_ptr<SharedShadow> shared_shadow_;
  std::vector<uint32_t> site_of_op_;  // OwnerSites number, by op; 0: none since the last sync
  std::vector<uint32_t> open_sites_;  // those
  uint64_t synchronised_ = 0;
  std::array<Barrier, 16> barriers_{};
  ClusterRun* cluster_ = nullptr;
  uint32_t rank_ = 0;  // in it
  bool ended_ = false;
  bool idle_ = false;
  std::vector<uint32_t> arrivals_;  // at the cluster's barrier, by thread
  std::vector<uint32_t> waits_;     // phases that were waited for, by thread
  std::vector<bool> fenced_;        // has released since it was in shared memory, by thread
  uint32_t latest_wait_ = 0;        // the most of those
  std::vector<Visitor> visits_;     // the last of each other block in this one's shared memory
  std::unique_ptr<ClusterShadow> cluster_shadow_;
};

inline uint32_t popcount(uint32_t mask) {
  return static_cast<uint32_t>(__builtin_popcount(mask));
}

/// Handlers of `op` for this launch: lane kernels, accesses, guards.
void bind(const Code& code, const LaunchConfig& config, std::vector<Op>& ops);

/// The lanes of `mask` whose guard holds.
inline uint32_t guarded(const OpInfo& info, const Lanes& lanes, uint32_t mask) {
  if (info.guard == kNone) return mask;
  const uint32_t predicate = lanes.predicates[info.guard];
  return mask & (info.guard_negated ? ~predicate : predicate);
}

}  // namespace tilec::ptx
