#include "runtime/cuda/headers.h"
#if TILEC_HAS_CUDA_HEADERS

#include <fmt/format.h>

#include <utility>

#include "dsl/shape.h"
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
  kernel.spec_ = artifact.spec;
  kernel.threads_ = artifact.derived.threads;
  kernel.shared_bytes_ = artifact.derived.shared_bytes;
  TILEC_TRY(kernel.load_module(artifact));
  const Driver& api = context.driver();
  const Result<void> found = context.check(
      api.module_get_function(&kernel.function_, kernel.module_, kernel.name().c_str()),
      fmt::format("cuModuleGetFunction of {}", kernel.name()));
  if (!found) return tl::unexpected(load_error(found.error(), artifact, ""));
  TILEC_TRY(kernel.allow_shared_memory());
  return kernel;
}

Kernel::Kernel(Kernel&& other) noexcept
    : context_(other.context_),
      module_(std::exchange(other.module_, nullptr)),
      function_(other.function_),
      spec_(std::move(other.spec_)),
      threads_(other.threads_),
      shared_bytes_(other.shared_bytes_) {}

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
  if (shared_bytes_ <= kSharedBytesUnasked) return {};
  const Result<int> most =
      context_->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, "shared memory");
  if (!most) return tl::unexpected(most.error());
  if (shared_bytes_ > *most)
    return refuse(
        Fault::shared_memory_refused,
        fmt::format("kernel {} needs {} bytes of shared memory: this device allows {} a block",
                    name(), shared_bytes_, *most),
        "use fewer stages or a smaller tile");
  return context_->check(context_->driver().function_set_attribute(
                             function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             static_cast<int>(shared_bytes_)),
                         "cuFuncSetAttribute of the shared memory");
}

Result<void> Kernel::launch(const KernelArguments& arguments) const {
  const Result<int64_t> blocks = dsl::grid_blocks(spec_, {arguments.m, arguments.n, arguments.k});
  if (!blocks) return tl::unexpected(blocks.error());
  if (*blocks == 0) return {};
  // The driver reads each parameter through a pointer, in its size in the kernel.
  KernelArguments x = arguments;
  auto m = static_cast<int32_t>(x.m);
  auto n = static_cast<int32_t>(x.n);
  auto k = static_cast<int32_t>(x.k);
  void* parameters[] = {&x.a, &x.b, &x.c, &m, &n, &k, &x.lda, &x.ldb, &x.ldc, &x.alpha, &x.beta};
  const CUresult status = context_->driver().launch_kernel(
      function_, static_cast<unsigned>(*blocks), 1, 1, static_cast<unsigned>(threads_), 1, 1,
      static_cast<unsigned>(shared_bytes_), context_->stream(), parameters, nullptr);
  if (status != CUDA_SUCCESS) return tl::unexpected(launch_error(status, *blocks));
  return {};
}

// The driver says "too many resources requested"; the numbers say which.
dsl::Error Kernel::launch_error(CUresult status, int64_t blocks) const {
  const Driver& api = context_->driver();
  dsl::Error error = api.error(
      status, fmt::format("cuLaunchKernel of {} with {} blocks of {} threads and {} bytes of "
                          "shared memory",
                          name(), blocks, threads_, shared_bytes_));
  int registers = 0;
  if (api.function_get_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function_) == CUDA_SUCCESS)
    error.diagnostics.front().help = fmt::format("the kernel has {} registers a thread, {} a block",
                                                 registers, registers * threads_);
  return error;
}

}  // namespace tilec::cuda

#endif
