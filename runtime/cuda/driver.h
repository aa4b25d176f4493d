// The part of the CUDA driver that we use, as a table of its functions. Only for the files of this
// folder: it includes CUDA's header.
//
// Symbols are asked for by the versioned names that drivers have exported since CUDA 11.4, not by
// the newest that the header knows, so that an older driver or a newer major version both serve.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "dsl/error.h"

namespace tilec::cuda {

struct Driver {
  std::string file;  // what was opened

  decltype(&cuInit) init;
  decltype(&cuDriverGetVersion) driver_get_version;
  decltype(&cuGetErrorName) get_error_name;
  decltype(&cuGetErrorString) get_error_string;

  decltype(&cuDeviceGetCount) device_get_count;
  decltype(&cuDeviceGet) device_get;
  decltype(&cuDeviceGetName) device_get_name;
  decltype(&cuDeviceGetAttribute) device_get_attribute;
  decltype(&cuDeviceGetPCIBusId) device_get_pci_bus_id;
  decltype(&cuDeviceTotalMem) device_total_mem;
  decltype(&cuDevicePrimaryCtxRetain) primary_context_retain;
  decltype(&cuDevicePrimaryCtxRelease) primary_context_release;
  decltype(&cuCtxSetCurrent) context_set_current;

  decltype(&cuMemGetInfo) mem_get_info;
  decltype(&cuMemAlloc) mem_alloc;
  decltype(&cuMemFree) mem_free;
  decltype(&cuMemcpyHtoDAsync) copy_to_device;
  decltype(&cuMemcpyDtoHAsync) copy_to_host;
  decltype(&cuMemsetD32Async) set_words;

  decltype(&cuModuleLoadDataEx) module_load;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuModuleGetFunction) module_get_function;
  decltype(&cuFuncSetAttribute) function_set_attribute;
  decltype(&cuFuncGetAttribute) function_get_attribute;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) active_blocks;
  decltype(&cuLaunchKernel) launch_kernel;
  decltype(&cuLaunchKernelEx) launch_kernel_ex;  // null before CUDA 11.8

  decltype(&cuStreamCreate) stream_create;
  decltype(&cuStreamSynchronize) stream_synchronize;
  decltype(&cuStreamDestroy) stream_destroy;
  decltype(&cuStreamBeginCapture) stream_begin_capture;
  decltype(&cuStreamEndCapture) stream_end_capture;

  decltype(&cuEventCreate) event_create;
  decltype(&cuEventRecord) event_record;
  decltype(&cuEventSynchronize) event_synchronize;
  decltype(&cuEventElapsedTime) event_elapsed_time;
  decltype(&cuEventDestroy) event_destroy;

  decltype(&cuGraphInstantiateWithFlags) graph_instantiate;
  decltype(&cuGraphLaunch) graph_launch;
  decltype(&cuGraphExecDestroy) graph_exec_destroy;
  decltype(&cuGraphDestroy) graph_destroy;

  /// `files` to try in order; empty: the usual places.
  /// Errors: machine, "no-driver", with what was tried; "bad-driver" if a function is missing.
  static dsl::Result<Driver> open(const std::vector<std::string>& files);

  /// Machine error "device-call": `call failed: NAME (number): the driver's words`.
  dsl::Error error(CUresult status, const std::string& call) const;
  dsl::Result<void> check(CUresult status, const std::string& call) const;
};

}  // namespace tilec::cuda
