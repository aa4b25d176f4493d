// What one warp access costs: sectors of global memory, wavefronts of shared memory.
#include <algorithm>
#include <array>

#include "runtime/ptx/access.h"

namespace tilec::ptx {

uint32_t count_sectors(const uint64_t* at, uint32_t mask, uint32_t bytes) {
  // At most two sectors a lane and 32 bytes.
  std::array<uint64_t, 2 * kLanes> sectors;
  size_t count = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const uint64_t address = at[__builtin_ctz(left)];
    const uint64_t first = address / 32, last = (address + bytes - 1) / 32;
    if (count == 0 || sectors[count - 1] != first) sectors[count++] = first;
    if (last != first) sectors[count++] = last;
  }
  std::sort(sectors.begin(), sectors.begin() + static_cast<ptrdiff_t>(count));
  const auto end = std::unique(sectors.begin(), sectors.begin() + static_cast<ptrdiff_t>(count));
  return static_cast<uint32_t>(end - sectors.begin());
}

namespace {

// Passes for the lanes of `mask` together: the most distinct words that any bank has to give.
uint32_t passes(const uint64_t* at, uint32_t mask, uint32_t bytes, uint32_t& distinct) {
  std::array<uint64_t, kLanes * 8> words;
  size_t count = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const uint64_t first = at[__builtin_ctz(left)] / 4;
    const uint64_t last = (at[__builtin_ctz(left)] + bytes - 1) / 4;
    for (uint64_t word = first; word <= last && count < words.size(); ++word) words[count++] = word;
  }
  std::sort(words.begin(), words.begin() + static_cast<ptrdiff_t>(count));
  const auto end = std::unique(words.begin(), words.begin() + static_cast<ptrdiff_t>(count));
  std::array<uint32_t, 32> banks{};
  for (auto word = words.begin(); word != end; ++word) ++banks[*word % 32];
  distinct = static_cast<uint32_t>(end - words.begin());
  return *std::max_element(banks.begin(), banks.end());
}

}  // namespace

// Up to 4 bytes a lane go in one go; 8 bytes by half warps; 16 bytes by half warps too, each of
// which takes as many passes as its most wanted bank has distinct words to give.
Wavefronts count_wavefronts(const uint64_t* at, uint32_t mask, uint32_t bytes) {
  const uint32_t parts = bytes <= 4 ? 1 : 2;
  const uint32_t lanes = kLanes / parts;
  Wavefronts out;
  for (uint32_t part = 0; part < parts; ++part) {
    const uint32_t part_mask = mask & ((lanes == 32 ? ~0u : (1u << lanes) - 1) << (part * lanes));
    if (part_mask == 0) continue;
    uint32_t distinct = 0;
    out.taken += passes(at, part_mask, bytes, distinct);
    out.ideal += (distinct + 31) / 32;
  }
  return out;
}

}  // namespace tilec::ptx
