// Loads, stores and copies of a warp: 32 addresses at once, checked, counted, carried out.
#pragma once

#include "runtime/ptx/block.h"

namespace tilec::ptx {

/// The handler of an access for a launch with these settings.
Handler access_handler(const Access& access, const LaunchConfig& config);

/// One more request of this pattern.
void add_request(MemoryCounts& counts, const Pattern& pattern, const Places& places, uint32_t mask,
                 uint32_t bytes, bool shared);

/// Fills `hosts` with host addresses for the lanes of `mask` whose places are good, and reports
/// those that are out of bounds, misaligned, or written though read-only. Returns the good ones;
/// the host addresses of others are not to be used.
uint32_t place(const Op& op, Lanes& lanes, uint32_t access_index, Space space, const Places& places,
               uint32_t mask, uint32_t bytes, bool write, Places& hosts);

/// The lanes of `mask` whose places lie in `size` bytes of a block's shared memory; reports others.
uint32_t place_in_shared(const Op& op, Lanes& lanes, const Places& places, uint32_t mask,
                         uint32_t bytes, uint64_t size);

}  // namespace tilec::ptx
