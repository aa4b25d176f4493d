#include "tools/library/context.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "compiler/compile.h"
#include "compiler/target.h"
#include "dsl/format.h"
#include "runtime/devices.h"
#include "runtime/launches.h"
#include "runtime/try.h"
#include "tools/choice/choose.h"

namespace {

using namespace tilec;

// Two builds of one version may make different code, so a kernel also depends on this file.
std::string this_build() {
  Dl_info info{};
  struct stat file{};
  if (dladdr(reinterpret_cast<void*>(&tilec_version), &info) == 0 ||
      stat(info.dli_fname, &file) != 0)
    return "unknown build";
  return fmt::format("build {} {}.{}", static_cast<int64_t>(file.st_size),
                     static_cast<int64_t>(file.st_mtim.tv_sec),
                     static_cast<int64_t>(file.st_mtim.tv_nsec));
}

struct Range {
  Address begin = 0;
  Address end = 0;
};

// What the matrices of an operand cover, gaps between rows included.
Range range_of(const Call& call, Operand operand) {
  const Stored matrix = stored(call.problem, operand);
  const KernelArguments& x = call.arguments;
  const bool is_a = operand == Operand::a;
  const bool is_b = operand == Operand::b;
  const Address base = is_a ? x.a : is_b ? x.b : x.c;
  const int64_t stride = is_a ? x.stride_a : is_b ? x.stride_b : x.stride_c;
  const int64_t apart = call.problem.batched == dsl::Batch::strided ? stride : 0;
  const int64_t elements =
      matrix.extent() == 0 ? 0 : matrix.extent() + (call.problem.batch - 1) * apart;
  return {base, base + static_cast<Address>(elements) * sizeof(float)};
}

Result<void> check_overlap(const Call& call) {
  if (!call.checks_overlap) return {};
  const Range c = range_of(call, Operand::c);
  for (Operand operand : {Operand::a, Operand::b}) {
    const Range other = range_of(call, operand);
    const bool apart = other.end <= c.begin || c.end <= other.begin;
    if (apart || c.begin == c.end || other.begin == other.end) continue;
    return tl::unexpected(dsl::Error::user(
        "overlapping-operands",
        fmt::format("C overlaps {}, which is read while C is written", operand_letter(operand))));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<tilec_context>> tilec_context::open(tilec_device kind, int index) {
  cuda::GpuOptions options;
  options.index = index;
  options.libraries = false;
  Result<OpenedDevice> opened =
      open_device(kind == TILEC_GPU ? DeviceKind::gpu : DeviceKind::cpu, options, {});
  if (!opened) return tl::unexpected(std::move(opened.error()));
  auto out = std::make_unique<tilec_context>();
  out->device_ = std::move(opened->device);
  const DeviceInfo& info = out->device_->info();
  out->target_ = info.target.empty() ? "sm_90a" : info.target;
  out->version_ = tool_versions(info.kind == DeviceKind::gpu);
  return out;
}

Result<Artifact> tilec_context::artifact_of(const dsl::Spec& spec, dsl::Batch batch) {
  const bool gpu = device_->info().kind == DeviceKind::gpu;
  const std::string key = fmt::format("{}\nbatch {}\n{}\n{}", dsl::format(spec),
                                      static_cast<int>(batch), version_, this_build());
  if (std::optional<Artifact> kept = cache_.load(key)) return std::move(*kept);
  CompileOptions options;
  options.batch = batch;
  options.assembler = gpu ? Assembler::automatic : Assembler::none;
  Result<Artifact> made = compile(spec, *find_target(spec.target), options);
  if (made) cache_.store(key, *made);
  return made;
}

Result<const tilec_context::Loaded*> tilec_context::kernel_for(const GemmProblem& problem) {
  const TuningKey key = tuning_key(device_->info(), version_, problem);
  const std::string name = fmt::format("{}x{}x{} {} {} {} {}", key.m, key.n, key.k, key.layout,
                                       key.alignment, key.batch, static_cast<int>(problem.batched));
  if (const auto found = kernels_.find(name); found != kernels_.end()) return &found->second;
  Result<Choice> choice = choose(device_->info(), target_, version_, problem, usual_tuning_file());
  if (!choice) return tl::unexpected(std::move(choice.error()));
  Loaded loaded{.spec = narrowed(choice->spec, problem), .why = choice->why};
  loaded.text = dsl::format(loaded.spec);
  // Shapes share kernels: one that is loaded already serves.
  for (const auto& [other, kernel] : kernels_) {
    const bool same_batch = other.back() == name.back();
    if (same_batch && kernel.text == loaded.text) {
      loaded.kernel = kernel.kernel;
      loaded.blocks_per_sm = kernel.blocks_per_sm;
      return &kernels_.emplace(name, std::move(loaded)).first->second;
    }
  }
  Result<Artifact> artifact = artifact_of(loaded.spec, problem.batched);
  if (!artifact) return tl::unexpected(std::move(artifact.error()));
  TILEC_TRY(accepts(*artifact, problem));
  Result<KernelId> kernel = device_->load(*artifact);
  if (!kernel) return tl::unexpected(std::move(kernel.error()));
  loaded.kernel = *kernel;
  loaded.blocks_per_sm = artifact->blocks_per_sm;
  return &kernels_.emplace(name, std::move(loaded)).first->second;
}

// Grows where it has to. Freeing waits for the launches that still use the old one.
Result<void> tilec_context::give_workspace(const Loaded& kernel, Call& call) {
  const int64_t needed =
      workspace_needed(kernel.spec, call.problem.shape, call.problem.batch,
                       blocks_at_once(device_->info().sm_count, kernel.blocks_per_sm));
  if (needed == 0) return {};
  Buffer& workspace = workspaces_[stream_];
  if (workspace.bytes() < needed) {
    const std::optional<int64_t> free = device_->free_bytes();
    if (free && needed > *free + workspace.bytes())
      return tl::unexpected(dsl::Error::machine(
          "not-enough-memory",
          fmt::format("a workspace of {} bytes is needed, and {} are left", needed, *free)));
    TILEC_TRY(device_->synchronise());
    workspace = Buffer();
    Result<Buffer> larger = Buffer::allocate(*device_, needed);
    if (!larger) return tl::unexpected(std::move(larger.error()));
    workspace = std::move(*larger);
  }
  call.arguments.workspace = workspace.address();
  call.arguments.workspace_bytes = workspace.bytes();
  return {};
}

Result<void> tilec_context::multiply(Call call) {
  Result<GemmProblem> problem = complete(call.problem);
  if (!problem) return tl::unexpected(std::move(problem.error()));
  TILEC_TRY(check_overlap(call));
  if (problem->shape.m == 0 || problem->shape.n == 0) return {};
  if (call.arguments.alpha == 0) problem->shape.k = call.arguments.k = 0;  // A and B are not read
  const Result<const Loaded*> kernel = kernel_for(*problem);
  if (!kernel) return tl::unexpected(kernel.error());
  TILEC_TRY(give_workspace(**kernel, call));
  call.arguments.stream = stream_;
  last_spec = (*kernel)->text;
  last_choice = (*kernel)->why;
  return device_->launch((*kernel)->kernel, call.arguments);
}
