// Executed counts from static ones: which blocks a thread of a whole tile passes (way.h), and how
// often.
#include <algorithm>
#include <cmath>

#include "compiler/report/count.h"
#include "compiler/report/steps.h"
#include "compiler/report/way.h"

namespace tilec {
namespace {

using sass::Class;
using sass::Instruction;

struct Weight {
  int instructions = 0;
  int fma = 0;
  int multiply_adds = 0;
};

std::vector<Weight> weigh_blocks(std::span<const Instruction> instructions, const sass::Flow& flow,
                                 const WorkOfThread& work) {
  std::vector<Weight> weights;
  for (const sass::BasicBlock& block : flow.blocks) {
    Weight weight;
    for (size_t i = block.begin; i < block.end; ++i) {
      // A NOP on the way is executed like all others; padding stands behind the last exit.
      ++weight.instructions;
      if (class_of(instructions[i], work) != Class::fma) continue;
      ++weight.fma;
      weight.multiply_adds += sass::multiply_adds(instructions[i]);
    }
    weights.push_back(weight);
  }
  return weights;
}

// An `if` whose else arm whole tiles with beta = 0 do not take.
bool is_for_whole_tiles(std::string_view line) {
  return line.find("if whole {") != std::string_view::npos ||
         line.find("if beta_is_zero {") != std::string_view::npos;
}

// By line of the tile IR, 1-based: whether it stands in such an else arm.
std::vector<bool> else_arms(std::string_view tile) {
  struct Open {
    bool ours = false;
    bool in_else = false;
  };
  std::vector<bool> out{false};
  std::vector<Open> open;
  for (const std::string_view line : lines_of(tile)) {
    const size_t first = line.find_first_not_of(' ');
    const bool closes = first != std::string_view::npos && line[first] == '}';
    const bool opens = line.ends_with('{');
    if (closes && opens && !open.empty()) {
      open.back().in_else = true;
    } else if (closes && !open.empty()) {
      open.pop_back();
    } else if (opens) {
      open.push_back({.ours = is_for_whole_tiles(line)});
    }
    out.push_back(std::ranges::any_of(open, [](const Open& o) { return o.ours && o.in_else; }));
  }
  return out;
}

}  // namespace

std::vector<bool> avoided_by_whole_tiles(std::span<const Instruction> instructions,
                                         std::span<const sass::LineRow> lines,
                                         std::string_view tile) {
  const std::vector<bool> arms = else_arms(tile);
  std::vector<bool> out;
  for (const Instruction& instruction : instructions) {
    const auto line = static_cast<size_t>(std::max(0, sass::line_at(lines, instruction.offset)));
    out.push_back(line < arms.size() && arms[line]);
  }
  return out;
}

std::optional<Executed> count_executed(std::span<const Instruction> instructions,
                                       const sass::Flow& flow, const WorkOfThread& work,
                                       dsl::GemmShape shape) {
  const std::optional<Way> way = find_way(instructions, flow, work, shape.k);
  if (!way) return std::nullopt;
  const double per_slice = double(work.fma_per_k) * work.tile_k;
  std::vector<double> times(flow.blocks.size(), 0);  // how often each block is passed
  for (const auto* blocks : {&way->before, &way->between, &way->after})
    for (const size_t block : *blocks) times[block] += 1;
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
    out.multiply_adds += times[b] * weights[b].multiply_adds;
  }
  out.fma_share = out.instructions == 0 ? 0 : out.fma / out.instructions;
  return out;
}

}  // namespace tilec
