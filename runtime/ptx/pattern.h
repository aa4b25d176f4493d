// The shape of one warp access: where its lanes lie relative to the first. Warps repeat each
// other, so an access remembers its last pattern and what it costs, and is looked through again
// only when the shape changes.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/gather.h"

namespace tilec::ptx {

/// A piece of memory of the grain that is watched (1, 2 or 4 bytes), touched by some lane.
struct Grain {
  int32_t offset = 0;   // in grains, from the one that holds the first lane's address
  uint8_t lane = 0;     // the first lane that touches it
  bool shared = false;  // other lanes touch it too
};

struct Pattern {
  uint32_t mask = 0;   // 0: nothing remembered yet
  uint64_t phase = 0;  // first address modulo what the costs depend on
  Places distances{};
  uint32_t units = 0;                 // sectors or wavefronts
  uint32_t ideal = 0;                 // wavefronts that the same words would take without conflicts
  uint32_t first_bank = 0;            // of the first lane's address when it was looked through
  std::array<uint8_t, 32> crowded{};  // words beyond the ideal passes, by bank
  std::vector<Grain> grains;          // each once; only where `grain` was given
};

enum class PatternKind : uint8_t { sectors, wavefronts };

/// The pattern of lanes `mask` with `bytes` bytes each at `places`, kept in `last`. `grain` 0: no
/// grains are wanted. Always call with the same kind, bytes and grain for one `last`.
const Pattern& pattern_of(Pattern& last, PatternKind kind, const Places& places, uint32_t mask,
                          uint32_t bytes, uint32_t grain);

/// 32-byte sectors that lanes of `mask` touch with `bytes` bytes each.
uint32_t count_sectors(const Places& places, uint32_t mask, uint32_t bytes);

/// Passes over the 32 four-byte banks of shared memory for one warp access.
struct Wavefronts {
  uint32_t taken = 0;
  uint32_t ideal = 0;  // for the same distinct words, spread evenly over the banks
  std::array<uint8_t, 32> crowded{};
};
Wavefronts count_wavefronts(const Places& places, uint32_t mask, uint32_t bytes);

}  // namespace tilec::ptx
