#include "runtime/cuda/headers.h"
#if TILEC_HAS_CUDA_HEADERS

#include <fmt/format.h>

#include <utility>

#include "runtime/cuda/jit_log.h"
#include "runtime/cuda/kernel.h"
#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec::cuda {
namespace {

// A block may have this much dynamic shared memory without asking for more.
constexpr int64_t kSharedBytesUnasked = 48 * 1024;

dsl::Error load_error(const dsl::Error& cause, const Artifact& artifact, const std::string& log) {
  std::string message = fmt::format("kernel {} for {} could not be loaded: {}", artifact.spec.name,
                                    artifact.spec.target, cause.diagnostics.front().message);
  if (!log.empty()) message += "\n" + log;
  return make_error(Fault::device_load, std::move(message), "compile for the device's own target");
}

}  // namespace

Result<Kernel> Kernel::load(const Context& context, const Artifact& artifact) {
  Kernel kernel(context);
  kernel.code_ = code_of(artifact);
  const Result<int> sms =
      context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "multiprocessors");
  if (!sms) return tl::unexpected(sms.error());
  kernel.sm_count_ = *sms;
  TILEC_TRY(kernel.load_module(artifact));
  const Driver& api = context.driver();
  for (const Entry& entry : kernel.code_.entries) {
    CUfunction function = nullptr;
    const Result<void> found =
        context.check(api.module_get_function(&function, kernel.module_, entry.name.c_str()),
                      fmt::format("cuModuleGetFunction of {}", entry.name));
    if (!found) return tl::unexpected(load_error(found.error(), artifact, ""));
    kernel.functions_.push_back(function);
  }
  TILEC_TRY(kernel.allow_shared_memory());
  return kernel;
}

Kernel::Kernel(Kernel&& other) noexcept
    : context_(other.context_),
      module_(std::exchange(other.module_, nullptr)),
      functions_(std::move(other.functions_)),
      code_(std::move(other.code_)),
      sm_count_(other.sm_count_) {}

Kernel::~Kernel() {
  if (module_ != nullptr) context_->driver().module_unload(module_);
}

Result<void> Kernel::load_module(const Artifact& artifact) {
  const Driver& api = context_->driver();
  if (!artifact.cubin.empty()) {
    const Result<void> loaded =
        context_->check(api.module_load(&module_, artifact.cubin.data(), 0, nullptr, nullptr),
                        "cuModuleLoadDataEx of the cubin");
    if (!loaded) return tl::unexpected(load_error(loaded.error(), artifact, ""));
    return {};
  }
  JitLog log;
  const Result<void> loaded = context_->check(
      api.module_load(&module_, artifact.ptx.c_str(), JitLog::kOptions, log.options, log.values),
      "cuModuleLoadDataEx of the PTX, assembled by the driver,");
  if (!loaded) return tl::unexpected(load_error(loaded.error(), artifact, log.text()));
  return {};
}

Result<void> Kernel::allow_shared_memory() {
  const int64_t wanted = code_.entries.front().shared_bytes;  // the others use none
  if (wanted <= kSharedBytesUnasked) return {};
  const Result<int> most =
      context_->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, "shared memory");
  if (!most) return tl::unexpected(most.error());
  if (wanted > *most)
    return refuse(
        Fault::shared_memory_refused,
        fmt::format("kernel {} needs {} bytes of shared memory: this device allows {} a block",
                    name(), wanted, *most),
        "use fewer stages or a smaller tile");
  return context_->check(context_->driver().function_set_attribute(
                             functions_.front(), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             static_cast<int>(wanted)),
                         "cuFuncSetAttribute of the shared memory");
}

std::optional<int> Kernel::blocks_per_sm() const {
  const Entry& entry = code_.entries.front();
  int blocks = 0;
  const CUresult status = context_->driver().active_blocks(
      &blocks, functions_.front(), entry.threads, static_cast<size_t>(entry.shared_bytes));
  if (status != CUDA_SUCCESS) return std::nullopt;
  return blocks;
}

Result<void> Kernel::launch(const KernelArguments& arguments) const {
  const Result<std::vector<Launch>> launches = plan_launches(code_, arguments, sm_count_);
  if (!launches) return tl::unexpected(launches.error());
  CUstream stream = context_->stream();
  if (arguments.stream != nullptr) stream = static_cast<CUstream>(arguments.stream);
  for (const Launch& next : *launches) TILEC_TRY(launch_one(next, stream));
  return {};
}

Result<void> Kernel::launch_one(const Launch& launch, CUstream stream) const {
  const Entry& entry = code_.entries[launch.entry];
  // The driver reads each parameter through a pointer, in its size in the kernel.
  std::vector<Parameter> values = launch.parameters;
  std::vector<void*> places;
  for (Parameter& value : values)
    places.push_back(std::visit([](auto& number) -> void* { return &number; }, value));
  const auto& [x, y, z] = launch.grid;
  const auto threads = static_cast<unsigned>(entry.threads);
  const auto shared_bytes = static_cast<unsigned>(entry.shared_bytes);
  const Driver& api = context_->driver();
  CUresult status = CUDA_SUCCESS;
  if (launch.early && api.launch_kernel_ex != nullptr) {
    CUlaunchAttribute early{};
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config{.gridDimX = x,
                                .gridDimY = y,
                                .gridDimZ = z,
                                .blockDimX = threads,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = shared_bytes,
                                .hStream = stream,
                                .attrs = &early,
                                .numAttrs = 1};
    status = api.launch_kernel_ex(&config, functions_[launch.entry], places.data(), nullptr);
  } else {
    status = api.launch_kernel(functions_[launch.entry], x, y, z, threads, 1, 1, shared_bytes,
                               stream, places.data(), nullptr);
  }
  if (status != CUDA_SUCCESS) return tl::unexpected(launch_error(status, launch));
  return {};
}

// The driver says "too many resources requested"; the numbers say which.
dsl::Error Kernel::launch_error(CUresult status, const Launch& launch) const {
  const Driver& api = context_->driver();
  const Entry& entry = code_.entries[launch.entry];
  const int64_t blocks = int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  dsl::Error error = api.error(
      status, fmt::format("cuLaunchKernel of {} with {} blocks of {} threads and {} bytes of "
                          "shared memory",
                          entry.name, blocks, entry.threads, entry.shared_bytes));
  int registers = 0;
  if (api.function_get_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                 functions_[launch.entry]) == CUDA_SUCCESS)
    error.diagnostics.front().help = fmt::format("the kernel has {} registers a thread, {} a block",
                                                 registers, registers * entry.threads);
  return error;
}

}  // namespace tilec::cuda

#endif
