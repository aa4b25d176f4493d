// The order in which blocks begin and warps get their turns. Without a seed it is that of their
// numbers, and a turn lasts until a warp has to wait. With one, blocks and warps come in an order
// that the seed alone decides, and turns are short: a kernel whose result depends on the order is
// then likely to show it, and does so again with the same seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "runtime/random.h"

namespace tilec::ptx {

class Schedule {
 public:
  Schedule(std::optional<uint64_t> seed, uint64_t blocks)
      : permutes_(seed.has_value()), seed_(seed.value_or(0)), blocks_(blocks) {
    // i -> (i * multiplier + offset) mod blocks is a permutation if the two have no common factor;
    // products of more than 2^32 blocks would not fit, and nobody waits for so many.
    if (!permutes_ || blocks >= uint64_t{1} << 32) return;
    offset_ = random_bits(seed_, 0) % blocks;
    uint64_t index = 1;
    do {
      multiplier_ = random_bits(seed_, index++) % blocks;
    } while (std::gcd(multiplier_, blocks) != 1);
  }

  bool permutes() const { return permutes_; }

  /// The block that begins as number `turn`, 0 <= turn < blocks.
  uint64_t block(uint64_t turn) const { return (turn * multiplier_ + offset_) % blocks_; }

  /// Puts the numbers of warps into the order of round `round` of a block.
  void shuffle(std::vector<uint32_t>& warps, uint64_t block, uint64_t round) const {
    const uint64_t stream = random_bits(seed_ + 1, block);
    for (size_t i = warps.size(); i > 1; --i)
      std::swap(warps[i - 1], warps[random_bits(stream + round, i) % i]);
  }

  /// Warp instructions that the turn of `warp` in that round lasts, at most about 64.
  uint64_t turn(uint32_t warp, uint64_t block, uint64_t round) const {
    return 1 + random_bits(seed_ + 2 + block, round * 32 + warp) % 64;
  }

 private:
  bool permutes_;
  uint64_t seed_;
  uint64_t blocks_;
  uint64_t multiplier_ = 1;
  uint64_t offset_ = 0;
};

}  // namespace tilec::ptx
