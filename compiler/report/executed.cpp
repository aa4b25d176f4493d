// Executed counts from static ones: which blocks a thread of a whole tile passes (way.h), and how
// often.
#include <algorithm>
#include <cmath>

#include "compiler/report/count.h"
#include "compiler/report/way.h"

namespace tilec {
namespace {

using sass::Class;
using sass::Instruction;

struct Weight {
  int instructions = 0;  // padding left out
  int fma = 0;
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
    }
    weights.push_back(weight);
  }
  return weights;
}

}  // namespace

std::optional<Executed> count_executed(std::span<const Instruction> instructions,
                                       const sass::Flow& flow, const WorkOfThread& work,
                                       dsl::GemmShape shape) {
  const std::optional<Way> way = find_way(instructions, flow, work, shape.k);
  if (!way) return std::nullopt;
  const double per_slice = double(work.fma_per_k) * work.tile_k;
  std::vector<double> times(flow.blocks.size(), 0);  // how often each block is passed
  for (const auto* blocks : {&way->before, &way->between, &way->after})
    for (const size_t block : *blocks) times[block] = 1;
  const auto set_loop = [&](const sass::Loop& loop, double trips) {
    for (const size_t block : loop.blocks) times[block] = trips;
  };
  const sass::Loop& steady = flow.loops[way->steady];
  if (way->takes_rest) {
    const sass::Loop& rest = flow.loops[*way->rest];
    set_loop(rest, per_slice / multiply_adds_of(instructions, flow, rest));
  }
  Executed out{.shape = shape};
  out.trips = way->slices * per_slice / multiply_adds_of(instructions, flow, steady);
  if (const std::optional<size_t> around = slice_loop(instructions, flow, work, way->steady))
    set_loop(flow.loops[*around], way->slices);
  set_loop(steady, out.trips);

  const std::vector<Weight> weights = weigh_blocks(instructions, flow, work);
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    out.instructions += times[b] * weights[b].instructions;
    out.fma += times[b] * weights[b].fma;
  }
  out.fma_share = out.instructions == 0 ? 0 : out.fma / out.instructions;
  return out;
}

}  // namespace tilec
