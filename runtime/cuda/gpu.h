// A GPU as a device. Nothing of CUDA is linked: the driver, cuBLAS and NVML are opened at run time,
// and what is not there is said plainly. Without cuBLAS or NVML all but the comparison and the
// clock still works; DeviceInfo::missing says what was tried.
//
// The files: `library` opens shared objects, `driver` holds the driver's functions, `context` one
// device's context and stream, `kernel` loads and launches, `graphs` records and plays launches for
// timing, `blas`, `blas_lt` and `nvml` are the libraries beside, `gpu` puts all behind the
// interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace tilec::cuda {

/// Files to open, in order; an empty list means the usual names and places.
struct GpuOptions {
  int index = 0;          // as the driver numbers devices
  bool libraries = true;  // open cuBLAS and NVML too, for comparing and timing
  bool cublas = true;     // of these also cuBLAS
  std::vector<std::string> driver_files;
  std::vector<std::string> cublas_files;
  std::vector<std::string> nvml_files;
};

/// Errors: machine, "no-driver", "no-gpu", "no-cuda-support" (compiled without CUDA's header), or
/// "device-call".
Result<std::unique_ptr<Device>> open_gpu(const GpuOptions& options);

}  // namespace tilec::cuda
