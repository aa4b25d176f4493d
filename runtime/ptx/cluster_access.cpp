// Loads and stores in the shared memory of another block of the cluster.
#include <fmt/format.h>

#include "runtime/ptx/access.h"
#include "runtime/ptx/access_checks.h"
#include "runtime/ptx/cluster.h"

namespace tilec::ptx {
namespace {

alignas(64) constexpr std::array<std::byte, 64> kZeros{};  // faulty loads read here

void complain(const Op& op, Lanes& lanes, uint32_t mask, const Places& places, uint32_t bytes,
              FindingKind kind, std::string detail) {
  lanes.warp->run->found(kind, op, *lanes.warp, mask,
                         {.space = Space::shared,
                          .address = places[first_lane(mask)],
                          .bytes = static_cast<int>(bytes),
                          .detail = std::move(detail)});
}

// The lanes whose places are good, with their hosts.
uint32_t place_there(const Op& op, Lanes& lanes, const Places& places, uint32_t mask, uint64_t rank,
                     uint32_t bytes, Places& hosts) {
  ClusterRun& cluster = *lanes.warp->run->cluster();
  if (rank >= cluster.size()) {
    complain(op, lanes, mask, places, bytes, FindingKind::out_of_bounds,
             fmt::format("block {} of a cluster of {}", rank, cluster.size()));
    return 0;
  }
  BlockRun& there = cluster.block(static_cast<uint32_t>(rank));
  if (there.ended()) {
    complain(op, lanes, mask, places, bytes, FindingKind::shared_race,
             "the block whose shared memory it is has ended");
    return 0;
  }
  shift(places, reinterpret_cast<uint64_t>(there.shared()) - kSharedBegin, hosts);
  return place_in_shared(op, lanes, places, mask, bytes, there.shared_bytes());
}

void check_there(const Op& op, Lanes& lanes, const Access& access, const Places& places,
                 uint32_t good, BlockRun& there) {
  BlockRun& run = *lanes.warp->run;
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  Pattern pattern;
  pattern_of(pattern, PatternKind::wavefronts, places, good, bytes, run.grain());
  const uint64_t base = (places[first_lane(good)] - kSharedBegin) / run.grain();
  for (const Grain& grain : pattern.grains) {
    const size_t cell = base + static_cast<size_t>(static_cast<int64_t>(grain.offset));
    const Visitor by = run.visitor(op.index, lanes.warp->index, grain.lane);
    const bool write = access.kind == AccessKind::store;
    const auto clash = there.visited(cell, by, write);
    if (!clash) continue;
    Trouble trouble{.space = Space::shared,
                    .address = kSharedBegin + cell * run.grain(),
                    .bytes = static_cast<int>(bytes)};
    if (clash->with.op != kNone)
      trouble.clash = {.op = clash->with.op,
                       .block = run.cluster()->block(clash->with.rank).block(),
                       .thread = clash->with.thread};
    run.found(clash->kind, op, *lanes.warp, 1u << grain.lane, trouble);
  }
}

}  // namespace

// `by`, of another block, reads or writes a grain of this one's shared memory.
std::optional<VisitorClash> BlockRun::visited(size_t cell, const Visitor& by, bool write) {
  visits_[by.rank] = by;  // epochs only grow
  if (write) shared_shadow_->write_from_outside(cell);
  return write ? cluster_shadow_->write(cell, by) : cluster_shadow_->read(cell, by);
}

void access_other_block(const Op& op, Lanes& lanes, const Places& places, uint32_t mask,
                        uint64_t rank, bool counts, bool checks) {
  const Access& access = lanes.code->accesses[op.extra];
  BlockRun& run = *lanes.warp->run;
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  Places hosts;
  const uint32_t good = place_there(op, lanes, places, mask, rank, bytes, hosts);
  if (counts)
    add_request(run.counts.accesses[op.extra],
                pattern_of(run.patterns[op.extra], PatternKind::wavefronts, places, mask, bytes,
                           checks ? run.grain() : 0),
                places, mask, bytes, true);
  if (checks && good != 0)
    check_there(op, lanes, access, places, good, run.cluster()->block(static_cast<uint32_t>(rank)));
  if (access.kind == AccessKind::store) {
    write_lanes(access, lanes, hosts, good);
    if (checks) check_contested(op, lanes, access, Space::shared, places, hosts, good);
    return;
  }
  for (uint32_t left = mask & ~good; left != 0; left &= left - 1)
    hosts[first_lane(left)] = reinterpret_cast<uint64_t>(kZeros.data());
  read_lanes(access, lanes, hosts, mask);
}

}  // namespace tilec::ptx
