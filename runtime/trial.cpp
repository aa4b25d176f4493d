#include "runtime/trial.h"

#include "runtime/try.h"

namespace tilec {

Result<Trial> Trial::prepare(Device& device, const GemmProblem& problem, int64_t most_workspace) {
  Trial trial(device, problem);
  const bool guarded = !device.info().knows_bounds || problem.batch > 1;
  const bool c_is_read = problem.beta != 0;
  for (int64_t i = 0; i < problem.batch; ++i) {
    GemmProblem one = problem;
    one.seed = problem.seed + static_cast<uint64_t>(i);
    trial.before_.push_back(make_operands(one, c_is_read, guarded));
  }
  Result<DeviceOperands> placed =
      DeviceOperands::upload(device, trial.before_, problem.batched, most_workspace);
  if (!placed) return tl::unexpected(std::move(placed.error()));
  trial.placed_ = std::move(*placed);
  if (device.stopwatch() == nullptr) return trial;
  if (most_workspace > 0) {
    Result<Buffer> workspace = Buffer::allocate(device, most_workspace);
    if (!workspace) return tl::unexpected(std::move(workspace.error()));
    trial.workspace_ = std::move(*workspace);
  }
  Result<std::vector<DeviceOperands>> sets =
      upload_sets(device, problem, trial.before_, BenchOptions().cache_multiple);
  if (!sets) return tl::unexpected(std::move(sets.error()));
  trial.sets_ = std::move(*sets);
  return trial;
}

Result<TrialResult> Trial::run(const Artifact& artifact, const TrialOptions& options) const {
  TILEC_TRY(accepts(artifact, problem_));
  Result<KernelId> kernel = device_->load(artifact);
  if (!kernel) return tl::unexpected(std::move(kernel.error()));
  Result<TrialResult> result = judge(artifact, *kernel, options);
  TILEC_TRY(device_->unload(*kernel));
  return result;
}

Result<TrialResult> Trial::judge(const Artifact& artifact, KernelId kernel,
                                 const TrialOptions& options) const {
  for (int64_t i = 0; i < problem_.batch; ++i)
    TILEC_TRY(placed_.upload_c(*device_, before_[static_cast<size_t>(i)].c, i));
  TILEC_TRY(device_->launch(kernel, placed_.arguments(problem_)));
  TILEC_TRY(device_->synchronise());
  TrialResult out;
  if (const std::optional<Counters> counters = device_->counters())
    out.us = static_cast<double>(counters->warp_instructions) / 1000;
  CheckOptions check = options.check;
  check.budget = std::max<int64_t>(1, check.budget / problem_.batch);
  CheckResult all{.passed = true};
  for (int64_t i = 0; i < problem_.batch; ++i) {
    const Operands& before = before_[static_cast<size_t>(i)];
    Result<Operands> after = placed_.download(*device_, before, i);
    if (!after) return tl::unexpected(std::move(after.error()));
    add(all,
        check_result(problem_, artifact.spec.epilogue, artifact.spec.tile, before, *after, check),
        check);
  }
  out.passed = all.passed;
  out.max_error = all.max_error;
  const auto& [m, n, k] = problem_.shape;
  if (!out.passed || device_->stopwatch() == nullptr || m == 0 || n == 0 || k == 0) return out;
  Result<BenchResult> time =
      bench_sets(*device_, kernel, problem_, sets_, workspace_, options.bench);
  if (!time) return tl::unexpected(std::move(time.error()));
  out.us = time->kernel.median_us;
  out.clock_mhz = time->kernel.clock_mhz;
  return out;
}

}  // namespace tilec
