#include "runtime/predict.h"

#include <algorithm>
#include <cmath>

namespace tilec {
namespace {

// With these constants the predictions for the 78 runs of examples/results/shapes_h200.json of
// 2026-11-29 lie between 0.77 and 1.19 of what was measured, 9 % off in the mean.
constexpr double kFarLatency = 700;      // cycles from a copy's start to its data, from memory
constexpr double kNearLatency = 440;     // the same, from the second-level cache
constexpr double kBarrierCycles = 40;    // of a slice
constexpr double kBlockCycles = 1300;    // a block's start, its first slices and its end
constexpr double kLaunchUs = 1.5;        // of one kernel after another
constexpr double kSecondKernelUs = 2.0;  // of split_k
constexpr double kBestIssue = 1.05;      // of the ideal share, with enough warps
constexpr double kGuarded = 1.45;        // what a loop takes longer in which all is guarded
constexpr double kCacheBytes = 30e6;     // operands that stay in the second-level cache
constexpr double kElementBytes = 4;
constexpr double kSchedulers = 4;

double ceil_of(double a, double b) {
  return std::ceil(a / b);
}

// Share of the issue slots that `warps` on each scheduler fill. The larger a thread's tile, the
// longer a warp goes on by itself.
double issue_rate(double warps, double elements) {
  const double alone = std::min(1.0, elements / 64);
  const double half = 0.25 + 0.75 * (1 - alone);  // warps that fill half of the slots
  return kBestIssue * warps / (warps + half);
}

// Instructions for copies and addresses beside those of the ideal share.
double overhead(double elements) {
  return elements >= 64 ? 1.05 : 1 + 8 / std::max(8.0, elements);
}

struct Work {
  double blocks = 0;
  double busiest = 0;   // blocks that the busiest SM runs
  double together = 1;  // of them at once
  double slices = 0;    // of K, a block
  double bytes = 0;     // of the operands
  double asked = 0;     // bytes that all blocks ask for
};

Work work_of(const dsl::Spec& spec, const dsl::Derived& derived, const dsl::GemmShape& shape,
             double matrices, const MachineRates& machine) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double down = ceil_of(m, spec.tile.m);
  const double across = ceil_of(n, spec.tile.n);
  Work out;
  out.blocks = down * across * spec.split_k * matrices;
  out.busiest = ceil_of(out.blocks, machine.sm_count);
  out.together = std::min<double>(std::max(1, derived.blocks_per_sm), std::max(1.0, out.busiest));
  out.slices = static_cast<double>(dsl::slices_a_block(spec, shape));
  out.bytes = (m * k + k * n + m * n) * matrices * kElementBytes;
  out.asked = (m * k * across + k * n * down + m * n) * matrices * kElementBytes;
  return out;
}

// Cycles in which the busiest SM gets through its slices: by its multiply-adds, or at the pace of
// blocks that wait for their copies.
double compute_cycles(const dsl::Spec& spec, const dsl::Derived& derived,
                      const dsl::GemmShape& shape, const Work& work, const MachineRates& machine) {
  const double elements = static_cast<double>(spec.thread.m) * spec.thread.n;
  const double issue = issue_rate(work.together * derived.warps / kSchedulers, elements);
  double slice = static_cast<double>(spec.tile.m) * spec.tile.n * spec.tile_k /
                 machine.lanes_per_sm / std::max(0.01, derived.ideal_share * issue) *
                 overhead(elements);
  if (shape.m < spec.tile.m || shape.n < spec.tile.n) slice *= kGuarded;
  const double latency = work.bytes < kCacheBytes ? kNearLatency : kFarLatency;
  const double ahead = spec.stages == 1 ? 0 : (spec.stages - 1) * slice * work.together;
  const double exposed =
      (std::max(0.0, latency - ahead) + kBarrierCycles) / (1 + 0.5 * (work.together - 1));
  return work.busiest / work.together * work.slices * (slice * work.together + exposed);
}

}  // namespace

Prediction predict(const dsl::Spec& spec, const dsl::Derived& derived, const dsl::GemmShape& shape,
                   int64_t batch, const MachineRates& machine) {
  Prediction out;
  const auto matrices = static_cast<double>(batch);
  const Work work = work_of(spec, derived, shape, matrices, machine);
  out.launch_us = kLaunchUs;
  out.us = out.launch_us;
  if (work.blocks == 0) return out;
  out.waves =
      work.blocks / (static_cast<double>(machine.sm_count) * std::max(1, derived.blocks_per_sm));
  out.compute_us = compute_cycles(spec, derived, shape, work, machine) / machine.clock_mhz;
  // Too few blocks keep too few bytes on their way to fill memory's bandwidth.
  const double busy = std::clamp(work.blocks / (2.0 * machine.sm_count), 0.05, 1.0);
  out.memory_us = 1e-3 * std::max(work.bytes / machine.memory_gbs / std::sqrt(busy),
                                  work.asked / machine.cache_gbs);
  out.exposed_us = ceil_of(work.busiest, work.together) * kBlockCycles / machine.clock_mhz;
  if (spec.split_k > 1) {
    const double parts = static_cast<double>(dsl::workspace_bytes(spec, shape)) * matrices;
    out.launch_us += kSecondKernelUs + 2e-3 * parts / machine.cache_gbs + 0.02 * spec.split_k;
  }
  out.us = std::max(out.compute_us, out.memory_us) + out.exposed_us + out.launch_us;
  return out;
}

}  // namespace tilec
