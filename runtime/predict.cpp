#include "runtime/predict.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilec {
namespace {

// Fitted to 1250 kernels that `tilec tune` measured on an H200 on 2026-11-30, at 14 shapes that
// their tiles divide, those near the fastest of their shape counting most: 8 % off in the mean,
// weighted so, and between 0.59 and 1.33 of what was measured.
constexpr double kFarLatency = 1850;     // cycles from a copy's start to its data, from memory
constexpr double kNearLatency = 440;     // the same, from the second-level cache
constexpr double kBarrierCycles = 5;     // of a slice
constexpr double kStoreCycles = 500;     // of a slice that comes through registers
constexpr double kOverlap = 0.165;       // of what one block waits for, that another fills
constexpr double kBlockCycles = 2270;    // a block's start, its first slices and its end
constexpr double kLaunchUs = 0.16;       // of one kernel after another
constexpr double kSecondKernelUs = 0.6;  // of split_k
// SMs of 132 that clusters of so many blocks reach, a block an SM: a cluster keeps within a group
// of SMs, and does not fill it. What cuOccupancyMaxActiveClusters says of an H200.
constexpr std::array<double, 9> kReached = {132, 132, 132, 117, 120, 110, 102, 105, 120};
constexpr double kAllSms = 132;
// Not fitted: they place 512^3 and 1024^3 in clusters of 2 right, to 0.3 us, against `split_k 2` of
// the same tile.
constexpr double kClusterCycles = 300;    // of a cluster's barriers
constexpr double kClusterBytes = 30;      // a cycle that an SM reads of others' memory
constexpr double kBestIssue = 0.93;       // of the ideal share, with enough warps
constexpr double kBestRewritten = 0.997;  // the same of a loop that our own back end rewrote
constexpr double kHalfWarps = 0.235;      // warps of a scheduler that fill half of its slots
constexpr double kHalfRewritten = 0.12;   // the same of a rewritten loop
constexpr double kCopyCost = 8.7;         // instructions of a copy and its addresses
constexpr double kLongLoop = 1.11;        // what a loop takes longer that the caches do not hold
constexpr double kLongSlice = 2048;       // multiply-adds of a thread and slice of such a loop
constexpr double kGuarded = 1.45;         // what a loop takes longer in which all is guarded
constexpr double kCacheBytes = 30e6;      // operands that stay in the second-level cache
constexpr double kElementBytes = 4;
constexpr double kSchedulers = 4;

double ceil_of(double a, double b) {
  return std::ceil(a / b);
}

// Which loops the back end of compiler/sass takes on: dsl/defaults.cpp turns it on for these.
bool is_rewritten(const dsl::Spec& spec, double elements) {
  constexpr double kLeastTile = 128;
  return spec.sass && spec.warp && elements >= kLeastTile && spec.stages >= 3 &&
         spec.copy == dsl::CopyMode::async;
}

// Share of the issue slots that `warps` on each scheduler fill; fewer than one leave schedulers
// idle. The larger a thread's tile, the longer a warp goes on by itself.
double issue_rate(const dsl::Spec& spec, double warps, double elements) {
  const double busy = std::min(1.0, warps);
  const double each = std::max(1.0, warps);
  if (is_rewritten(spec, elements)) return busy * kBestRewritten * each / (each + kHalfRewritten);
  const double alone = std::min(1.0, elements / 64);
  const double half = kHalfWarps + 0.75 * (1 - alone);
  return busy * kBestIssue * each / (each + half);
}

// Instructions of a loop by those of the ideal share: copies and addresses come on top.
double overhead(const dsl::Spec& spec, const dsl::Derived& derived, double elements) {
  const double copies = derived.copy_a.passes + derived.copy_b.passes;
  const double loads = elements >= 64 ? 0 : 8 / std::max(8.0, elements);
  return 1 + loads + kCopyCost * copies / (elements * spec.tile_k);
}

struct Work {
  dsl::Stream stream;
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
  const int resident = std::max(1, derived.blocks_per_sm);
  if (matrices == 1) out.stream = dsl::stream_of(spec, shape, int64_t{machine.sm_count} * resident);
  out.blocks = down * across * spec.split_k * matrices;
  const double reached = kReached[static_cast<size_t>(spec.cluster)] / kAllSms;
  out.busiest = ceil_of(out.blocks, std::max(1.0, std::floor(reached * machine.sm_count)));
  out.together = std::min<double>(std::max(1, derived.blocks_per_sm), std::max(1.0, out.busiest));
  out.slices = static_cast<double>(dsl::slices_a_block(spec, shape));
  out.bytes = (m * k + k * n + m * n) * matrices * kElementBytes;
  out.asked = (m * k * across + k * n * down + m * n) * matrices * kElementBytes;
  return out;
}

// Cycles in which an SM gets through the slices of `together` blocks at once: by its multiply-adds,
// or at the pace of blocks that wait for their copies.
double round_cycles(const dsl::Spec& spec, const dsl::Derived& derived, const dsl::GemmShape& shape,
                    const Work& work, double together, const MachineRates& machine) {
  if (together == 0) return 0;
  const double elements = static_cast<double>(spec.thread.m) * spec.thread.n;
  const double issue = issue_rate(spec, together * derived.warps / kSchedulers, elements);
  double slice = static_cast<double>(spec.tile.m) * spec.tile.n * spec.tile_k /
                 machine.lanes_per_sm / std::max(0.01, derived.ideal_share * issue) *
                 overhead(spec, derived, elements);
  if (shape.m < spec.tile.m || shape.n < spec.tile.n) slice *= kGuarded;
  if (elements * spec.tile_k >= kLongSlice) slice *= kLongLoop;
  const double latency = work.bytes < kCacheBytes ? kNearLatency : kFarLatency;
  const double ahead = spec.stages == 1 ? 0 : (spec.stages - 1) * slice * together;
  const double stores = spec.copy == dsl::CopyMode::through_registers ? kStoreCycles : 0;
  const double exposed =
      (std::max(0.0, latency - ahead) + kBarrierCycles + stores) / (1 + kOverlap * (together - 1));
  return work.slices * (slice * together + exposed) + kBlockCycles;
}

// The busiest SM: rounds of as many blocks as it holds, and one of what is left.
double compute_cycles(const dsl::Spec& spec, const dsl::Derived& derived,
                      const dsl::GemmShape& shape, const Work& work, const MachineRates& machine) {
  if (work.stream.tiles > 0) {
    // All SMs do the same; each stretch begins one tile and ends another.
    const double each = work.blocks / machine.sm_count;
    const double round = round_cycles(spec, derived, shape, work, work.together, machine);
    return each / work.together * (round - kBlockCycles) +
           kBlockCycles * (std::floor(each / work.together) + 2);
  }
  const double rounds = std::floor(work.busiest / work.together);
  const double left = work.busiest - rounds * work.together;
  return rounds * round_cycles(spec, derived, shape, work, work.together, machine) +
         round_cycles(spec, derived, shape, work, left, machine);
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
  out.exposed_us = kBlockCycles / machine.clock_mhz;
  if (spec.cluster > 1) {
    // Each block reads as much as its part of the tile has, from all blocks of the cluster.
    const double part = static_cast<double>(spec.tile.m) * spec.tile.n * kElementBytes;
    out.exposed_us += (kClusterCycles + part / kClusterBytes * work.together) / machine.clock_mhz;
  } else if (spec.split_k > 1 || work.stream.tiles > 0) {
    const double parts = work.stream.tiles > 0
                             ? static_cast<double>(dsl::stream_workspace_bytes(spec, work.stream))
                             : static_cast<double>(dsl::workspace_bytes(spec, shape)) * matrices;
    out.launch_us += kSecondKernelUs + 2e-3 * parts / machine.cache_gbs + 0.02 * spec.split_k;
  }
  out.us = std::max(out.compute_us, out.memory_us) + out.exposed_us + out.launch_us;
  return out;
}

}  // namespace tilec
