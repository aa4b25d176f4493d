#include "runtime/cuda/loader.h"

#include "runtime/cuda/headers.h"
#include "runtime/faults.h"
#if TILEC_HAS_CUDA_HEADERS

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/cuda/context.h"
#include "runtime/cuda/jit_log.h"
#include "runtime/try.h"

namespace tilec::cuda {
namespace {

std::string extents(const std::array<uint32_t, 3>& of) {
  return fmt::format("{}x{}x{}", of[0], of[1], of[2]);
}

class ContextLoader final : public Loader {
 public:
  ContextLoader(Context context, DeviceInfo info)
      : context_(std::move(context)), info_(std::move(info)) {}
  ContextLoader(const ContextLoader&) = delete;
  ContextLoader& operator=(const ContextLoader&) = delete;
  // After a kernel's fault every call fails; the fault itself was reported where it happened.
  ~ContextLoader() override {
    if (module_ != nullptr) driver().module_unload(module_);
    for (Address address : allocated_) driver().mem_free(address);
  }

  const DeviceInfo& info() const override { return info_; }
  Result<Address> allocate(int64_t bytes) override;
  Result<void> upload(Address to, std::span<const std::byte> from) override;
  Result<void> download(std::span<std::byte> to, Address from) override;
  Result<void> launch(const PtxLaunch& launch) override;

 private:
  const Driver& driver() const { return context_.driver(); }
  Result<CUfunction> load(const PtxLaunch& launch);

  Context context_;
  DeviceInfo info_;
  std::vector<Address> allocated_;
  CUmodule module_ = nullptr;
};

Result<Address> ContextLoader::allocate(int64_t bytes) {
  CUdeviceptr address = 0;
  TILEC_TRY(
      context_.check(driver().mem_alloc(&address, static_cast<size_t>(std::max<int64_t>(1, bytes))),
                     fmt::format("cuMemAlloc of {} bytes", bytes)));
  allocated_.push_back(address);
  return static_cast<Address>(address);
}

Result<void> ContextLoader::upload(Address to, std::span<const std::byte> from) {
  if (from.empty()) return {};
  TILEC_TRY(context_.check(driver().copy_to_device(to, from.data(), from.size(), context_.stream()),
                           "cuMemcpyHtoDAsync"));
  return context_.synchronise();
}

Result<void> ContextLoader::download(std::span<std::byte> to, Address from) {
  if (to.empty()) return {};
  TILEC_TRY(context_.check(driver().copy_to_host(to.data(), from, to.size(), context_.stream()),
                           "cuMemcpyDtoHAsync"));
  return context_.synchronise();
}

Result<CUfunction> ContextLoader::load(const PtxLaunch& launch) {
  const auto refused = [&](const dsl::Error& cause, const std::string& log) {
    std::string message =
        fmt::format("{} could not be loaded: {}", launch.entry, cause.diagnostics.front().message);
    if (!log.empty()) message += "\n" + log;
    return refuse(Fault::device_load, std::move(message));
  };
  if (module_ != nullptr) driver().module_unload(std::exchange(module_, nullptr));
  JitLog log;
  const Result<void> loaded = context_.check(
      driver().module_load(&module_, launch.ptx.c_str(), JitLog::kOptions, log.options, log.values),
      "cuModuleLoadDataEx of the PTX, assembled by the driver,");
  if (!loaded) return refused(loaded.error(), log.text());
  CUfunction function = nullptr;
  const Result<void> found =
      context_.check(driver().module_get_function(&function, module_, launch.entry.c_str()),
                     fmt::format("cuModuleGetFunction of {}", launch.entry));
  if (!found) return refused(found.error(), "");
  // More than 48 KiB, static memory included, has to be asked for; asking for less does no harm.
  if (launch.dynamic_shared_bytes > 0)
    TILEC_TRY(context_.check(
        driver().function_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        static_cast<int>(launch.dynamic_shared_bytes)),
        fmt::format("cuFuncSetAttribute of {} bytes of shared memory",
                    launch.dynamic_shared_bytes)));
  return function;
}

Result<void> ContextLoader::launch(const PtxLaunch& launch) {
  const Result<CUfunction> function = load(launch);
  if (!function) return tl::unexpected(function.error());
  // The driver copies each parameter from here, in its size in the kernel, before it returns.
  std::vector<std::vector<std::byte>> parameters = launch.parameters;
  std::vector<void*> pointers;
  pointers.reserve(parameters.size());
  for (std::vector<std::byte>& parameter : parameters) pointers.push_back(parameter.data());
  const auto& [grid_x, grid_y, grid_z] = launch.grid;
  const auto& [block_x, block_y, block_z] = launch.block;
  TILEC_TRY(context_.check(
      driver().launch_kernel(*function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                             static_cast<unsigned>(launch.dynamic_shared_bytes), context_.stream(),
                             pointers.data(), nullptr),
      fmt::format("cuLaunchKernel of {} with {} blocks of {} threads and {} bytes of shared memory",
                  launch.entry, extents(launch.grid), extents(launch.block),
                  launch.dynamic_shared_bytes)));
  Result<void> ended = context_.synchronise();
  if (!ended)
    ended.error().diagnostics.front().help = fmt::format("the fault is one of {}", launch.entry);
  return ended;
}

}  // namespace

Result<std::unique_ptr<Loader>> open_loader(const GpuOptions& options) {
  Result<Driver> driver = Driver::open(options.driver_files);
  if (!driver) return tl::unexpected(driver.error());
  Result<Context> context = Context::open(std::move(*driver), options.index);
  if (!context) return tl::unexpected(context.error());
  Result<DeviceInfo> info = context->describe();
  if (!info) return tl::unexpected(info.error());
  return std::make_unique<ContextLoader>(std::move(*context), std::move(*info));
}

}  // namespace tilec::cuda

#else

namespace tilec::cuda {

Result<std::unique_ptr<Loader>> open_loader(const GpuOptions&) {
  return refuse(Fault::no_cuda_support, "no CUDA support was compiled in: cuda.h was not found");
}

}  // namespace tilec::cuda

#endif
