#include "runtime/cuda/headers.h"
#if TILEC_HAS_CUDA_HEADERS

#include <fmt/format.h>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/library.h"
#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec::cuda {
namespace {

void bind_devices(Binder& binder, Driver& driver) {
  binder.bind("cuInit", driver.init);
  binder.bind("cuDriverGetVersion", driver.driver_get_version);
  binder.bind("cuGetErrorName", driver.get_error_name);
  binder.bind("cuGetErrorString", driver.get_error_string);
  binder.bind("cuDeviceGetCount", driver.device_get_count);
  binder.bind("cuDeviceGet", driver.device_get);
  binder.bind("cuDeviceGetName", driver.device_get_name);
  binder.bind("cuDeviceGetAttribute", driver.device_get_attribute);
  binder.bind("cuDeviceGetPCIBusId", driver.device_get_pci_bus_id);
  binder.bind("cuDeviceTotalMem_v2", driver.device_total_mem);
  binder.bind("cuDevicePrimaryCtxRetain", driver.primary_context_retain);
  binder.bind("cuDevicePrimaryCtxRelease_v2", driver.primary_context_release);
  binder.bind("cuCtxSetCurrent", driver.context_set_current);
}

void bind_work(Binder& binder, Driver& driver) {
  binder.bind("cuMemGetInfo_v2", driver.mem_get_info);
  binder.bind("cuMemAlloc_v2", driver.mem_alloc);
  binder.bind("cuMemFree_v2", driver.mem_free);
  binder.bind("cuMemcpyHtoDAsync_v2", driver.copy_to_device);
  binder.bind("cuMemcpyDtoHAsync_v2", driver.copy_to_host);
  binder.bind("cuMemsetD32Async", driver.set_words);
  binder.bind("cuModuleLoadDataEx", driver.module_load);
  binder.bind("cuModuleUnload", driver.module_unload);
  binder.bind("cuModuleGetFunction", driver.module_get_function);
  binder.bind("cuFuncSetAttribute", driver.function_set_attribute);
  binder.bind("cuFuncGetAttribute", driver.function_get_attribute);
  binder.bind("cuOccupancyMaxActiveBlocksPerMultiprocessor", driver.active_blocks);
  binder.bind("cuLaunchKernel", driver.launch_kernel);
  binder.bind_if_there("cuLaunchKernelEx", driver.launch_kernel_ex);
}

void bind_time(Binder& binder, Driver& driver) {
  binder.bind("cuStreamCreate", driver.stream_create);
  binder.bind("cuStreamSynchronize", driver.stream_synchronize);
  binder.bind("cuStreamDestroy_v2", driver.stream_destroy);
  binder.bind("cuStreamBeginCapture_v2", driver.stream_begin_capture);
  binder.bind("cuStreamEndCapture", driver.stream_end_capture);
  binder.bind("cuEventCreate", driver.event_create);
  binder.bind("cuEventRecord", driver.event_record);
  binder.bind("cuEventSynchronize", driver.event_synchronize);
  binder.bind("cuEventElapsedTime", driver.event_elapsed_time);
  binder.bind("cuEventDestroy_v2", driver.event_destroy);
  binder.bind("cuGraphInstantiateWithFlags", driver.graph_instantiate);
  binder.bind("cuGraphLaunch", driver.graph_launch);
  binder.bind("cuGraphExecDestroy", driver.graph_exec_destroy);
  binder.bind("cuGraphDestroy", driver.graph_destroy);
}

}  // namespace

dsl::Result<Driver> Driver::open(const std::vector<std::string>& files) {
  const std::string names[] = {"libcuda.so.1"};
  const dsl::Result<Library> library = Library::open(files.empty() ? usual_places(names) : files,
                                                     Fault::no_driver, "the CUDA driver");
  if (!library) return tl::unexpected(library.error());
  Driver driver{.file = library->file()};
  Binder binder(*library);
  bind_devices(binder, driver);
  bind_work(binder, driver);
  bind_time(binder, driver);
  TILEC_TRY(binder.finish(Fault::bad_driver));
  return driver;
}

dsl::Error Driver::error(CUresult status, const std::string& call) const {
  const char* name = nullptr;
  const char* words = nullptr;
  // Both leave null for a status that this driver does not know.
  static_cast<void>(get_error_name(status, &name));
  static_cast<void>(get_error_string(status, &words));
  return make_error(Fault::device_call,
                    fmt::format("{} failed: {} ({}): {}", call, name ? name : "unknown status",
                                static_cast<int>(status), words ? words : "no description"));
}

dsl::Result<void> Driver::check(CUresult status, const std::string& call) const {
  if (status == CUDA_SUCCESS) return {};
  return tl::unexpected(error(status, call));
}

}  // namespace tilec::cuda

#endif
