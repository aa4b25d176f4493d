#include "runtime/ptx/mbarriers.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/ptx/access.h"
#include "runtime/ptx/global_shadow.h"

namespace tilec::ptx {

MbarrierState MbarrierState::unpack(uint64_t word) {
  MbarrierState state;
  state.pending = static_cast<uint32_t>(word) & kMaxArrivals;
  state.expected = static_cast<uint32_t>(word >> 20) & kMaxArrivals;
  state.bytes = static_cast<int32_t>(static_cast<uint32_t>(word >> 40) << 10) >> 10;
  state.phase = word >> 62 & 1;
  return state;
}

uint64_t MbarrierState::pack() const {
  return (uint64_t{pending} & kMaxArrivals) | (uint64_t{expected} & kMaxArrivals) << 20 |
         (static_cast<uint64_t>(static_cast<uint32_t>(bytes)) & 0x3FFFFF) << 40 |
         uint64_t{phase} << 62;
}

void MbarrierState::settle() {
  if (pending != 0 || bytes != 0) return;
  phase = !phase;
  pending = expected;
}

namespace {

uint32_t word_at(const Lanes& lanes, uint32_t slot, size_t lane) {
  return reinterpret_cast<const uint32_t*>(lanes.registers + slot)[lane];
}
uint64_t& wide_at(const Lanes& lanes, uint32_t slot, size_t lane) {
  return reinterpret_cast<uint64_t*>(lanes.registers + slot)[lane];
}

void misuse(const Op& op, Lanes& lanes, size_t lane, uint64_t address, std::string detail) {
  lanes.warp->run->found(
      FindingKind::bad_barrier, op, *lanes.warp, 1u << lane,
      {.space = Space::shared, .address = address, .bytes = 8, .detail = std::move(detail)});
}

// Bulk copies that belong to this mbarrier arrive: their bytes, and then the word that counts them.
void deliver(BlockRun& run, uint64_t address, MbarrierState& state) {
  std::vector<BulkCopy>& copies = run.mbarriers.copies;
  size_t kept = 0;
  for (const BulkCopy& copy : copies) {
    if (copy.mbarrier != address) {
      copies[kept++] = copy;
      continue;
    }
    std::memcpy(run.shared() + copy.to, copy.from, copy.bytes);
    state.bytes -= static_cast<int32_t>(copy.bytes);
    if (run.watched()) {
      run.shared_shadow().end_copy(copy.to, copy.bytes,
                                   {.op = copy.op,
                                    .warp = static_cast<uint8_t>(copy.warp),
                                    .lane = static_cast<uint8_t>(copy.lane)});
      run.shared_shadow().release(copy.warp, run.mbarriers.clocks[address]);
    }
  }
  copies.resize(kept);
}

void arrive(BlockRun& run, const Access& access, const Lanes& lanes, size_t lane, uint64_t address,
            MbarrierState& state) {
  if (access.mbarrier == MbarrierKind::arrive_expect_tx)
    state.bytes += static_cast<int32_t>(word_at(lanes, access.data[1], lane));
  const bool counted = access.mbarrier != MbarrierKind::arrive_expect_tx && access.data[1] != kNone;
  const uint32_t count = counted ? word_at(lanes, access.data[1], lane) : 1;
  state.pending -= std::min(state.pending, count);
  if (access.mbarrier == MbarrierKind::arrive_drop) state.expected -= count;
  if (run.watched()) run.shared_shadow().release(lanes.warp->index, run.mbarriers.clocks[address]);
}

// Whether the phase that the operand names is over.
bool is_over(BlockRun& run, const Access& access, Lanes& lanes, size_t lane, uint64_t address,
             const MbarrierState& state) {
  const bool named = access.parity
                         ? (word_at(lanes, access.data[1], lane) & 1) != 0
                         : MbarrierState::unpack(wide_at(lanes, access.data[1], lane)).phase;
  if (state.phase == named) return false;
  if (run.watched()) run.shared_shadow().acquire(lanes.warp->index, run.mbarriers.clocks[address]);
  return true;
}

void act(const Op& op, Lanes& lanes, const Access& access, size_t lane, uint64_t address,
         std::byte* at) {
  BlockRun& run = *lanes.warp->run;
  uint64_t word = 0;
  if (access.mbarrier == MbarrierKind::init) {
    const uint32_t count = word_at(lanes, access.data[1], lane);
    if (count == 0 || count > kMaxArrivals)
      return misuse(op, lanes, lane, address,
                    fmt::format("{} arrivals; 1 to {} are possible", count, kMaxArrivals));
    word = MbarrierState{.pending = count, .expected = count}.pack();
    std::memcpy(at, &word, 8);
    run.mbarriers.clocks[address].assign(run.launch().warps_per_block, 0);
    return;
  }
  if (!run.mbarriers.clocks.contains(address))
    return misuse(op, lanes, lane, address, "no mbarrier was initialised there");
  if (access.mbarrier == MbarrierKind::invalidate) {
    run.mbarriers.clocks.erase(address);
    return;
  }
  std::memcpy(&word, at, 8);
  MbarrierState state = MbarrierState::unpack(word);
  switch (access.mbarrier) {
    case MbarrierKind::expect_tx:
      state.bytes += static_cast<int32_t>(word_at(lanes, access.data[1], lane));
      break;
    case MbarrierKind::complete_tx:
      state.bytes -= static_cast<int32_t>(word_at(lanes, access.data[1], lane));
      break;
    case MbarrierKind::test_wait: {
      deliver(run, address, state);
      state.settle();
      const bool over = is_over(run, access, lanes, lane, address, state);
      uint32_t& predicate = lanes.predicates[access.data[0]];
      predicate = over ? predicate | 1u << lane : predicate & ~(1u << lane);
      if (!over) run.yield();
      word = state.pack();
      std::memcpy(at, &word, 8);
      return;
    }
    default:
      arrive(run, access, lanes, lane, address, state);
      if (access.data[0] != kNone) wide_at(lanes, access.data[0], lane) = word;
  }
  state.settle();
  word = state.pack();
  std::memcpy(at, &word, 8);
}

void mbarrier(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[op.extra];
  BlockRun& run = *lanes.warp->run;
  if (access.mbarrier == MbarrierKind::copies_arrive) run.complete_copies(*lanes.warp, lanes.mask);
  Places places, hosts;
  places_of(lanes, access.address, access.wide_address, access.offset, places);
  if (access.space == Space::generic) shift(places, 0 - kSharedWindow, places);
  const uint32_t good =
      place(op, lanes, op.extra, Space::shared, places, lanes.mask, 8, true, hosts);
  for (uint32_t left = good; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    act(op, lanes, access, lane, places[lane], reinterpret_cast<std::byte*>(hosts[lane]));
  }
}

// The arrivals that a state still waited for.
void pending_count(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[op.extra];
  for (uint32_t left = lanes.mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    reinterpret_cast<uint32_t*>(lanes.registers + access.data[0])[lane] =
        MbarrierState::unpack(wide_at(lanes, access.data[1], lane)).pending;
  }
}

void mbarrier_any(const Op& op, Lanes& lanes) {
  if (lanes.code->accesses[op.extra].mbarrier == MbarrierKind::pending_count)
    return pending_count(op, lanes);
  mbarrier(op, lanes);
}

// Whether `bytes` bytes at `address` lie in shared memory or in one allocation; the host address.
std::byte* place_run(const Op& op, Lanes& lanes, size_t lane, Space space, uint64_t address,
                     uint32_t bytes, bool write) {
  Places places, hosts;
  places.at.fill(address);
  const uint32_t bit = 1u << lane;
  if (!place(op, lanes, op.extra, space, places, bit, 16, write, hosts)) return nullptr;
  std::byte* first = reinterpret_cast<std::byte*>(hosts[lane]);
  places.at.fill(address + bytes - 16);
  return place(op, lanes, op.extra, space, places, bit, 16, write, hosts) ? first : nullptr;
}

void bulk_lane(const Op& op, Lanes& lanes, const Access& access, size_t lane, uint64_t shared,
               uint64_t global, uint64_t mbarrier_address) {
  BlockRun& run = *lanes.warp->run;
  const uint32_t bytes = word_at(lanes, access.source_bytes, lane);
  if (bytes == 0) return;
  if (bytes % 16 != 0)
    return misuse(op, lanes, lane, shared,
                  fmt::format("{} bytes; a multiple of 16 is wanted", bytes));
  const bool in = access.kind == AccessKind::bulk_in;
  std::byte* near = place_run(op, lanes, lane, Space::shared, shared, bytes, in);
  std::byte* far = place_run(op, lanes, lane, Space::global, global, bytes, !in);
  if (!near || !far) return;
  Allocation& allocation = *run.launch().memory->find(global);
  MemoryCounts& counts = run.counts.async_sources[op.extra];
  ++counts.requests;
  counts.bytes += bytes;
  counts.sectors += bytes / 32 + (global % 32 != 0 || bytes % 32 != 0);
  if (!in) {
    std::memcpy(far, near, bytes);
    set_written(allocation, global - allocation.begin, bytes);
    return;
  }
  if (run.watched()) {
    if (!is_written(allocation, global - allocation.begin, bytes))
      run.found(FindingKind::unwritten_memory, op, *lanes.warp, 1u << lane,
                {.space = Space::global, .address = global, .bytes = static_cast<int>(bytes)});
    run.begin_copy(op, *lanes.warp, static_cast<uint32_t>(lane), shared - kSharedBegin, bytes);
  }
  run.mbarriers.copies.push_back({.op = op.index,
                                  .warp = lanes.warp->index,
                                  .lane = static_cast<uint32_t>(lane),
                                  .to = shared - kSharedBegin,
                                  .from = far,
                                  .bytes = bytes,
                                  .mbarrier = mbarrier_address});
}

// cp.async.bulk: one contiguous stretch a lane. Into shared memory it arrives when its mbarrier is
// waited on; out of it, at once.
void bulk(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[op.extra];
  Places shared, global, mbarrier_places;
  places_of(lanes, access.address, access.wide_address, access.offset, shared);
  places_of(lanes, access.source, access.wide_source, access.source_offset, global);
  mbarrier_places.at.fill(0);
  if (access.data[0] != kNone)
    places_of(lanes, access.data[0], access.wide_mbarrier, access.mbarrier_offset, mbarrier_places);
  else if (access.kind == AccessKind::bulk_in)
    mbarrier_places.at.fill(static_cast<uint64_t>(access.mbarrier_offset));
  for (uint32_t left = lanes.mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    bulk_lane(op, lanes, access, lane, shared[lane], global[lane], mbarrier_places[lane]);
  }
}

}  // namespace

Handler mbarrier_handler() {
  return mbarrier_any;
}
Handler bulk_handler(const Access&) {
  return bulk;
}

}  // namespace tilec::ptx
