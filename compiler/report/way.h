// The way that a thread of a whole tile takes through the code: to the steady loop, round it, and
// out again. What is executed (executed.cpp) and what it costs (predict.cpp) both go this way.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/report/count.h"

namespace tilec {

/// Blocks are indices into Flow::blocks, in the order in which they are passed.
struct Way {
  size_t steady = 0;            // index into Flow::loops
  std::optional<size_t> rest;   // the loop for what is left of K, and for blocks at edges
  std::vector<size_t> before;   // from the entry to the steady loop, loops left out
  std::vector<size_t> between;  // from the steady loop to the rest loop; empty if not taken
  std::vector<size_t> after;    // from there to an exit; several times what a cluster's sum repeats
  bool takes_rest = false;      // whether K leaves a remainder that the rest loop does
  double slices = 0;            // of K, that the steady loop (with the loop round it) does
  double rest_slices = 0;       // that the rest loop does
};

/// What one trip round a loop does: of the loop itself, or of the loop round it where that walks
/// the slices. Blocks may stand in it several times.
struct LoopUnit {
  std::vector<size_t> blocks;
  double slices = 0;  // of K, consumed by it
};

/// None without a loop that multiplies.
std::optional<Way> find_way(std::span<const sass::Instruction> instructions, const sass::Flow& flow,
                            const WorkOfThread& work, int64_t k);

/// The loop round `loop` that walks the slices: there is one where `loop` does less than a slice.
/// What stands round a loop of whole slices walks tiles (`persistent`).
std::optional<size_t> slice_loop(std::span<const sass::Instruction> instructions,
                                 const sass::Flow& flow, const WorkOfThread& work, size_t loop);

LoopUnit unit_of(std::span<const sass::Instruction> instructions, const sass::Flow& flow,
                 const WorkOfThread& work, size_t loop);

/// Multiply-adds of one lane in `loop`, each block once.
int multiply_adds_of(std::span<const sass::Instruction> instructions, const sass::Flow& flow,
                     const sass::Loop& loop);

}  // namespace tilec
