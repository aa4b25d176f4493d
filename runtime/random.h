// Operands are uniform in [-1, 1): a counter goes in, a number comes out, so that any element can
// be made on its own, on any core, and a seed names a whole run.
#pragma once

#include <cstdint>

namespace tilec {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014) at counter `index` of stream `seed`.
inline uint64_t random_bits(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// A multiple of 2^-23 in [-1, 1), so a product of two is exact in float64.
inline float random_operand(uint64_t seed, uint64_t index) {
  const auto steps = static_cast<int32_t>(random_bits(seed, index) >> 40);  // 24 bits
  return static_cast<float>(steps - (1 << 23)) * 0x1p-23F;
}

}  // namespace tilec
