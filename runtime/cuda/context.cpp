#include "runtime/cuda/headers.h"
#if TILEC_HAS_CUDA_HEADERS

#include <fmt/format.h>

#include <utility>

#include "compiler/target.h"
#include "runtime/cuda/context.h"
#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec::cuda {

Result<Context> Context::open(Driver driver, int index) {
  Context context(std::move(driver));
  const Driver& api = context.driver_;
  const CUresult started = api.init(0);
  int count = 0;
  if (started != CUDA_ERROR_NO_DEVICE) {
    TILEC_TRY(api.check(started, "cuInit"));
    TILEC_TRY(api.check(api.device_get_count(&count), "cuDeviceGetCount"));
  }
  if (index < 0 || index >= count)
    return refuse(Fault::no_gpu,
                  fmt::format("there is no GPU {}: the driver {} sees {}", index, api.file,
                              count == 0 ? "none" : std::to_string(count)));
  TILEC_TRY(api.check(api.device_get(&context.device_, index), "cuDeviceGet"));
  CUcontext primary = nullptr;
  TILEC_TRY(
      api.check(api.primary_context_retain(&primary, context.device_), "cuDevicePrimaryCtxRetain"));
  context.retained_ = true;
  TILEC_TRY(api.check(api.context_set_current(primary), "cuCtxSetCurrent"));
  TILEC_TRY(
      api.check(api.stream_create(&context.stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  return context;
}

Context::Context(Context&& other) noexcept
    : driver_(std::move(other.driver_)),
      device_(other.device_),
      retained_(std::exchange(other.retained_, false)),
      stream_(std::exchange(other.stream_, nullptr)) {}

Context::~Context() {
  // After a kernel's fault every call fails; the fault itself was reported where it happened.
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
  if (retained_) driver_.primary_context_release(device_);
}

std::string Context::bus_id() const {
  char text[32] = {};
  return driver_.device_get_pci_bus_id(text, sizeof text - 1, device_) == CUDA_SUCCESS ? text : "";
}

Result<int> Context::attribute(CUdevice_attribute attribute, const char* name) const {
  int value = 0;
  TILEC_TRY(check(driver_.device_get_attribute(&value, attribute, device_),
                  fmt::format("cuDeviceGetAttribute of {}", name)));
  return value;
}

Result<DeviceInfo> Context::describe() const {
  DeviceInfo info{.kind = DeviceKind::gpu};
  char name[256] = {};
  TILEC_TRY(check(driver_.device_get_name(name, sizeof name - 1, device_), "cuDeviceGetName"));
  info.name = name;
  size_t memory = 0;
  TILEC_TRY(check(driver_.device_total_mem(&memory, device_), "cuDeviceTotalMem"));
  info.memory_bytes = static_cast<int64_t>(memory);

  int major = 0;
  int minor = 0;
  int clock_khz = 0;
  int l2_bytes = 0;
  int shared_bytes = 0;
  const struct {
    CUdevice_attribute attribute;
    const char* name;
    int* value;
  } rows[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, "compute capability", &major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "compute capability", &minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "SM count", &info.sm_count},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, "clock rate", &clock_khz},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, "L2 size", &l2_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, "shared memory", &shared_bytes},
  };
  for (const auto& row : rows) {
    const Result<int> value = attribute(row.attribute, row.name);
    if (!value) return tl::unexpected(value.error());
    *row.value = *value;
  }
  info.clock_mhz = clock_khz / 1e3;
  info.l2_bytes = l2_bytes;
  info.shared_bytes_per_block = shared_bytes;
  const Target* target = target_of_capability(major, minor);
  if (target != nullptr) {
    info.target = target->limits.target;
    info.lanes_per_sm = target->lanes_per_sm;
  } else {
    info.missing.push_back(fmt::format("a target for compute capability {}.{}", major, minor));
  }
  int version = 0;  // 13000 is 13.0
  if (driver_.driver_get_version(&version) == CUDA_SUCCESS)
    info.driver = fmt::format("for CUDA {}.{}", version / 1000, version % 1000 / 10);
  return info;
}

Result<void> Context::synchronise() const {
  return check(driver_.stream_synchronize(stream_), "cuStreamSynchronize");
}

}  // namespace tilec::cuda

#endif
