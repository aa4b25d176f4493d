#include "runtime/ptx/access.h"

#include <algorithm>

#include "runtime/ptx/access_checks.h"
#include "runtime/ptx/atomics.h"
#include "runtime/ptx/cluster.h"

namespace tilec::ptx {
namespace {

// Faulty loads read here.
alignas(64) constexpr std::array<std::byte, 64> kZeros{};

template <bool kCount, bool kCheck>
void access_in(const Op& op, Lanes& lanes, const Access& access, Space space, const Places& places,
               uint32_t mask) {
  if (mask == 0) return;
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  const uint32_t index = op.extra;
  const bool write = access.kind == AccessKind::store;
  BlockRun& run = *lanes.warp->run;
  Places hosts;
  const uint32_t good = place(op, lanes, index, space, places, mask, bytes, write, hosts);
  if (kCount && space != Space::local && space != Space::parameter) {
    const bool shared = space == Space::shared;
    const Pattern& pattern =
        pattern_of(run.patterns[index], shared ? PatternKind::wavefronts : PatternKind::sectors,
                   places, mask, bytes, shared && kCheck ? run.grain() : 0);
    add_request(run.counts.accesses[index], pattern, places, mask, bytes, shared);
  }
  if (kCheck && good != 0) check_access(op, lanes, access, space, places, good);
  if (access.strong && space == Space::global) run.note_sync();
  if (write) {
    write_lanes(access, lanes, hosts, good);
    if (kCheck) check_contested(op, lanes, access, space, places, hosts, good);
    return;
  }
  for (uint32_t left = mask & ~good; left != 0; left &= left - 1)
    hosts[first_lane(left)] = reinterpret_cast<uint64_t>(kZeros.data());
  read_lanes(access, lanes, hosts, mask);
}

template <bool kCount, bool kCheck, Space kSpace>
void access_space(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[op.extra];
  Places places;
  places_of(lanes, access.address, access.wide_address, access.offset, places);
  access_in<kCount, kCheck>(op, lanes, access, kSpace, places, lanes.mask);
}

// Addresses of shared memory in the cluster: lanes that go to one block go together.
template <bool kCount, bool kCheck>
void access_cluster(const Op& op, Lanes& lanes, const Access& access, const Places& places,
                    uint32_t mask) {
  uint32_t left = mask;
  while (left != 0) {
    const uint64_t block = places[first_lane(left)] / kRankUnit;
    uint32_t there = 0;
    for (uint32_t others = left; others != 0; others &= others - 1)
      if (places[first_lane(others)] / kRankUnit == block) there |= others & (0 - others);
    left &= ~there;
    if (block == 0) {
      access_in<kCount, kCheck>(op, lanes, access, Space::shared, places, there);
      continue;
    }
    Places moved;
    shift(places, 0 - block * kRankUnit, moved);
    access_other_block(op, lanes, moved, there, block - 1, kCount, kCheck);
  }
}

template <bool kCount, bool kCheck>
void access_shared_of_cluster(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[op.extra];
  Places places;
  places_of(lanes, access.address, access.wide_address, access.offset, places);
  access_cluster<kCount, kCheck>(op, lanes, access, places, lanes.mask);
}

// Generic addresses: each lane's window decides; lanes in one space go together.
template <bool kCount, bool kCheck>
void access_generic(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[op.extra];
  Places places, moved;
  places_of(lanes, access.address, access.wide_address, access.offset, places);
  uint32_t shared = 0, local = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (places[lane] - kSharedWindow < kWindowBytes) shared |= 1u << lane;
    if (places[lane] - kLocalWindow < kWindowBytes) local |= 1u << lane;
  }
  const uint32_t mask = lanes.mask;
  access_in<kCount, kCheck>(op, lanes, access, Space::global, places, mask & ~shared & ~local);
  shift(places, 0 - kSharedWindow, moved);
  access_cluster<kCount, kCheck>(op, lanes, access, moved, mask & shared);
  shift(places, 0 - kLocalWindow, moved);
  access_in<kCount, kCheck>(op, lanes, access, Space::local, moved, mask & local);
}

// The lanes that read anything, and how many bytes each.
uint32_t reading_lanes(const Access& access, const Lanes& lanes, PendingCopy& copy) {
  uint32_t reading = lanes.mask;
  copy.valid.fill(copy.bytes);
  if (access.ignore_source != kNone) {
    const uint32_t ignore = lanes.predicates[access.ignore_source];
    reading &= access.ignore_negated ? ignore : ~ignore;
  }
  if (access.source_bytes != kNone) {
    const auto* sizes = reinterpret_cast<const uint32_t*>(lanes.registers + access.source_bytes);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      copy.valid[lane] = static_cast<uint8_t>(std::min<uint32_t>(sizes[lane], copy.bytes));
      if (sizes[lane] == 0) reading &= ~(1u << lane);
    }
  }
  return reading;
}

// A source that is cut short need not be whole in memory: its first and its last byte have to be.
uint32_t place_short(const Op& op, Lanes& lanes, const Places& from, uint32_t mask,
                     const PendingCopy& copy, Places& source) {
  uint32_t good = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    const uint32_t bit = 1u << lane;
    Places bytewise = from, first, last;
    if (!place(op, lanes, op.extra, Space::global, bytewise, bit, 1, false, first)) continue;
    bytewise[lane] += copy.valid[lane] - 1u;
    if (!place(op, lanes, op.extra, Space::global, bytewise, bit, 1, false, last)) continue;
    source[lane] = first[lane];
    good |= bit;
  }
  return good;
}

// cp.async: checked and counted where it is issued, carried out where it is waited for.
template <bool kCount, bool kCheck>
void copy_async(const Op& op, Lanes& lanes) {
  const uint32_t index = op.extra;
  const Access& access = lanes.code->accesses[index];
  BlockRun& run = *lanes.warp->run;
  const uint32_t bytes = access.copy_bytes;
  Places to, from, target, source;
  places_of(lanes, access.address, access.wide_address, access.offset, to);
  places_of(lanes, access.source, access.wide_source, access.source_offset, from);
  PendingCopy& copy = lanes.warp->copies.add();
  copy.op = op.index;
  copy.bytes = static_cast<uint8_t>(bytes);
  const uint32_t reading = reading_lanes(access, lanes, copy);
  uint32_t whole = reading;
  if (access.source_bytes != kNone)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      if (copy.valid[lane] != bytes) whole &= ~(1u << lane);

  const uint32_t good_to =
      place(op, lanes, index, Space::shared, to, lanes.mask, bytes, true, target);
  uint32_t good_from = place(op, lanes, index, Space::global, from, whole, bytes, false, source);
  good_from |= place_short(op, lanes, from, reading & ~whole, copy, source);
  if (kCount) {
    const Pattern& pattern = pattern_of(run.patterns[index], PatternKind::wavefronts, to,
                                        lanes.mask, bytes, kCheck ? run.grain() : 0);
    add_request(run.counts.accesses[index], pattern, to, lanes.mask, bytes, true);
    if (reading != 0)
      add_request(
          run.counts.async_sources[index],
          pattern_of(run.source_patterns[index], PatternKind::sectors, from, reading, bytes, 0),
          from, reading, bytes, false);
  }
  if (kCheck) check_copy(op, lanes, access, to, good_to, from, good_from, copy);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    copy.to[lane] = static_cast<uint32_t>(to[lane] - kSharedBegin);
    copy.from[lane] =
        good_from >> lane & 1 ? reinterpret_cast<const std::byte*>(source[lane]) : nullptr;
  }
  lanes.warp->copies.open(good_to);
}

template <bool kCount, bool kCheck>
Handler pick(const Access& access) {
  if (access.kind == AccessKind::async_copy) return copy_async<kCount, kCheck>;
  switch (access.space) {
    case Space::shared:
      if (access.of_cluster) return access_shared_of_cluster<kCount, kCheck>;
      return access_space<kCount, kCheck, Space::shared>;
    case Space::local:
      return access_space<kCount, kCheck, Space::local>;
    case Space::parameter:
      return access_space<kCount, kCheck, Space::parameter>;
    case Space::generic:
      return access_generic<kCount, kCheck>;
    default:
      return access_space<kCount, kCheck, Space::global>;
  }
}

}  // namespace

void add_request(MemoryCounts& counts, const Pattern& pattern, const Places& places, uint32_t mask,
                 uint32_t bytes, bool shared) {
  ++counts.requests;
  counts.bytes += uint64_t{bytes} * popcount(mask);
  if (!shared) {
    counts.sectors += pattern.units;
    return;
  }
  counts.wavefronts += pattern.units;
  if (pattern.units == pattern.ideal) return;
  counts.conflicts += pattern.units - pattern.ideal;
  // The pattern may have been seen elsewhere: its banks turn with its first address.
  const uint64_t turn = places[first_lane(mask)] / 4 + 32 - pattern.first_bank;
  for (size_t bank = 0; bank < pattern.crowded.size(); ++bank)
    counts.bank_conflicts[(bank + turn) % 32] += pattern.crowded[bank];
}

Handler access_handler(const Access& access, const LaunchConfig& config) {
  if (access.kind == AccessKind::atomic) return atomic_handler(config);
  if (access.kind == AccessKind::mbarrier) return mbarrier_handler();
  if (access.kind == AccessKind::bulk_in || access.kind == AccessKind::bulk_out)
    return bulk_handler(access);
  // Checks look at patterns, which counting makes.
  if (config.checks == Checks::all) return pick<true, true>(access);
  return config.counters ? pick<true, false>(access) : pick<false, false>(access);
}

}  // namespace tilec::ptx
