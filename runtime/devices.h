// Which device a run takes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/cpu_device.h"
#include "runtime/cuda/gpu.h"
#include "runtime/device.h"

namespace tilec {

struct OpenedDevice {
  std::unique_ptr<Device> device;
  std::string why;  // for the user, where no device was named: which was taken, and why
};

/// The device named; where none is, a GPU if there is one, else the CPU.
/// Errors: those of `open_gpu`, where a GPU was named.
Result<OpenedDevice> open_device(std::optional<DeviceKind> kind, const cuda::GpuOptions& gpu,
                                 const CpuOptions& cpu);

}  // namespace tilec
