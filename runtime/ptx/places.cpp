// From addresses of the kernel to addresses of the host, or to findings.
#include <fmt/format.h>

#include "runtime/ptx/access.h"

namespace tilec::ptx {
namespace {

void report(const Op& op, Lanes& lanes, uint32_t bad, Space space, const Places& places,
            uint32_t bytes, const std::string& detail) {
  uint32_t misaligned = 0;
  for (uint32_t left = bad; left != 0; left &= left - 1)
    if (places[first_lane(left)] & (bytes - 1)) misaligned |= left & (0 - left);
  const uint32_t outside = bad & ~misaligned;
  BlockRun& run = *lanes.warp->run;
  if (misaligned != 0)
    run.found(FindingKind::misaligned, op, *lanes.warp, misaligned,
              {.space = space,
               .address = places[first_lane(misaligned)],
               .bytes = static_cast<int>(bytes),
               .detail = fmt::format("{} bytes want an address that {} divides", bytes, bytes)});
  if (outside != 0)
    run.found(FindingKind::out_of_bounds, op, *lanes.warp, outside,
              {.space = space,
               .address = places[first_lane(outside)],
               .bytes = static_cast<int>(bytes),
               .detail = detail});
}

std::string nearest(const Allocation* allocation, uint64_t address) {
  if (!allocation) return "no allocation lies before it";
  const uint64_t end = allocation->begin + allocation->bytes;
  if (address < end)
    return fmt::format("it ends past the end of a {}-byte allocation", allocation->bytes);
  return fmt::format("{} bytes past the end of a {}-byte allocation", address - end,
                     allocation->bytes);
}

uint64_t host_of(const Allocation& allocation) {
  return reinterpret_cast<uint64_t>(allocation.data.get());
}

// Lane by lane: several allocations, and faults.
uint32_t place_global_slowly(const Op& op, Lanes& lanes, const Allocation*& last,
                             const Places& places, uint32_t mask, uint32_t bytes, bool write,
                             Places& hosts) {
  BlockRun& run = *lanes.warp->run;
  uint32_t faulty = 0, locked = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    const Allocation* allocation = run.launch().memory->find(places[lane]);
    const bool inside = allocation && allocation->bytes >= bytes &&
                        places[lane] - allocation->begin <= allocation->bytes - bytes &&
                        (places[lane] & (bytes - 1)) == 0;
    if (!inside) {
      faulty |= 1u << lane;
    } else if (write && allocation->read_only) {
      locked |= 1u << lane;
    } else {
      hosts[lane] = host_of(*allocation) + (places[lane] - allocation->begin);
      last = allocation;
    }
  }
  if (locked != 0)
    run.found(FindingKind::read_only, op, *lanes.warp, locked,
              {.space = Space::global,
               .address = places[first_lane(locked)],
               .bytes = static_cast<int>(bytes)});
  if (faulty != 0) {
    const uint64_t first = places[first_lane(faulty)];
    report(op, lanes, faulty, Space::global, places, bytes,
           nearest(run.launch().memory->find(first), first));
  }
  return mask & ~faulty & ~locked;
}

uint32_t place_global(const Op& op, Lanes& lanes, uint32_t access_index, const Places& places,
                      uint32_t mask, uint32_t bytes, bool write, Places& hosts) {
  BlockRun& run = *lanes.warp->run;
  const Allocation*& last = run.last_allocation[access_index];
  if (!last) last = run.launch().memory->find(places[first_lane(mask)]);
  if (last && !(write && last->read_only)) {
    const bool whole = mask == kAllLanes;
    if (whole ? !any_outside(places, last->begin, last->bytes, bytes)
              : outside(places, mask, last->begin, last->bytes, bytes) == 0) {
      shift(places, host_of(*last) - last->begin, hosts);
      return mask;
    }
  }
  return place_global_slowly(op, lanes, last, places, mask, bytes, write, hosts);
}

// Shared memory has one stretch for all lanes, local memory one a lane.
uint32_t place_within(const Op& op, Lanes& lanes, Space space, const Places& places, uint32_t mask,
                      uint32_t bytes, uint64_t begin, uint64_t size) {
  if (mask == kAllLanes && !any_outside(places, begin, size, bytes)) return mask;
  const uint32_t bad = outside(places, mask, begin, size, bytes);
  if (bad != 0)
    report(op, lanes, bad, space, places, bytes,
           fmt::format("{} has {} bytes of {} memory, from {:#x} on",
                       space == Space::shared ? "the block" : "a thread", size, name_of(space),
                       begin));
  return mask & ~bad;
}

}  // namespace

uint32_t place_in_shared(const Op& op, Lanes& lanes, const Places& places, uint32_t mask,
                         uint32_t bytes, uint64_t size) {
  return place_within(op, lanes, Space::shared, places, mask, bytes, kSharedBegin, size);
}

uint32_t place(const Op& op, Lanes& lanes, uint32_t access_index, Space space, const Places& places,
               uint32_t mask, uint32_t bytes, bool write, Places& hosts) {
  if (mask == 0) return 0;
  BlockRun& run = *lanes.warp->run;
  if (space == Space::shared) {
    shift(places, reinterpret_cast<uint64_t>(run.shared()) - kSharedBegin, hosts);
    return place_within(op, lanes, space, places, mask, bytes, kSharedBegin, run.shared_bytes());
  }
  if (space == Space::local) {
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      hosts[lane] =
          reinterpret_cast<uint64_t>(run.local(*lanes.warp, lane)) + places[lane] - kLocalBegin;
    return place_within(op, lanes, space, places, mask, bytes, kLocalBegin, run.local_bytes());
  }
  if (space == Space::parameter) {
    const std::vector<std::byte>& parameters = run.launch().parameters;
    shift(places, reinterpret_cast<uint64_t>(parameters.data()), hosts);
    const uint32_t bad = outside(places, mask, 0, parameters.size(), bytes);
    if (bad != 0)
      report(op, lanes, bad, space, places, bytes,
             fmt::format("the parameters have {} bytes", parameters.size()));
    return mask & ~bad;
  }
  return place_global(op, lanes, access_index, places, mask, bytes, write, hosts);
}

}  // namespace tilec::ptx
