// One device's primary context and a stream in it. Only for the files of this folder.
#pragma once

#include "runtime/cuda/driver.h"
#include "runtime/device.h"

namespace tilec::cuda {

class Context {
 public:
  /// Errors: machine, "no-gpu" where the driver sees no such device; "device-call".
  static Result<Context> open(Driver driver, int index);
  Context(Context&& other) noexcept;
  Context& operator=(Context&&) = delete;
  ~Context();

  const Driver& driver() const { return driver_; }
  CUdevice device() const { return device_; }
  CUstream stream() const { return stream_; }
  std::string bus_id() const;  // "0000:01:00.0"

  Result<void> check(CUresult status, const std::string& call) const {
    return driver_.check(status, call);
  }
  Result<int> attribute(CUdevice_attribute attribute, const char* name) const;
  /// Name, sizes and rates; versions other than CUDA's are left for others to fill in.
  Result<DeviceInfo> describe() const;
  Result<void> synchronise() const;

 private:
  explicit Context(Driver driver) : driver_(std::move(driver)) {}
  Driver driver_;
  CUdevice device_ = 0;
  bool retained_ = false;
  CUstream stream_ = nullptr;
};

}  // namespace tilec::cuda
