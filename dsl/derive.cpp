#include "dsl/derive.h"

#include <algorithm>

namespace tilec::dsl {
namespace {

constexpr int kLanes = 32;           // of a warp
constexpr int kElementBytes = 4;     // f32
constexpr int kStageAlignment = 16;  // bytes, the widest access
constexpr int kAddressRegisters =
    24;                              // pointers, counters, leading dimensions; from ptxas's output
constexpr int kFloorRegisters = 16;  // below which no kernel of ours was seen to assemble
constexpr int kSchedulers = 4;       // warps' registers are given out to schedulers evenly

int64_t ceil_divide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t round_up(int64_t a, int64_t to) {
  return ceil_divide(a, to) * to;
}

// A spec that is still being checked may have tiles that do not fit each other; no count is 0.
int at_least_one(int value) {
  return std::max(1, value);
}

int fragment_extent(const Spec& spec, bool operand_a) {
  return operand_a ? spec.thread.m : spec.thread.n;
}

int piece_of(const Spec& spec, bool operand_a) {
  int count = fragment_extent(spec, operand_a);
  if (spec.fragment == FragmentShape::whole) return count;
  return widest_vector(spec.vector_shared, count);
}

const SharedLayout& shared_of(const Spec& spec, bool operand_a) {
  return operand_a ? spec.shared_a : spec.shared_b;
}

// Whether a stored row of the operand in global memory runs along k.
bool global_rows_run_along_k(const Spec& spec, bool operand_a) {
  return operand_a ? !spec.layout.a_transposed : spec.layout.b_transposed;
}

// Padded rows must be a multiple of an access that lies along them.
int stride_vector(const Spec& spec, bool operand_a, int vector) {
  int padding = shared_of(spec, operand_a).padding;
  return padding == 0 ? vector : widest_vector(vector, padding);
}

int copy_vector(const Spec& spec, bool operand_a) {
  if (spec.copy == CopyMode::none) return 1;
  int vector = widest_vector(spec.vector_global, global_row_length(spec, operand_a));
  if (!shared_of(spec, operand_a).transposed) return stride_vector(spec, operand_a, vector);
  // cp.async moves each access to one place, so a turned slice goes element by element.
  return spec.copy == CopyMode::async ? 1 : vector;
}

bool fragments_contiguous(const Spec& spec, bool operand_a) {
  return global_rows_run_along_k(spec, operand_a) == shared_of(spec, operand_a).transposed;
}

int fragment_vector(const Spec& spec, bool operand_a) {
  if (spec.copy == CopyMode::none) {
    // Straight from global memory, where a stored row runs along the thread's elements.
    if (global_rows_run_along_k(spec, operand_a)) return 1;
    return widest_vector(spec.vector_global, fragment_extent(spec, operand_a));
  }
  if (!fragments_contiguous(spec, operand_a)) return 1;
  int vector = widest_vector(spec.vector_shared, piece_of(spec, operand_a));
  return stride_vector(spec, operand_a, vector);
}

FragmentAxis fragment_axis(const Spec& spec, bool operand_a) {
  FragmentAxis axis;
  axis.count = fragment_extent(spec, operand_a);
  axis.piece = piece_of(spec, operand_a);
  axis.lanes = at_least_one(operand_a ? spec.lane_grid.m : spec.lane_grid.n);
  axis.stride = spec.fragment == FragmentShape::split ? axis.lanes * axis.piece : 0;
  return axis;
}

CopyMap copy_map(const Spec& spec, bool operand_a, int threads) {
  if (spec.copy == CopyMode::none) return {0, 0, 0, 0};
  CopyMap map;
  int x = operand_a ? spec.tile.m : spec.tile.n;
  bool along_k = global_rows_run_along_k(spec, operand_a);
  map.rows = along_k ? x : spec.tile_k;
  map.columns = along_k ? spec.tile_k : x;
  map.vector = copy_vector(spec, operand_a);
  int accesses = map.rows * (map.columns / map.vector);
  map.passes = static_cast<int>(ceil_divide(accesses, threads));
  return map;
}

int64_t stage_bytes(const Spec& spec, bool operand_a) {
  if (spec.copy == CopyMode::none) return 0;
  SliceMap map = slice_map(spec, operand_a);
  int64_t elements = static_cast<int64_t>(map.rows) * map.row_stride;
  return round_up(elements * kElementBytes, kStageAlignment);
}

// Through registers, a slice waits in registers while the block computes on the one before it;
// with one stage nothing is computed meanwhile, and fragments and slice share their registers.
int registers_expected(const Spec& spec, const Derived& derived) {
  int fragments = spec.thread.m + spec.thread.n;
  int staging = 0;
  if (spec.copy == CopyMode::through_registers) {
    staging = derived.copy_a.passes * derived.copy_a.vector +
              derived.copy_b.passes * derived.copy_b.vector;
  }
  int live = spec.stages > 1 ? fragments + staging : std::max(fragments, staging);
  int64_t sum = int64_t{spec.thread.m} * spec.thread.n + live + kAddressRegisters;
  return static_cast<int>(round_up(sum, 8));
}

double ideal_share(const Spec& spec, const Derived& derived) {
  double fmas = static_cast<double>(spec.thread.m) * spec.thread.n;
  double loads = static_cast<double>(spec.thread.m) / derived.fragment_vector_a +
                 static_cast<double>(spec.thread.n) / derived.fragment_vector_b;
  return fmas / (fmas + loads);
}

}  // namespace

int widest_vector(int bound, int64_t extent) {
  int vector = 1;
  while (vector * 2 <= bound && extent % (vector * 2) == 0) vector *= 2;
  return vector;
}

int global_row_length(const Spec& spec, bool operand_a) {
  if (global_rows_run_along_k(spec, operand_a)) return spec.tile_k;
  return operand_a ? spec.tile.m : spec.tile.n;
}

int copy_store_vector(const Spec& spec, bool operand_a) {
  return shared_of(spec, operand_a).transposed ? 1 : copy_vector(spec, operand_a);
}

SliceMap slice_map(const Spec& spec, bool operand_a) {
  const SharedLayout& layout = shared_of(spec, operand_a);
  SliceMap map;
  int x = operand_a ? spec.tile.m : spec.tile.n;
  map.rows_are_k = fragments_contiguous(spec, operand_a);
  map.rows = map.rows_are_k ? spec.tile_k : x;
  map.row_length = map.rows_are_k ? x : spec.tile_k;
  map.row_stride = map.row_length + layout.padding;
  map.group = std::max(fragment_vector(spec, operand_a), copy_store_vector(spec, operand_a));
  map.groups = layout.swizzled ? map.row_length / map.group : 0;
  return map;
}

int64_t shared_offset(const Spec& spec, bool operand_a, int k, int x) {
  return slice_map(spec, operand_a).offset(k, x);
}

int shared_row_stride(const Spec& spec, bool operand_a) {
  return slice_map(spec, operand_a).row_stride;
}

int registers_needed(const Extent& thread) {
  return thread.m * thread.n + thread.m + thread.n + kFloorRegisters;
}

int registers_allowed(const Spec& spec, int threads, const Limits& limits) {
  // Registers are given out to whole warps.
  int64_t resident = round_up(threads, kLanes) * std::max(1, spec.blocks_per_sm);
  int by_file = static_cast<int>(limits.registers_per_sm / resident / 8 * 8);
  int allowed = std::min(limits.registers_per_thread, by_file);
  return spec.registers > 0 ? std::min(allowed, spec.registers) : allowed;
}

int Residency::blocks() const {
  return std::min({by_threads, by_registers, by_shared, by_limit});
}

Residency residency(const Derived& derived, const Spec& spec, const Limits& limits) {
  Residency out;
  int warps = std::max(1, derived.warps);
  out.by_limit = limits.blocks_per_sm;
  out.by_threads = limits.threads_per_sm / (warps * kLanes);
  int allowed = std::max(kFloorRegisters, registers_allowed(spec, derived.threads, limits));
  int64_t registers = std::min(derived.registers_expected, allowed);
  // The occupancy rule of the CUDA toolkit: a warp takes whole allocation units, and the warps
  // that fit are dealt to the schedulers evenly.
  int64_t warp_registers = round_up(registers * kLanes, limits.register_allocation_unit);
  int64_t fitting = limits.registers_per_sm / warp_registers / kSchedulers * kSchedulers;
  out.by_registers = static_cast<int>(fitting / warps);
  int64_t shared = derived.shared_bytes + limits.shared_bytes_reserved;
  out.by_shared = static_cast<int>(limits.shared_bytes_per_sm / shared);
  return out;
}

Derived derive(const Spec& spec, const Limits& limits) {
  Derived derived;
  derived.warp_grid = {1, 1};
  if (spec.warp) {
    derived.warp_grid = {at_least_one(spec.tile.m / spec.warp->m),
                         at_least_one(spec.tile.n / spec.warp->n)};
  }
  derived.m = fragment_axis(spec, true);
  derived.n = fragment_axis(spec, false);
  derived.threads = derived.warp_grid.m * derived.warp_grid.n * derived.m.lanes * derived.n.lanes;
  derived.warps = static_cast<int>(ceil_divide(derived.threads, kLanes));
  derived.copy_a = copy_map(spec, true, derived.threads);
  derived.copy_b = copy_map(spec, false, derived.threads);
  derived.vector_c = widest_vector(spec.vector_global, derived.n.piece);
  derived.fragment_vector_a = fragment_vector(spec, true);
  derived.fragment_vector_b = fragment_vector(spec, false);
  derived.shared_bytes_a = stage_bytes(spec, true);
  derived.shared_bytes_b = stage_bytes(spec, false);
  if (spec.cluster > 1)
    derived.shared_bytes_parts = int64_t{spec.tile.m} * spec.tile.n * kElementBytes;
  derived.shared_bytes = std::max(spec.stages * (derived.shared_bytes_a + derived.shared_bytes_b),
                                  derived.shared_bytes_parts);
  derived.registers_expected = registers_expected(spec, derived);
  derived.blocks_per_sm = residency(derived, spec, limits).blocks();
  derived.ideal_share = ideal_share(spec, derived);
  return derived;
}

// The sum comes when the accumulators are free: no more registers than theirs, and no more loads
// under way than keep the road between SMs busy.
Pieces pieces_of(const Extent& thread, int vector, int blocks) {
  constexpr int kPartsAtOnce = 16;  // loads of a thread
  const int elements = thread.m * thread.n;
  Pieces out;
  out.all = elements / vector;
  out.turns = static_cast<int>(ceil_divide(out.all, blocks));
  out.at_once =
      std::clamp(std::min(kPartsAtOnce / blocks, elements / (blocks * vector)), 1, out.turns);
  while (out.turns % out.at_once != 0) --out.at_once;
  return out;
}

std::vector<bool> interleaved_bits(const Extent& grid) {
  std::vector<bool> along_m;
  for (int m = 1, n = 1; m < grid.m || n < grid.n;) {
    const bool turn_of_m = along_m.size() % 2 == 1;
    const bool takes_m = n >= grid.n || (m < grid.m && turn_of_m);
    (takes_m ? m : n) *= 2;
    along_m.push_back(takes_m);
  }
  return along_m;
}

Extent lane_position(LaneOrder order, const Extent& grid, int lane) {
  if (order == LaneOrder::rows) return {lane % grid.m, lane / grid.m};
  if (order == LaneOrder::columns) return {lane / grid.n, lane % grid.n};
  Extent at{0, 0};
  Extent unit{1, 1};
  for (const bool along_m : interleaved_bits(grid)) {
    int& coordinate = along_m ? at.m : at.n;
    int& weight = along_m ? unit.m : unit.n;
    coordinate += lane % 2 * weight;
    weight *= 2;
    lane /= 2;
  }
  return at;
}

}  // namespace tilec::dsl
