// Any PTX on a GPU: the driver assembles it, and launches it with plain arguments. Neither cuBLAS
// nor NVML is opened, so that nothing but the kernel asked for runs on the device: a sanitizer or a
// profiler then sees that kernel alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/gpu.h"
#include "runtime/device.h"

namespace tilec::cuda {

/// One launch of an entry of a PTX text.
struct PtxLaunch {
  std::string ptx;
  std::string entry;
  std::array<uint32_t, 3> grid{1, 1, 1};   // blocks
  std::array<uint32_t, 3> block{1, 1, 1};  // threads
  int64_t dynamic_shared_bytes = 0;
  std::vector<std::vector<std::byte>> parameters;  // each as large as the entry declares it
};

class Loader {
 public:
  virtual ~Loader() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Freed with the loader. At least one byte is allocated; contents are undefined.
  virtual Result<Address> allocate(int64_t bytes) = 0;
  virtual Result<void> upload(Address to, std::span<const std::byte> from) = 0;
  virtual Result<void> download(std::span<std::byte> to, Address from) = 0;
  /// Loads, launches and waits for the end.
  /// Errors: machine, "device-load" with the assembler's words; "device-call", also for faults of
  /// the kernel, after which the loader is of no more use.
  virtual Result<void> launch(const PtxLaunch& launch) = 0;
};

/// Errors: machine, "no-driver", "no-gpu", "no-cuda-support" or "device-call".
Result<std::unique_ptr<Loader>> open_loader(const GpuOptions& options);

}  // namespace tilec::cuda
