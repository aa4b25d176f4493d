// One SM, cycle by cycle: the steady loop's model.
//
// What is modelled. An SM has schedulers, each with its own warps, pipes and register banks; shared
// memory, the first-level cache and the road to the second are the SM's. A scheduler issues at most
// one instruction a cycle, from the warp that it issued from last if that can go on and its yield
// flag does not forbid it, else from the oldest that can. A warp can go on when
//   - the stall of its last instruction is over, and the scoreboards in its wait mask are clear;
//   - the pipe is free: each instruction takes its pipe for 32 lanes / lanes of the pipe cycles;
//   - the banks it reads from are free (compiler/sass/banks.h): each gives one operand a cycle, and
//     what the reuse cache holds from the scheduler's last reader of that slot is not read again; a
//     multiply-add that reads all three operands, two from one bank, keeps the scheduler for both;
//   - for memory instructions, the scheduler's queue has room;
//   - at BAR.SYNC all warps of the block have come, and at DEPBAR enough groups of copies have.
// A shared access takes shared memory for its wavefronts, a global one for its lines, then its
// bytes the road to the second-level cache; its scoreboard is clear a fixed latency later.
//
// What it gives. Each cycle of a scheduler in which its f32 pipe does not start a multiply-add is
// charged to one loss: to the class of what issued instead, or to what the next warp to issue was
// waiting for. So useful cycles and losses add up to all cycles, always.
//
// What it leaves out: instruction caches, cache misses beyond a fixed mix of latencies, and other
// SMs but for their share of the road.
#pragma once

#include <vector>

#include "compiler/report/loss.h"
#include "compiler/report/steps.h"

namespace tilec {

/// Of an SM, from start to end of the run; scheduler cycles unless said otherwise.
struct SmRun {
  double cycles = 0;  // of the SM
  double useful = 0;  // the f32 pipe multiplies
  Losses lost;
  double issued = 0;              // instructions
  double banks = 0;               // the busier register bank gives operands
  double shared = 0;              // SM cycles that shared memory is taken
  double road = 0;                // SM cycles that the road to the second-level cache is taken
  std::vector<double> unit_cost;  // by step of the unit: cycles charged to it, issue and waits
};

/// `blocks` blocks of `warps` warps start together and take `units` trips each.
SmRun simulate_sm(const Trace& trace, const Target& target, int blocks, int warps, int units);

}  // namespace tilec
