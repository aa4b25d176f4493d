#include "runtime/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "dsl/format.h"
#include "runtime/device_operands.h"
#include "runtime/faults.h"
#include "runtime/hash.h"
#include "runtime/launches.h"
#include "runtime/try.h"

namespace tilec {
namespace {

Provenance provenance_of(const Artifact& artifact, const GemmProblem& problem) {
  const AssemblerReport& assembler = artifact.assembler;
  return {.spec = dsl::format(artifact.spec),
          .kernel = artifact.spec.name,
          .ptx_hash = hash_name(artifact.ptx),
          .cubin_hash = artifact.cubin.empty() ? "" : hash_name(artifact.cubin),
          .assembler =
              artifact.cubin.empty() ? "" : fmt::format("{} {}", assembler.tool, assembler.version),
          .registers = assembler.registers,
          .data = fmt::format("uniform in [-1, 1), multiples of 2^-23, seed {}", problem.seed)};
}

// A loaded kernel, unloaded at the end of its scope.
class Loaded {
 public:
  Loaded(Device& device, KernelId id) : device_(device), id_(id) {}
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() { static_cast<void>(device_.unload(id_)); }

 private:
  Device& device_;
  KernelId id_;
};

bool is_default(const dsl::Expression& epilogue) {
  return epilogue == dsl::default_epilogue();
}

// One matrix, after the kernel has run.
Result<CheckResult> check_matrix(Device& device, const Artifact& artifact,
                                 const GemmProblem& problem, const Operands& before,
                                 const DeviceOperands& placed, int64_t index,
                                 const CheckOptions& options) {
  Result<Operands> after = placed.download(device, before, index);
  if (!after) return tl::unexpected(std::move(after.error()));
  return check_result(problem, artifact.spec.epilogue, artifact.spec.tile, before, *after, options);
}

Result<CheckResult> check_run(Device& device, const Artifact& artifact, const GemmProblem& problem,
                              std::span<const Operands> before, const DeviceOperands& placed,
                              CheckOptions options) {
  options.budget = std::max<int64_t>(1, options.budget / problem.batch);
  CheckResult check{.passed = true};
  std::vector<Image> ours;
  for (int64_t i = 0; i < problem.batch; ++i) {
    const Operands& matrix = before[static_cast<size_t>(i)];
    Result<CheckResult> one = check_matrix(device, artifact, problem, matrix, placed, i, options);
    if (!one) return one;
    add(check, std::move(*one), options);
  }
  const bool comparable =
      !device.info().cublas.empty() && check.elements > 0 && is_default(artifact.spec.epilogue);
  if (!comparable) return check;
  for (int64_t i = 0; i < problem.batch; ++i) {
    const Image& c = before[static_cast<size_t>(i)].c;
    Result<Image> kernel_c = placed.download_c(device, c, i);
    if (!kernel_c) return tl::unexpected(std::move(kernel_c.error()));
    ours.push_back(std::move(*kernel_c));
    TILEC_TRY(placed.upload_c(device, c, i));
  }
  TILEC_TRY(device.cublas(problem.layout, problem.batched, placed.arguments(problem)));
  for (int64_t i = 0; i < problem.batch; ++i) {
    const Operands& matrix = before[static_cast<size_t>(i)];
    Result<Image> cublas_c = placed.download_c(device, matrix.c, i);
    if (!cublas_c) return tl::unexpected(std::move(cublas_c.error()));
    add(check, compare_with_cublas(problem, matrix, ours[static_cast<size_t>(i)], *cublas_c));
  }
  return check;
}

// The operands of each matrix, with numbers of their own.
std::vector<Operands> make_batch(const GemmProblem& problem, bool c_is_read, bool guarded) {
  std::vector<Operands> out;
  for (int64_t i = 0; i < problem.batch; ++i) {
    GemmProblem one = problem;
    one.seed = problem.seed + static_cast<uint64_t>(i);
    out.push_back(make_operands(one, c_is_read, guarded));
  }
  return out;
}

// Before anything is allocated, loaded or launched.
Result<void> fits_memory(const Device& device, const GemmProblem& problem, int64_t workspace) {
  const std::optional<int64_t> free = device.free_bytes();
  int64_t needed = workspace;
  for (Operand operand : {Operand::a, Operand::b, Operand::c})
    needed += problem.batch * stored(problem, operand).extent() * int64_t{sizeof(float)};
  if (!free || needed <= *free) return {};
  return refuse(Fault::not_enough_memory,
                fmt::format("{} needs {} bytes of device memory, {} of them as workspace, and {} "
                            "has {} left",
                            to_string(problem.shape), needed, workspace, device.info().name, *free),
                "a smaller shape, or without split_k or stream_k");
}

}  // namespace

Result<RunResult> run_gemm(Device& device, const Artifact& artifact, const GemmProblem& problem,
                           const RunOptions& options) {
  Result<GemmProblem> completed = complete(problem);
  if (!completed) return tl::unexpected(std::move(completed.error()));
  TILEC_TRY(accepts(artifact, *completed));
  RunResult result{.device = device.info(),
                   .problem = *completed,
                   .provenance = provenance_of(artifact, *completed),
                   .label = options.label};
  result.provenance.choice = options.choice;
  if (result.device.kind == DeviceKind::gpu && artifact.cubin.empty())
    result.provenance.assembler = "driver " + result.device.driver;
  result.blocks =
      *dsl::grid_blocks(artifact.spec, completed->shape) * artifact.spec.split_k * completed->batch;

  const int64_t workspace =
      workspace_needed(artifact.spec, completed->shape, completed->batch,
                       blocks_at_once(device.info().sm_count, artifact.blocks_per_sm));
  TILEC_TRY(fits_memory(device, *completed, workspace));
  const bool c_is_read = reads_c(artifact.spec.epilogue, completed->beta);
  // The matrices of a batch share an allocation, whose bounds are not theirs.
  const bool guarded = !device.info().knows_bounds || completed->batch > 1;
  const std::vector<Operands> before = make_batch(*completed, c_is_read, guarded);
  Result<DeviceOperands> placed =
      DeviceOperands::upload(device, before, completed->batched, workspace);
  if (!placed) return tl::unexpected(std::move(placed.error()));
  Result<KernelId> kernel = device.load(artifact);
  if (!kernel) return tl::unexpected(std::move(kernel.error()));
  const Loaded loaded(device, *kernel);
  result.blocks_per_sm = device.blocks_per_sm(*kernel);

  TILEC_TRY(device.launch(*kernel, placed->arguments(*completed)));
  TILEC_TRY(device.synchronise());
  result.counters = device.counters();
  if (options.counters && device.counted() != nullptr) {
    result.counted = *device.counted();
    result.tile = artifact.tile;
  }
  if (options.check) {
    Result<CheckResult> check =
        check_run(device, artifact, *completed, before, *placed, options.check_options);
    if (!check) return tl::unexpected(std::move(check.error()));
    result.check = std::move(*check);
  }
  const auto& [m, n, k] = completed->shape;
  if (options.bench && device.stopwatch() != nullptr && m > 0 && n > 0 && k > 0) {
    Result<BenchResult> time =
        bench_gemm(device, *kernel, *completed, before, workspace, *options.bench);
    if (!time) return tl::unexpected(std::move(time.error()));
    result.time = *time;
  }
  return result;
}

}  // namespace tilec
