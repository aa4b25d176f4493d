#include "runtime/ptx/pattern.h"

#include <algorithm>
#include <array>

namespace tilec::ptx {
namespace {

// Passes for the lanes of `mask` together: the most distinct words that any bank has to give.
void add_passes(const Places& places, uint32_t mask, uint32_t bytes, Wavefronts& out) {
  std::array<uint64_t, kLanes * 9> words;
  size_t count = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const uint64_t first = places[first_lane(left)];
    for (uint64_t word = first / 4; word <= (first + bytes - 1) / 4; ++word) words[count++] = word;
  }
  const auto begin = words.begin();
  std::sort(begin, begin + static_cast<ptrdiff_t>(count));
  const auto end = std::unique(begin, begin + static_cast<ptrdiff_t>(count));
  std::array<uint32_t, 32> banks{};
  for (auto word = begin; word != end; ++word) ++banks[*word % 32];
  const uint32_t ideal = (static_cast<uint32_t>(end - begin) + 31) / 32;
  out.taken += *std::max_element(banks.begin(), banks.end());
  out.ideal += ideal;
  for (size_t bank = 0; bank < banks.size(); ++bank)
    if (banks[bank] > ideal)
      out.crowded[bank] = static_cast<uint8_t>(out.crowded[bank] + banks[bank] - ideal);
}

// Whether each lane of `mask` has the address of the lane whose number differs in `bit`.
bool pairs_share(const Places& places, uint32_t mask, size_t bit) {
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left), other = lane ^ bit;
    if ((mask >> other & 1) != 0 && places[lane] != places[other]) return false;
  }
  return true;
}

// How many parts of a warp are served one after the other. Up to 4 bytes a lane go in one go, 8
// bytes by half warps. 16 bytes go by quarters; if lanes share addresses with their neighbours, or
// with the lanes beside those, throughout the warp, by halves. (Seen on an H200: the ladder's warp
// tiles, tests/ptx/data/wavefronts_h200.txt.)
uint32_t parts_of(const Places& places, uint32_t mask, uint32_t bytes) {
  if (bytes <= 4) return 1;
  if (bytes == 8) return 2;
  return pairs_share(places, mask, 1) || pairs_share(places, mask, 2) ? 2 : 4;
}

std::vector<Grain> grains_of(const Places& places, uint32_t mask, uint32_t bytes, uint32_t grain) {
  std::vector<Grain> grains;
  if (mask == 0) return grains;
  const auto base = static_cast<int64_t>(places[first_lane(mask)] / grain);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    const auto first = static_cast<int64_t>(places[lane] / grain) - base;
    for (uint32_t k = 0; k < std::max(1u, bytes / grain); ++k)
      grains.push_back({static_cast<int32_t>(first + k), static_cast<uint8_t>(lane), false});
  }
  std::sort(grains.begin(), grains.end(), [](const Grain& a, const Grain& b) {
    return std::pair(a.offset, a.lane) < std::pair(b.offset, b.lane);
  });
  size_t kept = 0;
  for (const Grain& each : grains) {
    if (kept > 0 && grains[kept - 1].offset == each.offset)
      grains[kept - 1].shared = true;
    else
      grains[kept++] = each;
  }
  grains.resize(kept);
  return grains;
}

}  // namespace

const Pattern& pattern_of(Pattern& last, PatternKind kind, const Places& places, uint32_t mask,
                          uint32_t bytes, uint32_t grain) {
  const uint64_t first = mask == 0 ? 0 : places[first_lane(mask)];
  Places fresh;
  distances(places, mask, first, fresh);
  // Turning all banks by the same number of words changes no conflict; sectors have 32 bytes.
  const uint64_t phase = first % (kind == PatternKind::sectors ? 32 : 4);
  if (mask == last.mask && phase == last.phase && equal(fresh, last.distances)) return last;
  last.mask = mask;
  last.phase = phase;
  last.distances = fresh;
  if (kind == PatternKind::sectors) {
    last.units = count_sectors(places, mask, bytes);
  } else {
    const Wavefronts wavefronts = count_wavefronts(places, mask, bytes);
    last.units = wavefronts.taken;
    last.ideal = wavefronts.ideal;
    last.crowded = wavefronts.crowded;
    last.first_bank = static_cast<uint32_t>(first / 4 % 32);
  }
  if (grain != 0) last.grains = grains_of(places, mask, bytes, grain);
  return last;
}

uint32_t count_sectors(const Places& places, uint32_t mask, uint32_t bytes) {
  // At most two sectors a lane and 32 bytes.
  std::array<uint64_t, 2 * kLanes> sectors;
  size_t count = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const uint64_t address = places[first_lane(left)];
    const uint64_t first = address / 32, last = (address + bytes - 1) / 32;
    if (count == 0 || sectors[count - 1] != first) sectors[count++] = first;
    if (last != first) sectors[count++] = last;
  }
  std::sort(sectors.begin(), sectors.begin() + static_cast<ptrdiff_t>(count));
  const auto end = std::unique(sectors.begin(), sectors.begin() + static_cast<ptrdiff_t>(count));
  return static_cast<uint32_t>(end - sectors.begin());
}

Wavefronts count_wavefronts(const Places& places, uint32_t mask, uint32_t bytes) {
  const uint32_t parts = parts_of(places, mask, bytes);
  const uint32_t lanes = kLanes / parts;
  Wavefronts out;
  for (uint32_t part = 0; part < parts; ++part) {
    const uint32_t part_mask = mask & ((lanes == 32 ? ~0u : (1u << lanes) - 1) << (part * lanes));
    if (part_mask == 0) continue;
    add_passes(places, part_mask, bytes, out);
  }
  return out;
}

}  // namespace tilec::ptx
