// Control flow: basic blocks, dominators, natural loops, and which loop is the steady one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "compiler/sass/decode.h"

namespace tilec::sass {

/// Instructions begin .. end - 1, entered at the top and left at the bottom only.
struct BasicBlock {
  size_t begin = 0;
  size_t end = 0;
  std::vector<size_t> successors;  // indices of blocks
  std::vector<size_t> predecessors;
};

/// A natural loop: the blocks that reach a back edge to `header` without passing it.
struct Loop {
  size_t header = 0;             // block
  std::vector<size_t> blocks;    // rising, the header among them
  std::optional<size_t> parent;  // the smallest loop around it: index into Flow::loops
  int depth = 1;                 // 1: not within another
  bool contains(size_t block) const;
};

struct Flow {
  std::vector<BasicBlock> blocks;  // in order of the code; block 0 is the entry
  std::vector<Loop> loops;         // one a header; inner loops after those around them
  bool complete = true;            // false: an indirect branch leads we do not know where
};

/// Conditional is what has a guard or a predicate of its own; BRA, EXIT and RET end blocks, CALL is
/// taken to return. Code after the last reachable instruction (padding) makes unreached blocks.
Flow find_flow(std::span<const Instruction> instructions);

/// Index into `flow.loops` of the loop with most multiply-adds among those that hold no other loop
/// that multiplies: a loop over tiles, with the slices peeled off, has more. None without any.
std::optional<size_t> steady_loop(const Flow& flow, std::span<const Instruction> instructions);

/// Indices of the instructions of `loop`, padding left out, in order of the code.
std::vector<size_t> instructions_of(const Flow& flow, const Loop& loop,
                                    std::span<const Instruction> instructions);

/// For each block: whether it can follow `block`, or is it.
std::vector<bool> blocks_after(const Flow& flow, size_t block);

}  // namespace tilec::sass
