#include "runtime/ptx/access_checks.h"

#include <cstring>

#include "runtime/ptx/cluster.h"
#include "runtime/ptx/global_shadow.h"

namespace tilec::ptx {
namespace {

void report(const Op& op, Lanes& lanes, const std::vector<Clash>& clashes, uint32_t bytes) {
  BlockRun& run = *lanes.warp->run;
  for (const Clash& clash : clashes) {
    Trouble trouble{.space = Space::shared,
                    .address = kSharedBegin + clash.offset,
                    .bytes = static_cast<int>(bytes)};
    if (clash.with.op != kNone)
      trouble.clash = {.op = clash.with.op,
                       .block = clash.with.rank == Accessor::kOwnBlock
                                    ? run.block()
                                    : run.cluster()->block(clash.with.rank).block(),
                       .thread = clash.with.warp * uint32_t{kLanes} + clash.with.lane};
    run.found(clash.kind, op, *lanes.warp, 1u << clash.lane, trouble);
  }
}

// The pattern that was counted holds the grains, unless a lane was faulty and has to be left out.
Pattern good_pattern(BlockRun& run, uint32_t index, const Places& places, uint32_t good,
                     uint32_t bytes) {
  Pattern own;
  pattern_of(own, PatternKind::wavefronts, places, good, bytes, run.grain());
  (void)index;
  return own;
}

void check_shared(const Op& op, Lanes& lanes, const Access& access, const Places& places,
                  uint32_t good) {
  BlockRun& run = *lanes.warp->run;
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  const Pattern& counted = run.patterns[op.extra];
  Pattern own;
  if (counted.mask != good) own = good_pattern(run, op.extra, places, good, bytes);
  const Pattern& pattern = counted.mask == good ? counted : own;
  const uint64_t offset = places[first_lane(good)] - kSharedBegin;
  const Accessor by{.op = op.index, .warp = static_cast<uint8_t>(lanes.warp->index)};
  std::vector<Clash>& clashes = run.clashes;
  clashes.clear();
  if (access.kind != AccessKind::store)
    run.shared_shadow().read(pattern, offset, by, access.strong, clashes);
  if (access.kind != AccessKind::load)
    run.shared_shadow().write(pattern, offset, by, access.strong, clashes);
  if (!clashes.empty()) report(op, lanes, clashes, bytes);
}

void check_global_lane(const Op& op, Lanes& lanes, uint64_t place, size_t lane, uint32_t bytes,
                       bool write, bool strong) {
  BlockRun& run = *lanes.warp->run;
  Allocation& allocation = *run.launch().memory->find(place);
  const uint64_t offset = place - allocation.begin;
  Trouble trouble{.space = Space::global, .address = place, .bytes = static_cast<int>(bytes)};
  if (write) {
    set_written(allocation, offset, bytes);
  } else if (!is_written(allocation, offset, bytes)) {
    run.found(FindingKind::unwritten_memory, op, *lanes.warp, 1u << lane, trouble);
  }
  if (!allocation.owners || strong) return;
  const Owner by = run.owner(op.index);
  const OwnerSites& sites = *run.launch().sites;
  const uint32_t clash = write ? own_write(allocation, offset, bytes, by, sites)
                               : own_read(allocation, offset, bytes, by, sites);
  if (clash == 0) return;
  const OwnerSite site = sites.get(clash);
  trouble.clash = {.op = site.op, .block = site.block};
  run.found(FindingKind::global_race, op, *lanes.warp, 1u << lane, trouble);
}

void check_local(const Op& op, Lanes& lanes, const Access& access, const Places& places,
                 uint32_t good) {
  BlockRun& run = *lanes.warp->run;
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  for (uint32_t left = good; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    uint8_t* written =
        run.local_written(*lanes.warp, static_cast<uint32_t>(lane)) + (places[lane] - kLocalBegin);
    if (access.kind != AccessKind::load)
      std::memset(written, 1, bytes);
    else if (std::memchr(written, 0, bytes))
      run.found(FindingKind::unwritten_memory, op, *lanes.warp, 1u << lane,
                {.space = Space::local, .address = places[lane], .bytes = static_cast<int>(bytes)});
  }
}

}  // namespace

// One lane's copy of a whole stretch of shared memory.
void BlockRun::begin_copy(const Op& op, const Warp& warp, uint32_t lane, uint64_t offset,
                          uint32_t bytes) {
  Pattern pattern;
  for (uint32_t at = 0; at < bytes / grain(); ++at)
    pattern.grains.push_back(
        {.offset = static_cast<int32_t>(at), .lane = static_cast<uint8_t>(lane)});
  clashes.clear();
  shared_shadow_->begin_copy(pattern, offset,
                             {.op = op.index, .warp = static_cast<uint8_t>(warp.index)}, clashes);
  Lanes lanes = warp.lanes;
  if (!clashes.empty()) report(op, lanes, clashes, bytes);
}

void check_access(const Op& op, Lanes& lanes, const Access& access, Space space,
                  const Places& places, uint32_t good) {
  if (space == Space::shared) return check_shared(op, lanes, access, places, good);
  if (space == Space::local) return check_local(op, lanes, access, places, good);
  if (space == Space::parameter) return;
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  for (uint32_t left = good; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    // An atomic reads and writes.
    if (access.kind == AccessKind::atomic)
      check_global_lane(op, lanes, places[lane], lane, bytes, false, true);
    check_global_lane(op, lanes, places[lane], lane, bytes, access.kind != AccessKind::load,
                      access.strong);
  }
}

void check_contested(const Op& op, Lanes& lanes, const Access& access, Space space,
                     const Places& places, const Places& hosts, uint32_t good) {
  if (space == Space::local || space == Space::parameter) return;
  BlockRun& run = *lanes.warp->run;
  for (uint32_t left = good; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    for (size_t k = 0; k < access.count; ++k) {
      const auto* there = reinterpret_cast<const std::byte*>(hosts[lane]) + k * access.bytes;
      const std::byte* mine = lanes.registers + access.data[k] + lane * access.register_bytes;
      if (std::memcmp(there, mine, access.bytes) == 0) continue;
      const bool shared = space == Space::shared;
      run.found(shared ? FindingKind::shared_race : FindingKind::global_race, op, *lanes.warp,
                1u << lane,
                {.space = space,
                 .address = places[lane],
                 .bytes = access.bytes * access.count,
                 .detail = "another lane writes another value there in this very instruction"});
      break;
    }
  }
}

void check_copy(const Op& op, Lanes& lanes, const Access& access, const Places& to,
                uint32_t good_to, const Places& from, uint32_t good_from, const PendingCopy& copy) {
  BlockRun& run = *lanes.warp->run;
  for (uint32_t left = good_from; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    check_global_lane(op, lanes, from[lane], lane, copy.valid[lane], false, false);
  }
  if (good_to == 0) return;
  const Pattern& counted = run.patterns[op.extra];
  Pattern own;
  if (counted.mask != good_to) own = good_pattern(run, op.extra, to, good_to, access.copy_bytes);
  run.clashes.clear();
  run.shared_shadow().begin_copy(
      counted.mask == good_to ? counted : own, to[first_lane(good_to)] - kSharedBegin,
      {.op = op.index, .warp = static_cast<uint8_t>(lanes.warp->index)}, run.clashes);
  if (!run.clashes.empty()) report(op, lanes, run.clashes, access.copy_bytes);
}

}  // namespace tilec::ptx
