#include "compiler/target.h"

#include <array>

namespace tilec {
namespace {

// Limits: CUDA C++ programming guide, "Technical specifications per compute capability".
dsl::Limits limits(const char* name, int threads_per_sm, int blocks_per_sm, int64_t block_kib,
                   int64_t sm_kib) {
  return {.target = name,
          .threads_per_sm = threads_per_sm,
          .blocks_per_sm = blocks_per_sm,
          .shared_bytes_per_block = block_kib * 1024,
          .shared_bytes_per_sm = sm_kib * 1024};
}

// Where rates come from.
//   Lanes: CUDA C++ programming guide, "Throughput of native arithmetic instructions".
//   Shared memory, 128 bytes a cycle: the same guide, 32 banks of 4 bytes. Latencies of shared
//   memory, also of another SM's, and the first-level cache: Luo et al., "Benchmarking and
//   Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", arXiv 2402.13499,
//   rounded. Device, SMs, clock, DRAM: NVIDIA's data sheets of the devices named; the H200's SMs
//   and clock also from examples/results/ladder_h200.json. Fitted to the H200's rows in
//   prediction_h200.json there (the ladder and 24 specs of seed 20, after they had been predicted
//   and measured), and taken over for the others: memory_latency (kernels that hold one block and
//   load one slice ahead), barrier_latency, queue, l2_bytes, launch_us.
Rates rates(const char* device, int sms, double clock_mhz, double dram_gb_per_s) {
  return {.device = device, .sms = sms, .clock_mhz = clock_mhz, .dram_gb_per_s = dram_gb_per_s};
}

const std::array<Target, 6>& table() {
  static const std::array<Target, 6> rows = {{
      {.rates = rates("A100", 108, 1410, 1555),
       .limits = limits("sm_80", 2048, 32, 163, 164),
       .lanes_per_sm = 64,
       .ptx_version = 70},
      {.rates = rates("GeForce RTX 3090", 82, 1695, 936),
       .limits = limits("sm_86", 1536, 16, 99, 100),
       .lanes_per_sm = 128,
       .ptx_version = 71},
      {.rates = rates("L4", 58, 2040, 300),
       .limits = limits("sm_89", 1536, 24, 99, 100),
       .lanes_per_sm = 128,
       .ptx_version = 78},
      {.rates = rates("H200", 132, 1980, 4800),
       .limits = limits("sm_90a", 2048, 32, 227, 228),
       .lanes_per_sm = 128,
       .ptx_version = 80},
      {.rates = rates("B200", 148, 1965, 8000),
       .limits = limits("sm_100a", 2048, 32, 227, 228),
       .lanes_per_sm = 128,
       .ptx_version = 86},
      {.rates = rates("GeForce RTX 5090", 170, 2407, 1792),
       .limits = limits("sm_120a", 1536, 24, 99, 100),
       .lanes_per_sm = 128,
       .ptx_version = 87},
  }};
  return rows;
}

}  // namespace

std::span<const Target> targets() {
  return table();
}

const Target* find_target(std::string_view name) {
  for (const Target& target : table())
    if (target.limits.target == name) return &target;
  return nullptr;
}

const Target* target_of_capability(int major, int minor) {
  switch (major * 10 + minor) {
    case 80:
      return find_target("sm_80");
    case 86:
      return find_target("sm_86");
    case 89:
      return find_target("sm_89");
    case 90:
      return find_target("sm_90a");
    case 100:
      return find_target("sm_100a");
    case 120:
      return find_target("sm_120a");
    default:
      return nullptr;
  }
}

}  // namespace tilec
