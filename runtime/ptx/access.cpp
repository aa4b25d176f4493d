#include "runtime/ptx/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tilec::ptx {
namespace {

using Places = std::array<uint64_t, kLanes>;   // addresses in a space, by lane
using Hosts = std::array<std::byte*, kLanes>;  // where they lie in the host; null: faulty

Places places_of(const Lanes& lanes, uint32_t slot, bool wide, int64_t offset) {
  Places at;
  if (slot == kNone) {
    at.fill(static_cast<uint64_t>(offset));
  } else if (wide) {
    const auto* values = reinterpret_cast<const uint64_t*>(lanes.registers + slot);
    for (size_t i = 0; i < kLanes; ++i) at[i] = values[i] + static_cast<uint64_t>(offset);
  } else {
    const auto* values = reinterpret_cast<const uint32_t*>(lanes.registers + slot);
    for (size_t i = 0; i < kLanes; ++i) at[i] = values[i] + static_cast<uint64_t>(offset);
  }
  return at;
}

// Lanes whose `bytes` bytes at `at` do not lie within [begin, begin + size), or not aligned.
uint32_t bad_lanes(const Places& at, uint32_t mask, uint64_t begin, uint64_t size, uint64_t bytes) {
  if (size < bytes) return mask;
  const uint64_t last = size - bytes;
  uint64_t any = 0;
  for (uint64_t place : at)
    any |= static_cast<uint64_t>(place - begin > last) | (place & (bytes - 1));
  if (any == 0) return 0;
  uint32_t bad = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if (at[lane] - begin > last || (at[lane] & (bytes - 1)) != 0) bad |= 1u << lane;
  return bad & mask;
}

// ---- data between registers and host memory ----

template <class T, int kCount>
void read_words(const Access& access, Lanes& lanes, const Hosts& hosts) {
  for (size_t k = 0; k < kCount; ++k) {
    T* data = reinterpret_cast<T*>(lanes.registers + access.data[k]);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      T value;
      std::memcpy(&value, hosts[lane] + k * sizeof(T), sizeof(T));
      data[lane] = value;
    }
  }
}

using Four = uint32_t __attribute__((ext_vector_type(4)));

// Sixteen bytes a lane into four registers: 4 lanes at a time, transposed.
void read_quads(const Access& access, Lanes& lanes, const Hosts& hosts) {
  std::array<uint32_t*, 4> data;
  for (size_t k = 0; k < 4; ++k)
    data[k] = reinterpret_cast<uint32_t*>(lanes.registers + access.data[k]);
  for (size_t lane = 0; lane < kLanes; lane += 4) {
    Four row[4];
    for (size_t i = 0; i < 4; ++i) std::memcpy(&row[i], hosts[lane + i], 16);
    const Four ab_low = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
    const Four ab_high = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
    const Four cd_low = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
    const Four cd_high = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    const Four out[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                         __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                         __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                         __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
    for (size_t k = 0; k < 4; ++k) std::memcpy(data[k] + lane, &out[k], 16);
  }
}

uint64_t extended(uint64_t value, int from, int to, bool sign) {
  if (sign && from < 8 && (value >> (8 * from - 1) & 1)) value |= ~uint64_t{0} << 8 * from;
  return to < 8 ? value & ((uint64_t{1} << 8 * to) - 1) : value;
}

// Any element into any register, the lanes of `mask` alone.
void read_any(const Access& access, Lanes& lanes, const Hosts& hosts, uint32_t mask) {
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<size_t>(__builtin_ctz(left));
    for (size_t k = 0; k < access.count; ++k) {
      uint64_t value = 0;
      std::memcpy(&value, hosts[lane] + k * access.bytes, access.bytes);
      value = extended(value, access.bytes, access.declared_bytes, access.sign_extend);
      std::byte* data = lanes.registers + access.data[k];
      if (access.register_bytes == 8)
        reinterpret_cast<uint64_t*>(data)[lane] = value;
      else
        reinterpret_cast<uint32_t*>(data)[lane] = static_cast<uint32_t>(value);
    }
  }
}

void read_lanes(const Access& access, Lanes& lanes, const Hosts& hosts, uint32_t mask) {
  const bool plain = access.bytes >= 4 && access.bytes == access.register_bytes;
  if (mask == kAllLanes && plain) {
    if (access.bytes == 4 && access.count == 1)
      return read_words<uint32_t, 1>(access, lanes, hosts);
    if (access.bytes == 4 && access.count == 2)
      return read_words<uint32_t, 2>(access, lanes, hosts);
    if (access.bytes == 4 && access.count == 4) return read_quads(access, lanes, hosts);
    if (access.bytes == 8 && access.count == 1)
      return read_words<uint64_t, 1>(access, lanes, hosts);
    if (access.bytes == 8 && access.count == 2)
      return read_words<uint64_t, 2>(access, lanes, hosts);
  }
  read_any(access, lanes, hosts, mask);
}

// Of lanes that write one place the highest wins, as good as any: PTX leaves it open.
void write_lanes(const Access& access, Lanes& lanes, const Hosts& hosts, uint32_t mask) {
  for (size_t k = 0; k < access.count; ++k) {
    const std::byte* data = lanes.registers + access.data[k];
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<size_t>(__builtin_ctz(left));
      std::memcpy(hosts[lane] + k * access.bytes, data + lane * access.register_bytes,
                  access.bytes);
    }
  }
}

// ---- counting ----

template <class Count>
const Pattern& remembered(Pattern& pattern, const Places& at, uint32_t mask, uint64_t period,
                          Count&& count) {
  const uint64_t first = mask == 0 ? 0 : at[static_cast<size_t>(__builtin_ctz(mask))];
  Places offsets;
  for (size_t lane = 0; lane < kLanes; ++lane) offsets[lane] = at[lane] - first;
  if (mask != kAllLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      if (!(mask >> lane & 1)) offsets[lane] = 0;
  const uint64_t phase = first & (period - 1);
  if (pattern.mask != mask || pattern.phase != phase || pattern.offsets != offsets) {
    pattern.mask = mask;
    pattern.phase = phase;
    pattern.offsets = offsets;
    count(pattern);
  }
  return pattern;
}

void count_global(BlockRun& run, MemoryCounts& counts, Pattern& pattern, const Places& at,
                  uint32_t mask, uint32_t bytes) {
  (void)run;
  if (mask == 0) return;
  const Pattern& known = remembered(pattern, at, mask, 32, [&](Pattern& fresh) {
    fresh.units = count_sectors(at.data(), mask, bytes);
  });
  ++counts.requests;
  counts.bytes += uint64_t{bytes} * popcount(mask);
  counts.sectors += known.units;
}

void count_shared(MemoryCounts& counts, Pattern& pattern, const Places& at, uint32_t mask,
                  uint32_t bytes) {
  if (mask == 0) return;
  const Pattern& known = remembered(pattern, at, mask, 128, [&](Pattern& fresh) {
    const Wavefronts wavefronts = count_wavefronts(at.data(), mask, bytes);
    fresh.units = wavefronts.taken;
    fresh.ideal = wavefronts.ideal;
  });
  ++counts.requests;
  counts.bytes += uint64_t{bytes} * popcount(mask);
  counts.wavefronts += known.units;
  counts.conflicts += known.units - known.ideal;
}

// ---- where addresses lie ----

void report_place(const Op& op, Lanes& lanes, uint32_t bad, Space space, const Places& at,
                  uint32_t bytes, const std::string& detail) {
  uint32_t misaligned = 0;
  for (uint32_t left = bad; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
    if (at[lane] & (bytes - 1)) misaligned |= 1u << lane;
  }
  const auto first = [&](uint32_t mask) { return at[static_cast<size_t>(__builtin_ctz(mask))]; };
  const uint32_t outside = bad & ~misaligned;
  if (misaligned != 0)
    lanes.warp->run->found(FindingKind::misaligned, op, *lanes.warp, misaligned, space,
                           first(misaligned), static_cast<int>(bytes),
                           fmt::format("{} bytes want an address that {} divides", bytes, bytes));
  if (outside != 0)
    lanes.warp->run->found(FindingKind::out_of_bounds, op, *lanes.warp, outside, space,
                           first(outside), static_cast<int>(bytes), detail);
}

std::string nearest(const Allocation* allocation, uint64_t address) {
  if (!allocation) return "no allocation lies before it";
  const uint64_t end = allocation->begin + allocation->bytes;
  if (address < end)
    return fmt::format("it ends past the end of a {}-byte allocation", allocation->bytes);
  return fmt::format("{} bytes past the end of a {}-byte allocation", address - end,
                     allocation->bytes);
}

// Fills `hosts` for the lanes of `mask`; returns those that are good.
uint32_t place_global(const Op& op, Lanes& lanes, uint32_t access_index, const Places& at,
                      uint32_t mask, uint32_t bytes, bool write, Hosts& hosts) {
  BlockRun& run = *lanes.warp->run;
  const Allocation*& last = run.last_allocation[access_index];
  if (mask == 0) return 0;
  if (!last) last = run.launch().memory->find(at[static_cast<size_t>(__builtin_ctz(mask))]);
  uint32_t bad = last ? bad_lanes(at, mask, last->begin, last->bytes, bytes) : mask;
  if (last && !(write && last->read_only)) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      hosts[lane] = last->data.get() + (at[lane] - last->begin);
    if (bad == 0) return mask;
  } else {
    bad = mask;
  }
  // Lane by lane: other allocations, and faults.
  uint32_t faulty = 0;
  for (uint32_t left = bad; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
    const Allocation* allocation = run.launch().memory->find(at[lane]);
    const bool inside = allocation && allocation->bytes >= bytes &&
                        at[lane] - allocation->begin <= allocation->bytes - bytes &&
                        (at[lane] & (bytes - 1)) == 0;
    if (!inside) {
      faulty |= 1u << lane;
    } else if (write && allocation->read_only) {
      run.found(FindingKind::read_only, op, *lanes.warp, 1u << lane, Space::global, at[lane],
                static_cast<int>(bytes), "");
      mask &= ~(1u << lane);
    } else {
      hosts[lane] = allocation->data.get() + (at[lane] - allocation->begin);
      last = allocation;
    }
  }
  if (faulty != 0) {
    const uint64_t first = at[static_cast<size_t>(__builtin_ctz(faulty))];
    report_place(op, lanes, faulty, Space::global, at, bytes,
                 nearest(run.launch().memory->find(first), first));
  }
  return mask & ~faulty;
}

uint32_t place_shared(const Op& op, Lanes& lanes, const Places& at, uint32_t mask, uint32_t bytes,
                      Hosts& hosts) {
  BlockRun& run = *lanes.warp->run;
  const uint32_t bad = bad_lanes(at, mask, kSharedBegin, run.shared_bytes(), bytes);
  for (size_t lane = 0; lane < kLanes; ++lane)
    hosts[lane] = run.shared() + (at[lane] - kSharedBegin);
  if (bad != 0)
    report_place(op, lanes, bad, Space::shared, at, bytes,
                 fmt::format("the block has {} bytes of shared memory, from {:#x} on",
                             run.shared_bytes(), kSharedBegin));
  return mask & ~bad;
}

uint32_t place_local(const Op& op, Lanes& lanes, const Places& at, uint32_t mask, uint32_t bytes,
                     Hosts& hosts) {
  BlockRun& run = *lanes.warp->run;
  const uint32_t bad = bad_lanes(at, mask, kLocalBegin, run.local_bytes(), bytes);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    hosts[lane] = run.local(*lanes.warp, lane) + (at[lane] - kLocalBegin);
  if (bad != 0)
    report_place(op, lanes, bad, Space::local, at, bytes,
                 fmt::format("a thread has {} bytes of local memory, from {:#x} on",
                             run.local_bytes(), kLocalBegin));
  return mask & ~bad;
}

// ---- the handlers ----

template <bool kCount>
void access_in(const Op& op, Lanes& lanes, const Access& access, Space space, Places& at,
               uint32_t mask) {
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  const uint32_t index = lanes.code->infos[op.index].access;
  BlockRun& run = *lanes.warp->run;
  Hosts hosts;
  uint32_t good = 0;
  if (space == Space::shared) {
    good = place_shared(op, lanes, at, mask, bytes, hosts);
    if (kCount) count_shared(run.counts.accesses[index], run.patterns[index], at, mask, bytes);
  } else if (space == Space::local) {
    good = place_local(op, lanes, at, mask, bytes, hosts);
  } else {
    good = place_global(op, lanes, index, at, mask, bytes, access.kind == AccessKind::store, hosts);
    if (kCount) count_global(run, run.counts.accesses[index], run.patterns[index], at, mask, bytes);
  }
  if (access.kind == AccessKind::store) {
    write_lanes(access, lanes, hosts, good);
  } else {
    static constexpr std::array<std::byte, 32> kZeros{};
    if (good != mask)
      for (uint32_t left = mask & ~good; left != 0; left &= left - 1)
        hosts[static_cast<size_t>(__builtin_ctz(left))] = const_cast<std::byte*>(kZeros.data());
    read_lanes(access, lanes, hosts, mask);
  }
}

template <bool kCount, Space kSpace>
void access_space(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[lanes.code->infos[op.index].access];
  Places at = places_of(lanes, access.address, access.wide_address, access.offset);
  access_in<kCount>(op, lanes, access, kSpace, at, lanes.mask);
}

// Generic addresses: each lane's window decides; lanes in one space go together.
template <bool kCount>
void access_generic(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[lanes.code->infos[op.index].access];
  Places at = places_of(lanes, access.address, access.wide_address, access.offset);
  uint32_t shared = 0, local = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (at[lane] - kSharedWindow < kWindowBytes) shared |= 1u << lane;
    if (at[lane] - kLocalWindow < kWindowBytes) local |= 1u << lane;
  }
  shared &= lanes.mask;
  local &= lanes.mask;
  const uint32_t global = lanes.mask & ~shared & ~local;
  if (global != 0) access_in<kCount>(op, lanes, access, Space::global, at, global);
  if (shared != 0) {
    for (uint64_t& place : at) place -= kSharedWindow;
    access_in<kCount>(op, lanes, access, Space::shared, at, shared);
    for (uint64_t& place : at) place += kSharedWindow;
  }
  if (local != 0) {
    for (uint64_t& place : at) place -= kLocalWindow;
    access_in<kCount>(op, lanes, access, Space::local, at, local);
  }
}

// Parameters are the same for all lanes of all warps; reading past them is out of bounds.
void load_parameter(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[lanes.code->infos[op.index].access];
  const std::vector<std::byte>& parameters = lanes.warp->run->launch().parameters;
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  const Places at = places_of(lanes, access.address, access.wide_address, access.offset);
  const uint32_t bad = bad_lanes(at, lanes.mask, 0, parameters.size(), bytes);
  static constexpr std::array<std::byte, 32> kZeros{};
  Hosts hosts;
  for (size_t lane = 0; lane < kLanes; ++lane)
    hosts[lane] = const_cast<std::byte*>(
        (lanes.mask & ~bad) >> lane & 1 ? parameters.data() + at[lane] : kZeros.data());
  if (bad != 0)
    report_place(op, lanes, bad, Space::parameter, at, bytes,
                 fmt::format("the parameters have {} bytes", parameters.size()));
  read_lanes(access, lanes, hosts, lanes.mask);
}

// cp.async: checked and counted where it is issued, carried out where it is waited for.
template <bool kCount>
void copy_async(const Op& op, Lanes& lanes) {
  const uint32_t index = lanes.code->infos[op.index].access;
  const Access& access = lanes.code->accesses[index];
  BlockRun& run = *lanes.warp->run;
  const uint32_t bytes = access.copy_bytes;
  Places to = places_of(lanes, access.address, access.wide_address, access.offset);
  Places from = places_of(lanes, access.source, access.wide_source, access.source_offset);
  PendingCopy copy{.op = op.index, .bytes = static_cast<uint8_t>(bytes)};
  copy.valid.fill(static_cast<uint8_t>(bytes));
  uint32_t reading = lanes.mask;
  if (access.ignore_source != kNone) {
    const uint32_t ignore = lanes.predicates[access.ignore_source];
    reading &= access.ignore_negated ? ignore : ~ignore;
  }
  if (access.source_bytes != kNone) {
    const auto* sizes = reinterpret_cast<const uint32_t*>(lanes.registers + access.source_bytes);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      copy.valid[lane] = static_cast<uint8_t>(std::min(sizes[lane], bytes));
      if (sizes[lane] == 0) reading &= ~(1u << lane);
    }
  }
  Hosts target, source;
  source.fill(nullptr);
  const uint32_t good_to = place_shared(op, lanes, to, lanes.mask, bytes, target);
  // A short source need not be whole in memory, so its own size is what has to lie in bounds.
  uint32_t short_lanes = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if (copy.valid[lane] != bytes) short_lanes |= 1u << lane;
  short_lanes &= reading;
  uint32_t good_from =
      place_global(op, lanes, index, from, reading & ~short_lanes, bytes, false, source);
  for (uint32_t left = short_lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(left));
    Places bytewise = from;
    Hosts first, last;
    const uint32_t bit = 1u << lane;
    if (!place_global(op, lanes, index, bytewise, bit, 1, false, first)) continue;
    bytewise[lane] += copy.valid[lane] - 1u;
    if (!place_global(op, lanes, index, bytewise, bit, 1, false, last)) continue;
    source[lane] = first[lane];
    good_from |= bit;
  }
  if (kCount) {
    count_shared(run.counts.accesses[index], run.patterns[index], to, lanes.mask, bytes);
    count_global(run, run.counts.async_sources[index], run.source_patterns[index], from, reading,
                 bytes);
  }
  copy.mask = good_to;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    copy.to[lane] = static_cast<uint32_t>(to[lane] - kSharedBegin);
    copy.from[lane] = good_from >> lane & 1 ? source[lane] : nullptr;
  }
  if (copy.mask != 0) lanes.warp->copies.push_back(copy);
}

template <bool kCount>
Handler pick(const Access& access) {
  if (access.kind == AccessKind::async_copy) return copy_async<kCount>;
  switch (access.space) {
    case Space::shared:
      return access_space<kCount, Space::shared>;
    case Space::local:
      return access_space<kCount, Space::local>;
    case Space::parameter:
      return load_parameter;
    case Space::generic:
      return access_generic<kCount>;
    default:
      return access_space<kCount, Space::global>;
  }
}

}  // namespace

Handler access_handler(const Access& access, const LaunchConfig& config) {
  return config.counters ? pick<true>(access) : pick<false>(access);
}

}  // namespace tilec::ptx
