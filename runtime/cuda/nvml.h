// NVIDIA's management library: the clock and the power while something runs. It is only read from:
// nothing is ever set. Its few functions are declared here, since no package that we need brings
// its header; their binary interface has stood since NVML 2.
#pragma once

#include <string>
#include <vector>

#include "dsl/error.h"

namespace tilec::cuda {

class Nvml {
 public:
  /// `bus_id` as cuDeviceGetPCIBusId gives it. `files` to try in order; empty: the usual places.
  /// Errors: machine, "no-nvml".
  static dsl::Result<Nvml> open(const std::string& bus_id, const std::vector<std::string>& files);

  double sm_clock_mhz() const;  // now; 0 if it cannot be read
  double watts() const;         // of the board, now; 0 if it cannot be read
  const std::string& driver_version() const { return driver_version_; }  // "580.159.04"
  const std::string& version() const { return version_; }                // NVML's own

 private:
  using Handle = void*;
  struct Functions {
    int (*init)();
    int (*handle_by_bus_id)(const char*, Handle*);
    int (*clock_info)(Handle, int, unsigned*);
    int (*power_usage)(Handle, unsigned*);
    int (*driver_version)(char*, unsigned);
    int (*nvml_version)(char*, unsigned);
    const char* (*error_string)(int);
  };
  Functions functions_{};
  Handle device_ = nullptr;
  std::string driver_version_;
  std::string version_;
};

}  // namespace tilec::cuda
