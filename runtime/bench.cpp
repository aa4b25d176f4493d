#include "runtime/bench.h"

#include <algorithm>
#include <cmath>

#include "runtime/device_operands.h"
#include "runtime/faults.h"
#include "runtime/rival.h"
#include "runtime/sequence.h"
#include "runtime/try.h"

namespace tilec {
namespace {

// What bursts are played of.
struct Side {
  Sequence sequence;
  std::vector<BurstTime> bursts;
};

// Plays each set once until the clock is up, and takes the last play's time a launch to choose how
// many launches a burst has: whole turns through the sets.
Result<int64_t> warm_up(Stopwatch& stopwatch, const Recorded& what, const GemmProblem& problem,
                        const std::vector<KernelArguments>& sets, const BenchOptions& options) {
  const auto turn = static_cast<int64_t>(sets.size());
  Result<Sequence> probe = record(stopwatch, what, problem, sets, turn);
  if (!probe) return tl::unexpected(std::move(probe.error()));
  double spent_us = 0;
  double us = 0;
  for (int plays = 0; plays < 2 || spent_us < options.warm_up_ms * 1e3; ++plays) {
    Result<BurstTime> time = probe->play();
    if (!time) return tl::unexpected(std::move(time.error()));
    us = std::max(time->us_per_launch, 1e-3);
    spent_us += us * static_cast<double>(turn);
  }
  const double turns = std::ceil(options.burst_ms * 1e3 / (us * static_cast<double>(turn)));
  const int64_t most = std::max<int64_t>(1, kMostLaunches / turn);
  return turn * std::clamp<int64_t>(static_cast<int64_t>(turns), 1, most);
}

Timing summarise(const std::vector<BurstTime>& bursts) {
  std::vector<double> us;
  std::vector<double> mhz;
  std::vector<double> watts;
  for (const BurstTime& burst : bursts) {
    us.push_back(burst.us_per_launch);
    if (burst.clock_mhz > 0) mhz.push_back(burst.clock_mhz);
    if (burst.watts > 0) watts.push_back(burst.watts);
  }
  return {.median_us = median(us),
          .fastest_us = *std::min_element(us.begin(), us.end()),
          .slowest_us = *std::max_element(us.begin(), us.end()),
          .clock_mhz = median(mhz),
          .watts = median(watts)};
}

Result<Side> prepare(Stopwatch& stopwatch, const Recorded& what, const GemmProblem& problem,
                     const std::vector<KernelArguments>& sets, const BenchOptions& options) {
  Result<int64_t> launches = warm_up(stopwatch, what, problem, sets, options);
  if (!launches) return tl::unexpected(std::move(launches.error()));
  Result<Sequence> sequence = record(stopwatch, what, problem, sets, *launches);
  if (!sequence) return tl::unexpected(std::move(sequence.error()));
  TILEC_TRY(sequence->play());  // the first play of a graph also uploads it
  return Side{.sequence = std::move(*sequence), .bursts = {}};
}

// The sides of a comparison: the kernel, then what there is of cublasSgemm and cublasLt.
struct Sides {
  std::vector<Side> all;
  std::optional<LtChoice> lt;  // of the third
};

Result<Sides> prepare_all(Stopwatch& stopwatch, KernelId kernel, bool with_cublas,
                          const GemmProblem& problem, const std::vector<KernelArguments>& sets,
                          BenchOptions options) {
  Sides out;
  std::vector<Recorded> wanted = {{.kernel = kernel}};
  if (with_cublas) wanted.push_back({.way = kCublasSgemm});
  for (const Recorded& what : wanted) {
    Result<Side> side = prepare(stopwatch, what, problem, sets, options);
    if (!side) return tl::unexpected(std::move(side.error()));
    out.all.push_back(std::move(*side));
  }
  if (!with_cublas) return out;
  // The clock is up by now, which short bursts need.
  Result<std::optional<LtChoice>> lt = choose_lt(stopwatch, problem, sets);
  if (!lt) return tl::unexpected(std::move(lt.error()));
  if (!*lt) return out;
  out.lt = **lt;
  options.warm_up_ms = 0;
  Result<Side> side = prepare(stopwatch, {.way = out.lt->way}, problem, sets, options);
  if (!side) return tl::unexpected(std::move(side.error()));
  out.all.push_back(std::move(*side));
  return out;
}

Result<void> play_turns(std::vector<Side>& sides, int bursts) {
  for (int burst = 0; burst < std::max(1, bursts); ++burst)
    for (Side& side : sides) {
      Result<BurstTime> time = side.sequence.play();
      if (!time) return tl::unexpected(std::move(time.error()));
      side.bursts.push_back(*time);
    }
  return {};
}

void compare(const Sides& sides, BenchResult& result) {
  if (sides.all.size() < 2) return;
  const Timing sgemm = summarise(sides.all[1].bursts);
  result.cublas = sgemm;
  result.cublas_way = "cublasSgemm";
  result.cublas_sgemm_us = sgemm.median_us;
  if (sides.lt) {
    const Timing lt = summarise(sides.all[2].bursts);
    result.cublaslt_us = lt.median_us;
    if (lt.median_us < sgemm.median_us) {
      result.cublas = lt;
      result.cublas_way = to_string(*sides.lt);
    }
  }
  result.ratio = result.cublas->median_us / result.kernel.median_us;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

int64_t sets_to_rotate(int64_t bytes_a_set, int64_t l2_bytes, int64_t cache_multiple) {
  const int64_t wanted = cache_multiple * l2_bytes;
  if (bytes_a_set <= 0 || bytes_a_set > wanted) return 1;
  return std::min(kMostLaunches, wanted / bytes_a_set + 1);
}

double share_of_peak(const dsl::GemmShape& shape, double us, const DeviceInfo& device,
                     double clock_mhz) {
  const double flop = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                      static_cast<double>(shape.k);
  // FLOP a microsecond: megahertz are cycles a microsecond.
  const double peak = 2.0 * device.sm_count * device.lanes_per_sm * clock_mhz;
  return peak > 0 && us > 0 ? flop / us / peak : 0;
}

Result<std::vector<DeviceOperands>> upload_sets(Device& device, const GemmProblem& problem,
                                                std::span<const Operands> operands,
                                                int64_t cache_multiple) {
  // What a launch touches: guards and offsets do not pass through the cache.
  int64_t words = 0;
  for (Operand operand : {Operand::a, Operand::b, Operand::c}) {
    const Stored matrix = stored(problem, operand);
    words += problem.batch * matrix.rows * matrix.columns;
  }
  const int64_t count = sets_to_rotate(words * 4, device.info().l2_bytes, cache_multiple);
  std::vector<DeviceOperands> sets;
  for (int64_t i = 0; i < count; ++i) {
    Result<DeviceOperands> set = DeviceOperands::upload(device, operands, problem.batched, 0);
    if (!set) return tl::unexpected(std::move(set.error()));
    sets.push_back(std::move(*set));
  }
  return sets;
}

Result<BenchResult> bench_gemm(Device& device, KernelId kernel, const GemmProblem& problem,
                               std::span<const Operands> operands, int64_t workspace_bytes,
                               const BenchOptions& options) {
  const Result<std::vector<DeviceOperands>> sets =
      upload_sets(device, problem, operands, options.cache_multiple);
  if (!sets) return tl::unexpected(sets.error());
  Buffer workspace;
  if (workspace_bytes > 0) {
    Result<Buffer> allocated = Buffer::allocate(device, workspace_bytes);
    if (!allocated) return tl::unexpected(std::move(allocated.error()));
    workspace = std::move(*allocated);
  }
  return bench_sets(device, kernel, problem, *sets, workspace, options);
}

Result<BenchResult> bench_sets(Device& device, KernelId kernel, const GemmProblem& problem,
                               std::span<const DeviceOperands> sets, const Buffer& workspace,
                               const BenchOptions& options) {
  Stopwatch* stopwatch = device.stopwatch();
  if (stopwatch == nullptr)
    return refuse(Fault::no_stopwatch,
                  "launches can be timed on a GPU only: this device is " + device.info().name);
  const auto count = static_cast<int64_t>(sets.size());
  std::vector<KernelArguments> arguments;
  for (const DeviceOperands& set : sets) {
    arguments.push_back(set.arguments(problem));
    arguments.back().workspace = workspace.address();
    arguments.back().workspace_bytes = workspace.bytes();
  }
  const bool with_cublas = options.cublas && !device.info().cublas.empty();
  Result<Sides> sides = prepare_all(*stopwatch, kernel, with_cublas, problem, arguments, options);
  if (!sides) return tl::unexpected(std::move(sides.error()));
  TILEC_TRY(play_turns(sides->all, options.bursts));

  BenchResult result{.kernel = summarise(sides->all[0].bursts),
                     .launches_a_burst = sides->all[0].sequence.launches(),
                     .operand_sets = count};
  compare(*sides, result);
  const dsl::GemmShape& shape = problem.shape;
  result.tflops = 2e-6 * static_cast<double>(problem.batch) * static_cast<double>(shape.m) *
                  static_cast<double>(shape.n) * static_cast<double>(shape.k) /
                  result.kernel.median_us;
  result.share_of_peak =
      static_cast<double>(problem.batch) *
      share_of_peak(shape, result.kernel.median_us, device.info(), result.kernel.clock_mhz);
  return result;
}

}  // namespace tilec
