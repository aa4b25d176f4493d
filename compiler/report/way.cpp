// The steady loop trips as often as the slices of K ask for; a loop round it, once a slice. Of the
// rest, the thread is taken to go the shortest way, in instructions, from the entry to the steady
// loop and from there to an exit, with the arms left out that are for edges or for other values of
// beta, as far as lines of the tile IR tell them: this is the way of a whole tile. Slices that were
// peeled off the loop are recognised by their multiply-adds. Where K leaves a remainder and another
// loop that multiplies follows, that loop does the last slice.
#include "compiler/report/way.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilec {
namespace {

using sass::Instruction;

bool is_exit(const sass::BasicBlock& block) {
  return block.successors.empty();
}

int multiply_adds_in(std::span<const Instruction> instructions, const sass::BasicBlock& block) {
  int sum = 0;
  for (size_t i = block.begin; i < block.end; ++i) sum += sass::multiply_adds(instructions[i]);
  return sum;
}

// What passing each block costs: its instructions, and far more for those of a wrong arm.
std::vector<int> costs_of(std::span<const Instruction> instructions, const sass::Flow& flow,
                          const WorkOfThread& work) {
  constexpr int kWrongArm = 1000;
  std::vector<int> cost;
  for (const sass::BasicBlock& block : flow.blocks) {
    cost.push_back(0);
    for (size_t i = block.begin; i < block.end; ++i) {
      if (sass::classify(instructions[i]) == sass::Class::nop) continue;
      cost.back() += i < work.avoided.size() && work.avoided[i] ? kWrongArm : 1;
    }
  }
  return cost;
}

// Blocks of the shortest way from `from` to the block `to`, or to an exit where `to` is none; both
// ends among them. `cost` is per block. Dijkstra's algorithm; the code has few blocks, so the next
// one is found by looking at all. Empty if there is no way.
std::vector<size_t> shortest_way(const sass::Flow& flow, const std::vector<int>& cost, size_t from,
                                 std::optional<size_t> to) {
  constexpr int kFar = std::numeric_limits<int>::max();
  std::vector<int> distance(flow.blocks.size(), kFar);
  std::vector<size_t> before(flow.blocks.size(), SIZE_MAX);
  std::vector<bool> done(flow.blocks.size(), false);
  distance[from] = 0;
  while (true) {
    size_t next = SIZE_MAX;
    for (size_t b = 0; b < flow.blocks.size(); ++b)
      if (!done[b] && distance[b] != kFar && (next == SIZE_MAX || distance[b] < distance[next]))
        next = b;
    if (next == SIZE_MAX) return {};
    if (to ? next == *to : is_exit(flow.blocks[next])) {
      std::vector<size_t> way;
      for (size_t b = next; b != SIZE_MAX; b = before[b]) way.push_back(b);
      std::ranges::reverse(way);
      return way;
    }
    done[next] = true;
    for (const size_t b : flow.blocks[next].successors) {
      const int through = distance[next] + cost[b];
      if (through >= distance[b]) continue;
      distance[b] = through;
      before[b] = next;
    }
  }
}

// The loop after `steady` that multiplies, outside of the loops round it: what is left of K. The
// innermost of those with most multiply-adds.
std::optional<size_t> find_rest_loop(std::span<const Instruction> instructions,
                                     const sass::Flow& flow, const sass::Loop& steady) {
  const std::vector<bool> reachable = sass::blocks_after(flow, steady.header);
  std::optional<size_t> best;
  int most = 0;
  for (size_t l = 0; l < flow.loops.size(); ++l) {
    const sass::Loop& loop = flow.loops[l];
    const bool apart = !loop.contains(steady.header) && !steady.contains(loop.header);
    if (!apart || !reachable[loop.header]) continue;
    const int sum = multiply_adds_of(instructions, flow, loop);
    if (sum == 0 || sum < most) continue;
    most = sum;
    best = l;
  }
  return best;
}

// A whole tile passes one loop behind the steady one: that of a cluster's sum.
void repeat_sum(const sass::Flow& flow, const sass::Loop& steady, int trips,
                std::vector<size_t>& after) {
  for (const sass::Loop& loop : flow.loops) {
    const auto first = std::ranges::find(after, loop.header);
    if (loop.contains(steady.header) || first == after.end()) continue;
    const std::vector<size_t> again = loop.blocks;
    for (int trip = 1; trip < trips; ++trip)
      after.insert(std::ranges::find(after, loop.header), again.begin(), again.end());
    return;
  }
}

}  // namespace

int multiply_adds_of(std::span<const Instruction> instructions, const sass::Flow& flow,
                     const sass::Loop& loop) {
  int sum = 0;
  for (const size_t block : loop.blocks) sum += multiply_adds_in(instructions, flow.blocks[block]);
  return sum;
}

std::optional<size_t> slice_loop(std::span<const Instruction> instructions, const sass::Flow& flow,
                                 const WorkOfThread& work, size_t which) {
  const double per_slice = double(work.fma_per_k) * work.tile_k;
  const sass::Loop& loop = flow.loops[which];
  if (multiply_adds_of(instructions, flow, loop) >= per_slice) return std::nullopt;
  return loop.parent;
}

LoopUnit unit_of(std::span<const Instruction> instructions, const sass::Flow& flow,
                 const WorkOfThread& work, size_t which) {
  const sass::Loop& loop = flow.loops[which];
  const double per_slice = double(work.fma_per_k) * work.tile_k;
  const int per_trip = multiply_adds_of(instructions, flow, loop);
  const std::optional<size_t> around = slice_loop(instructions, flow, work, which);
  if (!around) return {loop.blocks, per_trip / per_slice};
  LoopUnit unit;
  const auto trips = std::max(1L, std::lround(per_slice / per_trip));
  for (const size_t block : flow.loops[*around].blocks) {
    if (!loop.contains(block)) unit.blocks.push_back(block);
    if (block != loop.header) continue;
    for (long trip = 0; trip < trips; ++trip)
      unit.blocks.insert(unit.blocks.end(), loop.blocks.begin(), loop.blocks.end());
  }
  unit.slices = per_trip * static_cast<double>(trips) / per_slice;
  return unit;
}

std::optional<Way> find_way(std::span<const Instruction> instructions, const sass::Flow& flow,
                            const WorkOfThread& work, int64_t k) {
  const std::optional<size_t> which = sass::steady_loop(flow, instructions);
  if (!which) return std::nullopt;
  const sass::Loop& steady = flow.loops[*which];
  Way way{.steady = *which, .rest = find_rest_loop(instructions, flow, steady)};
  way.takes_rest = way.rest && k % work.tile_k != 0;

  // The loops' own blocks cost the way nothing: they are counted by their trips.
  std::vector<int> cost = costs_of(instructions, flow, work);
  std::vector<bool> looped(flow.blocks.size(), false);
  const auto set_loop = [&](size_t loop) {
    for (const size_t block : flow.loops[loop].blocks) {
      looped[block] = true;
      cost[block] = 0;
    }
  };
  if (const std::optional<size_t> around = slice_loop(instructions, flow, work, *which))
    set_loop(*around);
  set_loop(*which);
  if (way.takes_rest) set_loop(*way.rest);

  double outside = 0;  // multiply-adds
  std::vector<bool> passed(flow.blocks.size(), false);
  const auto walk = [&](size_t from, std::optional<size_t> to) {
    std::vector<size_t> blocks;
    for (const size_t block : shortest_way(flow, cost, from, to)) {
      if (looped[block] || passed[block]) continue;
      passed[block] = true;
      blocks.push_back(block);
      outside += multiply_adds_in(instructions, flow.blocks[block]);
    }
    return blocks;
  };
  way.before = walk(0, steady.header);
  const size_t last = way.takes_rest ? flow.loops[*way.rest].header : steady.header;
  if (way.takes_rest) way.between = walk(steady.header, last);
  way.after = walk(last, std::nullopt);
  if (work.reduce_trips > 1) repeat_sum(flow, steady, work.reduce_trips, way.after);

  // Whole slices outside of the loop were peeled from it; what is less belongs to the epilogue.
  const double per_slice = double(work.fma_per_k) * work.tile_k;
  const double slices =
      way.takes_rest ? std::floor(double(k) / work.tile_k) : std::ceil(double(k) / work.tile_k);
  way.slices = std::max(0.0, slices - std::floor(outside / per_slice));
  way.rest_slices = way.takes_rest ? 1 : 0;
  return way;
}

}  // namespace tilec
