// What the model predicts of a kernel at a shape: plain data, made by predict.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/report/loss.h"
#include "dsl/shape.h"

namespace tilec {

struct LossRow {
  Loss kind = Loss::other;
  double points = 0;  // of 100
};

/// How much of a trip each part of the SM is taken, of 1.
struct Utilisation {
  double issue = 0;
  double fma = 0;
  double banks = 0;
  double shared = 0;
  double road = 0;  // to the second-level cache
  double dram = 0;  // over the kernel
};

/// Cycles of a scheduler that one issue of an instruction takes, what it waited for included.
struct StepCost {
  uint32_t index = 0;
  double cycles = 0;
};

struct Prediction {
  dsl::GemmShape shape;
  std::string device;  // whose SMs and clock these are
  int sms = 0;
  double clock_mhz = 0;
  int blocks_per_sm = 0;
  int64_t blocks = 0;
  double waves = 0;
  double cycles_per_slice = 0;  // of an SM full of blocks: each block does one slice
  double cycles_per_block = 0;  // besides the loop
  double loop_share = 0;        // of peak, in the loop of a full SM
  double issue_rate = 0;        // instructions a cycle and scheduler, in that loop
  double cycles = 0;            // of the kernel
  double kernel_us = 0;
  double share_of_peak = 0;
  std::vector<LossRow> losses;  // largest first; with 100 * share_of_peak they add up to 100
  Utilisation use;
  std::string critical;         // "issue slots", "register banks", ..., "latency"
  std::vector<StepCost> costs;  // of the loop's instructions, by index
};

}  // namespace tilec
