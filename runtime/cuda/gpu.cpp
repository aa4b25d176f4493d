#include "runtime/cuda/gpu.h"

#include "runtime/cuda/headers.h"
#include "runtime/faults.h"
#if TILEC_HAS_CUDA_HEADERS

#include <fmt/format.h>

#include <map>
#include <optional>

#include "runtime/cuda/blas.h"
#include "runtime/cuda/blas_lt.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/graphs.h"
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/nvml.h"
#include "runtime/try.h"

namespace tilec::cuda {
namespace {

// The members that use the context stand after it, so that they go first.
class Gpu final : public Device, public Stopwatch {
 public:
  Gpu(Context context, DeviceInfo info) : context_(std::move(context)), info_(std::move(info)) {}
  ~Gpu() override {
    blas_lt_.reset();
    blas_.reset();
    if (workspace_ != 0) driver().mem_free(workspace_);
  }
  Result<void> open_libraries(const GpuOptions& options);

  const DeviceInfo& info() const override { return info_; }
  std::optional<int64_t> free_bytes() const override {
    size_t free = 0;
    size_t all = 0;
    if (driver().mem_get_info(&free, &all) != CUDA_SUCCESS) return std::nullopt;
    return static_cast<int64_t>(free);
  }
  Result<Address> allocate(int64_t bytes) override;
  Result<void> free(Address address) override {
    return check(driver().mem_free(address), "cuMemFree");
  }
  Result<void> upload(Address to, std::span<const std::byte> from) override;
  Result<void> download(std::span<std::byte> to, Address from) override;
  Result<void> fill(Address to, uint32_t word, int64_t words) override;

  Result<KernelId> load(const Artifact& artifact) override;
  Result<void> launch(KernelId kernel, const KernelArguments& arguments) override;
  Result<void> synchronise() override { return explained(context_.synchronise()); }
  Result<void> unload(KernelId kernel) override {
    kernels_.erase(kernel);
    return {};
  }
  std::optional<int> blocks_per_sm(KernelId kernel) const override {
    const Result<const Kernel*> found = find(kernel);
    return found ? (*found)->blocks_per_sm() : std::nullopt;
  }
  Result<void> cublas(dsl::OperandLayout layout, dsl::Batch batch,
                      const KernelArguments& arguments) override;
  Stopwatch* stopwatch() override { return this; }

  Result<SequenceId> record(KernelId kernel, std::span<const KernelArguments> launches) override;
  Result<int> cublaslt_algorithms(dsl::OperandLayout layout, dsl::Batch batch,
                                  const KernelArguments& launch) override;
  Result<SequenceId> record_cublas(CublasWay way, dsl::OperandLayout layout, dsl::Batch batch,
                                   std::span<const KernelArguments> launches) override;
  Result<BurstTime> play(SequenceId sequence, int times) override {
    return graphs_.play(sequence, times);
  }
  void forget(SequenceId sequence) override { graphs_.forget(sequence); }

 private:
  const Driver& driver() const { return context_.driver(); }
  Result<void> check(CUresult status, const char* call) const {
    return context_.check(status, call);
  }
  Result<void> open_cublas_libraries(const GpuOptions& options);
  Result<SequenceId> record_lt(size_t algorithm, dsl::OperandLayout layout, dsl::Batch batch,
                               std::span<const KernelArguments> launches);
  Result<const Kernel*> find(KernelId kernel) const;
  Result<void> explained(Result<void> result) const;

  Context context_;
  DeviceInfo info_;
  std::map<KernelId, Kernel> kernels_;
  int next_id_ = 1;
  std::string last_launched_;
  std::optional<Nvml> nvml_;
  Address workspace_ = 0;  // cuBLAS's
  std::optional<Blas> blas_;
  std::optional<BlasLt> blas_lt_;
  Graphs graphs_{context_, nvml_};
};

Result<void> Gpu::open_libraries(const GpuOptions& options) {
  Result<Nvml> nvml = Nvml::open(context_.bus_id(), options.nvml_files);
  if (nvml) {
    info_.nvml = nvml->version();
    if (!nvml->driver_version().empty()) info_.driver = nvml->driver_version();
    nvml_.emplace(std::move(*nvml));
  } else {
    info_.missing.push_back("the clock: " + nvml.error().diagnostics.front().message);
  }
  return options.cublas ? open_cublas_libraries(options) : Result<void>();
}

// What is not there is said in `missing`; only a device that fails is an error.
Result<void> Gpu::open_cublas_libraries(const GpuOptions& options) {
  Result<Address> workspace = allocate(Blas::kWorkspaceBytes);
  if (!workspace) return tl::unexpected(workspace.error());
  workspace_ = *workspace;
  const auto misses = [this](const char* what, const dsl::Error& error) {
    info_.missing.push_back(fmt::format("{}: {}", what, error.diagnostics.front().message));
    return Result<void>();
  };
  constexpr const char* kBlas = "the comparison with cuBLAS";
  const Result<Library> library = open_cublas(options.cublas_files);
  if (!library) return misses(kBlas, library.error());
  Result<Blas> blas = Blas::open(*library, context_.stream(), workspace_);
  if (!blas) return misses(kBlas, blas.error());
  info_.cublas = blas->version();
  blas_.emplace(std::move(*blas));
  Result<BlasLt> lt = BlasLt::open(*library, context_.stream(), workspace_);
  if (!lt) return misses("the comparison with cublasLt's algorithms", lt.error());
  blas_lt_.emplace(std::move(*lt));
  return {};
}

Result<Address> Gpu::allocate(int64_t bytes) {
  CUdeviceptr address = 0;
  TILEC_TRY(
      context_.check(driver().mem_alloc(&address, static_cast<size_t>(std::max<int64_t>(1, bytes))),
                     fmt::format("cuMemAlloc of {} bytes", bytes)));
  return static_cast<Address>(address);
}

// On our stream, which does not wait for the driver's default one; then waits, since the host's
// memory is the caller's again on return.
Result<void> Gpu::upload(Address to, std::span<const std::byte> from) {
  TILEC_TRY(check(driver().copy_to_device(to, from.data(), from.size(), context_.stream()),
                  "cuMemcpyHtoDAsync"));
  return synchronise();
}

Result<void> Gpu::download(std::span<std::byte> to, Address from) {
  TILEC_TRY(check(driver().copy_to_host(to.data(), from, to.size(), context_.stream()),
                  "cuMemcpyDtoHAsync"));
  return synchronise();
}

Result<void> Gpu::fill(Address to, uint32_t word, int64_t words) {
  TILEC_TRY(check(driver().set_words(to, word, static_cast<size_t>(words), context_.stream()),
                  "cuMemsetD32Async"));
  return synchronise();
}

Result<KernelId> Gpu::load(const Artifact& artifact) {
  Result<Kernel> kernel = Kernel::load(context_, artifact);
  if (!kernel) return tl::unexpected(kernel.error());
  const auto id = static_cast<KernelId>(next_id_++);
  kernels_.emplace(id, std::move(*kernel));
  return id;
}

Result<const Kernel*> Gpu::find(KernelId kernel) const {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end())
    return tl::unexpected(dsl::Error::internal("launch of a kernel that was never loaded"));
  return &found->second;
}

Result<void> Gpu::launch(KernelId kernel, const KernelArguments& arguments) {
  const Result<const Kernel*> found = find(kernel);
  if (!found) return tl::unexpected(found.error());
  last_launched_ = (*found)->name();
  return (*found)->launch(arguments);
}

// A kernel's fault shows at the next call that waits; which kernel it was stands nowhere else.
Result<void> Gpu::explained(Result<void> result) const {
  if (!result && !last_launched_.empty())
    result.error().diagnostics.front().help = fmt::format(
        "the last kernel launched was {}; after a fault of a kernel the device has to "
        "be opened anew",
        last_launched_);
  return result;
}

Result<void> Gpu::cublas(dsl::OperandLayout layout, dsl::Batch batch,
                         const KernelArguments& arguments) {
  if (!blas_) return refuse(Fault::no_cublas, "cuBLAS could not be opened");
  TILEC_TRY(blas_->multiply(layout, arguments, batch));
  return synchronise();
}

Result<SequenceId> Gpu::record(KernelId kernel, std::span<const KernelArguments> launches) {
  const Result<const Kernel*> found = find(kernel);
  if (!found) return tl::unexpected(found.error());
  last_launched_ = (*found)->name();
  return graphs_.record(static_cast<int64_t>(launches.size()), [&]() -> Result<void> {
    for (const KernelArguments& arguments : launches) TILEC_TRY((*found)->launch(arguments));
    return {};
  });
}

Result<int> Gpu::cublaslt_algorithms(dsl::OperandLayout layout, dsl::Batch batch,
                                     const KernelArguments& launch) {
  if (!blas_lt_) return 0;
  const Result<BlasLt::Plan> plan = blas_lt_->plan(layout, batch, launch);
  if (!plan) return tl::unexpected(plan.error());
  return static_cast<int>(plan->algorithms.size());
}

Result<SequenceId> Gpu::record_cublas(CublasWay way, dsl::OperandLayout layout, dsl::Batch batch,
                                      std::span<const KernelArguments> launches) {
  if (way != kCublasSgemm) return record_lt(static_cast<size_t>(way) - 1, layout, batch, launches);
  if (!blas_) return refuse(Fault::no_cublas, "cuBLAS could not be opened");
  if (!launches.empty()) TILEC_TRY(cublas(layout, batch, launches.front()));
  return graphs_.record(static_cast<int64_t>(launches.size()), [&]() -> Result<void> {
    for (const KernelArguments& arguments : launches)
      TILEC_TRY(blas_->multiply(layout, arguments, batch));
    return {};
  });
}

// The list is asked for anew: for the same product it is the same.
Result<SequenceId> Gpu::record_lt(size_t algorithm, dsl::OperandLayout layout, dsl::Batch batch,
                                  std::span<const KernelArguments> launches) {
  if (!blas_lt_ || launches.empty()) return refuse(Fault::no_cublas, "there is no cublasLt");
  const Result<BlasLt::Plan> plan = blas_lt_->plan(layout, batch, launches.front());
  if (!plan) return tl::unexpected(plan.error());
  if (algorithm >= plan->algorithms.size())
    return tl::unexpected(dsl::Error::internal("an algorithm that cublasLt does not list"));
  const LtAlgorithm& chosen = plan->algorithms[algorithm];
  TILEC_TRY(blas_lt_->multiply(*plan, chosen, launches.front()));
  TILEC_TRY(synchronise());
  return graphs_.record(static_cast<int64_t>(launches.size()), [&]() -> Result<void> {
    for (const KernelArguments& arguments : launches)
      TILEC_TRY(blas_lt_->multiply(*plan, chosen, arguments));
    return {};
  });
}

}  // namespace

Result<std::unique_ptr<Device>> open_gpu(const GpuOptions& options) {
  Result<Driver> driver = Driver::open(options.driver_files);
  if (!driver) return tl::unexpected(driver.error());
  Result<Context> context = Context::open(std::move(*driver), options.index);
  if (!context) return tl::unexpected(context.error());
  Result<DeviceInfo> info = context->describe();
  if (!info) return tl::unexpected(info.error());
  auto gpu = std::make_unique<Gpu>(std::move(*context), std::move(*info));
  if (options.libraries) TILEC_TRY(gpu->open_libraries(options));
  return gpu;
}

}  // namespace tilec::cuda

#else

namespace tilec::cuda {

Result<std::unique_ptr<Device>> open_gpu(const GpuOptions&) {
  return refuse(Fault::no_cuda_support, "no CUDA support was compiled in: cuda.h was not found");
}

}  // namespace tilec::cuda

#endif
