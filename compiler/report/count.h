// The counting under a report: loops, shares, lines, trips.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/report/report.h"
#include "compiler/sass/cubin.h"
#include "compiler/sass/decode.h"
#include "compiler/sass/flow.h"

namespace tilec {

/// What the counting has to know of the spec.
struct WorkOfThread {
  int fma_per_k = 1;          // multiply-adds of a thread for one k: thread tile m * n
  int tile_k = 1;             // k of a slice
  double ideal_share = 0;     // from the spec alone
  bool copies_slices = true;  // false: fragments are loaded straight from global memory
  int reduce_trips = 1;       // round the loop in which a cluster's block adds up its tile
  std::vector<bool> avoided;  // by instruction: of an arm that a whole tile does not take
};

/// Instructions of the arms that a whole tile with beta = 0 does not take, by the lines of the tile
/// IR that they came from: the else arms of `if whole` and `if beta_is_zero`.
std::vector<bool> avoided_by_whole_tiles(std::span<const sass::Instruction> instructions,
                                         std::span<const sass::LineRow> lines,
                                         std::string_view tile);

/// The class of `instruction` in a kernel that copies its slices, or does not.
sass::Class class_of(const sass::Instruction& instruction, const WorkOfThread& work);

KernelCounts count_kernel(std::span<const sass::Instruction> instructions,
                          const WorkOfThread& work);

/// `tile`: the text that line numbers point into.
std::optional<SteadyLoop> count_steady_loop(std::span<const sass::Instruction> instructions,
                                            const sass::Flow& flow, const WorkOfThread& work,
                                            std::span<const sass::LineRow> lines,
                                            std::string_view tile);

/// None without a steady loop. `blocks` is left at 0, `multiply_adds` are one thread's. See
/// executed.cpp for what is assumed.
std::optional<Executed> count_executed(std::span<const sass::Instruction> instructions,
                                       const sass::Flow& flow, const WorkOfThread& work,
                                       dsl::GemmShape shape);

/// The itemised gap of a loop with `by_class`, `ideal` share and `expected` fragment loads.
std::vector<GapRow> itemise_gap(const sass::ClassCounts& by_class, double ideal, double expected);

}  // namespace tilec
