#include "runtime/cuda/probe.h"

#include "compiler/target.h"
#include "runtime/cuda/headers.h"

#if TILEC_HAS_CUDA_HEADERS
#include "runtime/cuda/driver.h"

namespace tilec::cuda {

std::string probe_target(const GpuOptions& options) {
  Result<Driver> driver = Driver::open(options.driver_files);
  if (!driver || driver->init(0) != CUDA_SUCCESS) return "";
  CUdevice device = 0;
  int major = 0;
  int minor = 0;
  const bool known =
      driver->device_get(&device, options.index) == CUDA_SUCCESS &&
      driver->device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ==
          CUDA_SUCCESS &&
      driver->device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) ==
          CUDA_SUCCESS;
  const Target* target = known ? target_of_capability(major, minor) : nullptr;
  return target == nullptr ? "" : target->limits.target;
}

}  // namespace tilec::cuda

#else

namespace tilec::cuda {

std::string probe_target(const GpuOptions&) {
  return "";
}

}  // namespace tilec::cuda

#endif
