#include "dsl/banks.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tilec::dsl {
namespace {

constexpr int kLanes = 32;

using LaneOffsets = std::array<int64_t, kLanes>;

// Whether each lane has the address of the lane whose number differs in `bit`.
bool pairs_share(const LaneOffsets& offsets, size_t bit) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const int64_t mine = offsets[lane], other = offsets[lane ^ bit];
    if (mine != kInactive && other != kInactive && mine != other) return false;
  }
  return true;
}

// Lanes that go together: all of a warp up to 4 bytes each, half a warp with 8. With 16 bytes, a
// quarter; half a warp if neighbours, or lanes two apart, share their addresses throughout. The
// PTX machine counts by the same rule (runtime/ptx/pattern.cpp).
size_t phase_lanes(const LaneOffsets& offsets, int vector) {
  if (vector == 1) return kLanes;
  if (vector == 2) return kLanes / 2;
  return pairs_share(offsets, 1) || pairs_share(offsets, 2) ? kLanes / 2 : kLanes / 4;
}

struct Phase {
  int wavefronts = 0;  // the most distinct words that any one bank has to give; 0: no lane
  int least = 0;       // if the same words lay evenly over the banks
};

Phase phase_of(std::span<const int64_t> offsets, int vector) {
  std::array<std::vector<int64_t>, kBanks> words;
  int distinct = 0;
  Phase out;
  for (int64_t offset : offsets) {
    if (offset == kInactive) continue;
    for (int64_t word = offset; word < offset + vector; ++word) {
      std::vector<int64_t>& bank = words[static_cast<size_t>(word % kBanks)];
      if (std::find(bank.begin(), bank.end(), word) != bank.end()) continue;
      bank.push_back(word);
      ++distinct;
      out.wavefronts = std::max(out.wavefronts, static_cast<int>(bank.size()));
    }
  }
  out.least = (distinct + kBanks - 1) / kBanks;
  return out;
}

// Adds one warp-wide access to `traffic`, `times` over.
void add(Traffic& traffic, const LaneOffsets& offsets, int vector, int64_t times) {
  bool active = std::any_of(offsets.begin(), offsets.end(),
                            [](int64_t offset) { return offset != kInactive; });
  if (!active) return;
  const size_t together = phase_lanes(offsets, vector);
  for (size_t first = 0; first < kLanes; first += together) {
    auto lanes = std::span<const int64_t>(offsets).subspan(first, together);
    Phase phase = phase_of(lanes, vector);
    traffic.wavefronts += phase.wavefronts * times;
    traffic.least += phase.least * times;
  }
  traffic.accesses += times;
}

// Every `step`-th of `count` is looked at, so that at most `most` are.
int step_of(int count, int most) {
  return most == 0 ? 1 : std::max(1, (count + most - 1) / most);
}

}  // namespace

int wavefronts(std::span<const int64_t> offsets, int vector) {
  LaneOffsets lanes;
  lanes.fill(kInactive);
  std::copy_n(offsets.begin(), std::min<size_t>(offsets.size(), kLanes), lanes.begin());
  Traffic traffic;
  add(traffic, lanes, vector, 1);
  return static_cast<int>(traffic.wavefronts);
}

double Traffic::per_access() const {
  return accesses == 0 ? 0 : static_cast<double>(wavefronts) / static_cast<double>(accesses);
}

int thread_element(const Spec& spec, const Derived& derived, bool along_m, int thread, int i) {
  const FragmentAxis& axis = along_m ? derived.m : derived.n;
  int warp = spec.warp ? thread / kLanes : 0;
  int lane = spec.warp ? thread % kLanes : thread;
  const auto [lane_m, lane_n] = lane_position(spec.lanes, {derived.m.lanes, derived.n.lanes}, lane);
  int warp_m = warp / derived.warp_grid.n;
  int warp_n = warp % derived.warp_grid.n;
  int within =
      (along_m ? lane_m : lane_n) * axis.piece + i / axis.piece * axis.stride + i % axis.piece;
  if (!spec.warp) return within;
  return (along_m ? warp_m * spec.warp->m : warp_n * spec.warp->n) + within;
}

Traffic copy_stores(const Spec& spec, const Derived& derived, bool operand_a, int most_samples) {
  const CopyMap& copy = operand_a ? derived.copy_a : derived.copy_b;
  Traffic traffic;
  if (copy.rows == 0) return traffic;
  SliceMap map = slice_map(spec, operand_a);
  bool global_rows_are_k = operand_a ? spec.layout.a_transposed : !spec.layout.b_transposed;
  int store = copy_store_vector(spec, operand_a);
  int per_row = copy.columns / copy.vector;
  int warp_step = step_of(derived.warps, most_samples);
  int pass_step = step_of(copy.passes, most_samples);
  for (int pass = 0; pass < copy.passes; pass += pass_step) {
    for (int warp = 0; warp < derived.warps; warp += warp_step) {
      for (int part = 0; part < copy.vector; part += store) {
        LaneOffsets offsets;
        offsets.fill(kInactive);
        for (int lane = 0; lane < kLanes; ++lane) {
          int thread = warp * kLanes + lane;
          int access = pass * derived.threads + thread;
          int row = access / per_row;
          if (thread >= derived.threads || row >= copy.rows) continue;
          int column = access % per_row * copy.vector + part;
          offsets[static_cast<size_t>(lane)] =
              global_rows_are_k ? map.offset(row, column) : map.offset(column, row);
        }
        add(traffic, offsets, store, int64_t{warp_step} * pass_step);
      }
    }
  }
  return traffic;
}

Traffic fragment_loads(const Spec& spec, const Derived& derived, bool operand_a, int most_samples) {
  Traffic traffic;
  if (spec.copy == CopyMode::none) return traffic;
  SliceMap map = slice_map(spec, operand_a);
  int vector = operand_a ? derived.fragment_vector_a : derived.fragment_vector_b;
  int count = operand_a ? derived.m.count : derived.n.count;
  int warp_step = step_of(derived.warps, most_samples);
  int k_step = step_of(spec.tile_k, most_samples);
  // Another piece of the fragment is the same pattern moved along; a swizzle may change it.
  int i_step = most_samples > 0 && map.groups == 0 ? count : vector;
  for (int k = 0; k < spec.tile_k; k += k_step) {
    for (int warp = 0; warp < derived.warps; warp += warp_step) {
      for (int i = 0; i < count; i += i_step) {
        LaneOffsets offsets;
        offsets.fill(kInactive);
        for (int lane = 0; lane < kLanes; ++lane) {
          int thread = warp * kLanes + lane;
          if (thread >= derived.threads) continue;
          int x = thread_element(spec, derived, operand_a, thread, i);
          offsets[static_cast<size_t>(lane)] = map.offset(k, x);
        }
        add(traffic, offsets, vector, int64_t{warp_step} * k_step * (i_step / vector));
      }
    }
  }
  return traffic;
}

}  // namespace tilec::dsl
