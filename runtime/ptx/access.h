// Loads, stores and copies of a warp: 32 addresses at once, checked, counted, carried out.
#pragma once

#include "runtime/ptx/block.h"

namespace tilec::ptx {

/// The handler of an access for a launch with these settings.
Handler access_handler(const Access& access, const LaunchConfig& config);

/// 32-byte sectors that lanes of `mask` touch with `bytes` bytes each at `at`.
uint32_t count_sectors(const uint64_t* at, uint32_t mask, uint32_t bytes);

/// Passes over the 32 four-byte banks of shared memory for one warp access.
struct Wavefronts {
  uint32_t taken = 0;
  uint32_t ideal = 0;  // for the same distinct words, spread evenly over the banks
};
Wavefronts count_wavefronts(const uint64_t* at, uint32_t mask, uint32_t bytes);

}  // namespace tilec::ptx
