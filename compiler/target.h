// The machines we make code for: limits and rates of each SM.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "dsl/limits.h"

namespace tilec {

/// What an SM does in a cycle, and how long it takes: the numbers that the loop model
/// (compiler/report/simulate.h) runs on. Throughputs are of one SM. target.cpp says where each
/// comes from, and which are taken over from a neighbour.
struct Rates {
  const char* device = "";    // a well-known device of the target
  int sms = 0;                // of that device
  double clock_mhz = 0;       // highest SM clock
  double dram_gb_per_s = 0;   // 10^9 bytes per second
  int integer_lanes = 64;     // integer and logic operations per cycle
  int double_lanes = 64;      // f64 FMAs per cycle
  int special_lanes = 16;     // MUFU, conversions
  double shared_bytes = 128;  // shared memory and L1, per cycle
  double l2_bytes = 32;       // from the second-level cache, per cycle and SM, all SMs busy
  int shared_latency = 30;    // cycles, LDS to its use
  int l1_latency = 40;        // cycles, a load that hits the first-level cache
  int memory_latency = 750;   // ... of a slice that no SM has asked for before
  int cluster_latency = 180;  // cycles, a load from another SM's shared memory
  int barrier_latency = 30;   // cycles, last arrival at BAR.SYNC to the next instruction
  int queue = 8;              // memory instructions of a scheduler that wait for the pipe
  double launch_us = 1;       // microseconds of a launch beyond its blocks
};

struct Target {
  Rates rates;
  dsl::Limits limits;      // limits.target is the name
  int lanes_per_sm = 128;  // f32 FMA lanes; FLOP per clock and SM = 2 * lanes
  int schedulers = 4;      // warp schedulers per SM
  int ptx_version = 80;    // lowest PTX version that knows the target, times ten
};

/// sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120a.
std::span<const Target> targets();
const Target* find_target(std::string_view name);  // null if unknown

/// The target to use for a device of compute capability `major`.`minor`; null if none fits.
const Target* target_of_capability(int major, int minor);

}  // namespace tilec
