// The three operands in a device's memory.
#pragma once

#include "runtime/device.h"
#include "runtime/operands.h"
#include "runtime/problem.h"

namespace tilec {

class DeviceOperands {
 public:
  static Result<DeviceOperands> upload(Device& device, const Operands& operands);

  /// Of a completed problem.
  KernelArguments arguments(const GemmProblem& problem) const;

  /// Puts the image back, as before a launch.
  Result<void> upload_c(Device& device, const Image& c) const;
  Result<Image> download_c(Device& device, const Image& like) const;
  Result<Operands> download(Device& device, const Operands& like) const;

 private:
  struct Placed {
    Buffer buffer;
    Address first = 0;  // of element (0, 0)
  };
  Placed a_, b_, c_;
};

}  // namespace tilec
