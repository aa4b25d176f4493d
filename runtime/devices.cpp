#include "runtime/devices.h"

#include <fmt/format.h>

namespace tilec {

Result<OpenedDevice> open_device(std::optional<DeviceKind> kind, const cuda::GpuOptions& gpu,
                                 const CpuOptions& cpu) {
  if (kind == DeviceKind::cpu) return OpenedDevice{open_cpu(cpu), ""};
  Result<std::unique_ptr<Device>> opened = cuda::open_gpu(gpu);
  if (opened && kind) return OpenedDevice{std::move(*opened), ""};
  if (opened) {
    std::string why = fmt::format("running on the GPU: {}", (*opened)->info().name);
    return OpenedDevice{std::move(*opened), std::move(why)};
  }
  if (kind) return tl::unexpected(std::move(opened.error()));
  return OpenedDevice{open_cpu(cpu), fmt::format("running on the CPU, which executes the PTX: {}",
                                                 opened.error().diagnostics.front().message)};
}

}  // namespace tilec
