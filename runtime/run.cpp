#include "runtime/run.h"

#include <fmt/format.h>

#include "dsl/format.h"
#include "runtime/device_operands.h"
#include "runtime/hash.h"
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

Result<CheckResult> check_run(Device& device, const Artifact& artifact, const GemmProblem& problem,
                              const Operands& before, const DeviceOperands& placed,
                              const CheckOptions& options) {
  Result<Operands> after = placed.download(device, before);
  if (!after) return tl::unexpected(std::move(after.error()));
  CheckResult check =
      check_result(problem, artifact.spec.epilogue, artifact.spec.tile, before, *after, options);
  const bool comparable =
      !device.info().cublas.empty() && check.elements > 0 && is_default(artifact.spec.epilogue);
  if (!comparable) return check;
  TILEC_TRY(placed.upload_c(device, before.c));
  TILEC_TRY(device.cublas(problem.layout, placed.arguments(problem)));
  Result<Image> cublas_c = placed.download_c(device, before.c);
  if (!cublas_c) return tl::unexpected(std::move(cublas_c.error()));
  check.cublas = compare_with_cublas(problem, before, after->c, *cublas_c);
  check.passed = check.passed && check.cublas->passed;
  return check;
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
  if (result.device.kind == DeviceKind::gpu && artifact.cubin.empty())
    result.provenance.assembler = "driver " + result.device.driver;
  result.blocks = *dsl::grid_blocks(artifact.spec, completed->shape);

  const bool c_is_read = reads_c(artifact.spec.epilogue, completed->beta);
  const Operands before = make_operands(*completed, c_is_read, !device.info().knows_bounds);
  Result<DeviceOperands> placed = DeviceOperands::upload(device, before);
  if (!placed) return tl::unexpected(std::move(placed.error()));
  Result<KernelId> kernel = device.load(artifact);
  if (!kernel) return tl::unexpected(std::move(kernel.error()));
  const Loaded loaded(device, *kernel);

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
    Result<BenchResult> time = bench_gemm(device, *kernel, *completed, before, *options.bench);
    if (!time) return tl::unexpected(std::move(time.error()));
    result.time = *time;
  }
  return result;
}

}  // namespace tilec
