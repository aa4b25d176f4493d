#include "tools/devices.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "runtime/cuda/probe.h"
#include "runtime/devices.h"
#include "runtime/problem.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

// The CPU executes about this many multiply-adds of a kernel in a second, measured on two cores.
constexpr double kCpuRate = 5e8;

void say_how_long(const dsl::GemmShape& shape) {
  const double seconds = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.k) / kCpuRate;
  if (seconds > 2) say_progress(fmt::format("about {:.0f} s on the CPU", seconds));
}

}  // namespace

dsl::Result<std::unique_ptr<Device>> take_device(const std::string& wanted, bool cublas) {
  std::optional<DeviceKind> kind;
  if (!wanted.empty()) kind = wanted == "gpu" ? DeviceKind::gpu : DeviceKind::cpu;
  dsl::Result<OpenedDevice> opened = open_device(kind, {.cublas = cublas}, {});
  if (!opened) {
    opened.error().diagnostics.back().help =
        "without a GPU: tilec run --device cpu runs and checks, tilec report says where the "
        "instructions go";
    return tl::unexpected(std::move(opened.error()));
  }
  if (!opened->why.empty()) fmt::print(stderr, "{}\n", opened->why);
  return std::move(opened->device);
}

std::string gpu_target() {
  return cuda::probe_target({});
}

dsl::Result<RunResult> run_kernel(Device& device, const dsl::Spec& spec, GemmProblem problem,
                                  const RunOptions& options, Assembler assembler) {
  problem.layout = spec.layout;
  dsl::Result<GemmProblem> completed = complete(problem);
  if (!completed) return tl::unexpected(std::move(completed.error()));
  const dsl::Spec fitting = narrowed(spec, *completed);
  CompileOptions compile_options;
  // The CPU executes PTX, and a GPU's driver can assemble it.
  compile_options.batch = completed->batched;
  compile_options.assembler = device.info().kind == DeviceKind::cpu ? Assembler::none : assembler;
  dsl::Result<Artifact> artifact = compile(fitting, target_of(fitting), compile_options);
  if (!artifact) return tl::unexpected(std::move(artifact.error()));
  if (device.info().kind == DeviceKind::cpu) say_how_long(completed->shape);
  return run_gemm(device, *artifact, *completed, options);
}

dsl::Result<RunResult> count_on_cpu(const dsl::Spec& spec, std::optional<dsl::GemmShape> shape) {
  dsl::Result<std::unique_ptr<Device>> device = take_device("cpu");
  if (!device) return tl::unexpected(std::move(device.error()));
  const dsl::GemmShape usual{int64_t{2} * spec.tile.m, int64_t{2} * spec.tile.n,
                             int64_t{4} * spec.tile_k};
  return run_kernel(**device, spec, {.shape = shape.value_or(usual)}, {}, Assembler::none);
}

void say_progress(const std::string& what) {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "{} ...\n", what);
}

dsl::Error wrong_result(const RunResult& result) {
  dsl::Error error = dsl::Error::user(
      "wrong-result", fmt::format("{} at {} is not what it should be", result.provenance.kernel,
                                  to_string(result.problem.shape)));
  error.road = dsl::Road::check;
  return error;
}

}  // namespace tilec
