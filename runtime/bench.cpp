#include "runtime/bench.h"

#include <algorithm>
#include <cmath>

#include "runtime/device_operands.h"
#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec {
namespace {

constexpr int64_t kMostLaunches = 4096;  // nodes of a graph

// A recorded sequence, forgotten at the end of its scope.
class Sequence {
 public:
  Sequence(Stopwatch& stopwatch, SequenceId id, int64_t launches)
      : stopwatch_(&stopwatch), id_(id), launches_(launches) {}
  Sequence(Sequence&& other) noexcept
      : stopwatch_(std::exchange(other.stopwatch_, nullptr)),
        id_(other.id_),
        launches_(other.launches_) {}
  Sequence& operator=(Sequence&&) = delete;
  ~Sequence() {
    if (stopwatch_ != nullptr) stopwatch_->forget(id_);
  }
  Result<BurstTime> play() const { return stopwatch_->play(id_, 1); }
  int64_t launches() const { return launches_; }

 private:
  Stopwatch* stopwatch_;
  SequenceId id_;
  int64_t launches_;
};

// One side of the comparison: our kernel, or cuBLAS.
struct Side {
  std::optional<KernelId> kernel;  // none: cuBLAS
  std::vector<BurstTime> bursts;
};

Result<Sequence> record(Stopwatch& stopwatch, const Side& side, const GemmProblem& problem,
                        const std::vector<KernelArguments>& sets, int64_t launches) {
  std::vector<KernelArguments> list;
  list.reserve(static_cast<size_t>(launches));
  for (int64_t i = 0; i < launches; ++i) list.push_back(sets[static_cast<size_t>(i) % sets.size()]);
  Result<SequenceId> id = side.kernel
                              ? stopwatch.record(*side.kernel, list)
                              : stopwatch.record_cublas(problem.layout, problem.batched, list);
  if (!id) return tl::unexpected(std::move(id.error()));
  return Sequence(stopwatch, *id, launches);
}

// Plays each set once until the clock is up, and takes the last play's time a launch to choose how
// many launches a burst has: whole turns through the sets.
Result<int64_t> warm_up(Stopwatch& stopwatch, const Side& side, const GemmProblem& problem,
                        const std::vector<KernelArguments>& sets, const BenchOptions& options) {
  const auto turn = static_cast<int64_t>(sets.size());
  Result<Sequence> probe = record(stopwatch, side, problem, sets, turn);
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

// Warms both sides up, then plays their bursts turn by turn.
Result<int64_t> play_turns(Stopwatch& stopwatch, std::vector<Side>& sides,
                           const GemmProblem& problem, const std::vector<KernelArguments>& sets,
                           const BenchOptions& options) {
  std::vector<Sequence> sequences;
  for (const Side& side : sides) {
    Result<int64_t> launches = warm_up(stopwatch, side, problem, sets, options);
    if (!launches) return tl::unexpected(std::move(launches.error()));
    Result<Sequence> sequence = record(stopwatch, side, problem, sets, *launches);
    if (!sequence) return tl::unexpected(std::move(sequence.error()));
    TILEC_TRY(sequence->play());  // the first play of a graph also uploads it
    sequences.push_back(std::move(*sequence));
  }
  for (int burst = 0; burst < std::max(1, options.bursts); ++burst)
    for (size_t i = 0; i < sides.size(); ++i) {
      Result<BurstTime> time = sequences[i].play();
      if (!time) return tl::unexpected(std::move(time.error()));
      sides[i].bursts.push_back(*time);
    }
  return sequences.front().launches();
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
  std::vector<Side> sides = {{.kernel = kernel}};
  if (options.cublas && !device.info().cublas.empty()) sides.push_back({});
  Result<int64_t> launches = play_turns(*stopwatch, sides, problem, arguments, options);
  if (!launches) return tl::unexpected(std::move(launches.error()));

  BenchResult result{
      .kernel = summarise(sides[0].bursts), .launches_a_burst = *launches, .operand_sets = count};
  if (sides.size() > 1) {
    result.cublas = summarise(sides[1].bursts);
    result.ratio = result.cublas->median_us / result.kernel.median_us;
  }
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
