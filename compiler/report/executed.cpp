// Executed counts from static ones: which blocks a thread of a whole tile passes, and how often.
//
// The steady loop trips as often as the slices of K ask for; a loop round it, once a slice. Of the
// rest, the thread is taken to go the shortest way, in instructions, from the entry to the steady
// loop and from there to an exit: guards and the arms for edges and for other values of beta are
// longer, so this is the way of a whole tile. Slices that were peeled off the loop are recognised
// by their multiply-adds. Where K leaves a remainder and another loop that multiplies follows, that
// loop does the last slice.

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/report/count.h"

namespace tilec {
namespace {

using sass::Class;
using sass::Instruction;

struct Weight {
  int instructions = 0;  // padding left out
  int fma = 0;
  int multiply_adds = 0;
};

std::vector<Weight> weigh_blocks(std::span<const Instruction> instructions, const sass::Flow& flow,
                                 const WorkOfThread& work) {
  std::vector<Weight> weights;
  for (const sass::BasicBlock& block : flow.blocks) {
    Weight weight;
    for (size_t i = block.begin; i < block.end; ++i) {
      const Class kind = class_of(instructions[i], work);
      if (kind == Class::nop) continue;
      ++weight.instructions;
      if (kind == Class::fma) ++weight.fma;
      weight.multiply_adds += sass::multiply_adds(instructions[i]);
    }
    weights.push_back(weight);
  }
  return weights;
}

bool is_exit(const sass::BasicBlock& block) {
  return block.successors.empty();
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

int multiply_adds_of(const sass::Loop& loop, const std::vector<Weight>& weights) {
  int sum = 0;
  for (const size_t block : loop.blocks) sum += weights[block].multiply_adds;
  return sum;
}

// The loop after `steady` that multiplies, outside of the loops round it: what is left of K. The
// innermost of those with most multiply-adds.
const sass::Loop* find_remainder_loop(const sass::Flow& flow, const sass::Loop& steady,
                                      const std::vector<Weight>& weights) {
  const std::vector<bool> reachable = sass::blocks_after(flow, steady.header);
  const sass::Loop* best = nullptr;
  int most = 0;
  for (const sass::Loop& loop : flow.loops) {
    const bool apart = !loop.contains(steady.header) && !steady.contains(loop.header);
    if (!apart || !reachable[loop.header]) continue;
    const int sum = multiply_adds_of(loop, weights);
    if (sum == 0 || sum < most) continue;
    most = sum;
    best = &loop;
  }
  return best;
}

}  // namespace

std::optional<Executed> count_executed(std::span<const Instruction> instructions,
                                       const sass::Flow& flow, const WorkOfThread& work,
                                       dsl::GemmShape shape) {
  const std::optional<size_t> which = sass::steady_loop(flow, instructions);
  if (!which) return std::nullopt;
  const sass::Loop& steady = flow.loops[*which];
  const std::vector<Weight> weights = weigh_blocks(instructions, flow, work);
  const double per_slice = double(work.fma_per_k) * work.tile_k;

  // How often each block is passed. The loops' own blocks cost the way nothing: they are counted
  // by their trips.
  std::vector<double> times(flow.blocks.size(), 0);
  std::vector<int> cost;
  cost.reserve(weights.size());
  for (const Weight& weight : weights) cost.push_back(weight.instructions);
  const auto set_loop = [&](const sass::Loop& loop, double trips) {
    for (const size_t block : loop.blocks) {
      times[block] = trips;
      cost[block] = 0;
    }
  };
  const sass::Loop* rest = find_remainder_loop(flow, steady, weights);
  const bool has_remainder = rest != nullptr && shape.k % work.tile_k != 0;
  if (steady.parent) set_loop(flow.loops[*steady.parent], 0);
  set_loop(steady, 0);
  if (has_remainder) set_loop(*rest, per_slice / multiply_adds_of(*rest, weights));

  std::vector<std::vector<size_t>> ways = {shortest_way(flow, cost, 0, steady.header)};
  const size_t last = has_remainder ? rest->header : steady.header;
  if (has_remainder) ways.push_back(shortest_way(flow, cost, steady.header, rest->header));
  ways.push_back(shortest_way(flow, cost, last, std::nullopt));
  const auto is_looped = [&](size_t block) {
    return steady.contains(block) || (has_remainder && rest->contains(block)) ||
           (steady.parent && flow.loops[*steady.parent].contains(block));
  };
  double outside = 0;  // multiply-adds
  for (const std::vector<size_t>& way : ways)
    for (const size_t block : way)
      if (!is_looped(block) && times[block] == 0) {
        times[block] = 1;
        outside += weights[block].multiply_adds;
      }

  // Whole slices outside of the loop were peeled from it; what is less belongs to the epilogue.
  const double slices = has_remainder ? std::floor(double(shape.k) / work.tile_k)
                                      : std::ceil(double(shape.k) / work.tile_k);
  const double left = std::max(0.0, slices - std::floor(outside / per_slice));
  Executed out{.shape = shape};
  out.trips = left * per_slice / multiply_adds_of(steady, weights);
  if (steady.parent)
    for (const size_t block : flow.loops[*steady.parent].blocks) times[block] = left;
  for (const size_t block : steady.blocks) times[block] = out.trips;

  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    out.instructions += times[b] * weights[b].instructions;
    out.fma += times[b] * weights[b].fma;
  }
  out.fma_share = out.instructions == 0 ? 0 : out.fma / out.instructions;
  return out;
}

}  // namespace tilec
