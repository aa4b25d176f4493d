// 32 addresses at once: computed, compared, and data moved between them and registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/ptx/lanes.h"
#include "runtime/ptx/program.h"

// The hot loops are compiled for AVX2 too, and the loader picks; before a sanitizer is ready it
// must not.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TILEC_CLONES
#endif
#endif
#if !defined(TILEC_CLONES) && defined(__x86_64__) && defined(__ELF__)
#define TILEC_CLONES __attribute__((target_clones("avx2", "default")))
#elif !defined(TILEC_CLONES)
#define TILEC_CLONES
#endif

namespace tilec::ptx {

/// Addresses in a state space, or host addresses, by lane.
struct alignas(64) Places {
  std::array<uint64_t, kLanes> at;
  uint64_t& operator[](size_t lane) { return at[lane]; }
  uint64_t operator[](size_t lane) const { return at[lane]; }
};

/// Register (64 or 32 bits wide) plus offset; `slot` kNone: the offset alone.
void places_of(const Lanes& lanes, uint32_t slot, bool wide, int64_t offset, Places& out);

/// out = in + add for every lane.
void shift(const Places& in, uint64_t add, Places& out);

/// Whether some lane's `bytes` (a power of two) bytes do not lie aligned in [begin, begin + size).
/// All 32 lanes are looked at, active or not.
bool any_outside(const Places& places, uint64_t begin, uint64_t size, uint64_t bytes);

/// The lanes of `mask` of which that is true.
uint32_t outside(const Places& places, uint32_t mask, uint64_t begin, uint64_t size,
                 uint64_t bytes);

/// Distance of every lane from `first`; 0 for lanes that are off.
void distances(const Places& places, uint32_t mask, uint64_t first, Places& out);
bool equal(const Places& a, const Places& b);

/// Data of `access` at host addresses into its registers, and back, for the lanes of `mask`.
/// Of lanes that write one place the highest wins, as good as any: PTX leaves it open.
void read_lanes(const Access& access, Lanes& lanes, const Places& hosts, uint32_t mask);
void write_lanes(const Access& access, const Lanes& lanes, const Places& hosts, uint32_t mask);

inline size_t first_lane(uint32_t mask) {
  return static_cast<size_t>(__builtin_ctz(mask));
}

}  // namespace tilec::ptx
