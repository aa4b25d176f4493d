// From the loop to the kernel: blocks, waves and clock, and where the share of peak goes.
//
//   share of peak = m n k / (cycles * SMs * f32 lanes of an SM)
//
// simulate.h runs one SM full of blocks for a few trips and for some more: the difference is what a
// trip costs, the rest what a block costs besides. Blocks are then dealt to SMs as the hardware
// does, the next to the SM that has room first; an SM with fewer blocks runs each of them faster.
// Blocks at the edges of C take the guarded loop.
//
// The loss table is exact in its sum: 100 % is every cycle of every scheduler until the last block
// is done; from it go the losses of the loop in all blocks, their starts and ends, what edges take
// beyond that, DRAM where it is slower than all of this, and what is left is the last wave.
#pragma once

#include <optional>

#include "compiler/report/prediction.h"
#include "compiler/report/steps.h"

namespace tilec {

/// None without a loop that multiplies, or where no block fits an SM.
std::optional<Prediction> predict(const PredictionInput& input, dsl::GemmShape shape);

}  // namespace tilec
