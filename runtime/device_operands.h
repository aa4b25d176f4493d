// The three operands in a device's memory; of a batch, those of all its matrices. What a kernel
// wants beside them, its workspace, lies here too.
#pragma once

#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/operands.h"
#include "runtime/problem.h"

namespace tilec {

class DeviceOperands {
 public:
  /// `matrices`: the operands of each matrix of the batch, all laid out alike. Strided, an
  /// operand's images lie one after the other; by pointers, an array holds the address of each.
  /// `workspace_bytes`: of the kernel, for the whole batch (runtime/launches.h).
  static Result<DeviceOperands> upload(Device& device, std::span<const Operands> matrices,
                                       dsl::Batch batch, int64_t workspace_bytes);
  static Result<DeviceOperands> upload(Device& device, const Operands& operands);

  /// Of a completed problem.
  KernelArguments arguments(const GemmProblem& problem) const;

  /// Puts the image of matrix `index` back, as before a launch.
  Result<void> upload_c(Device& device, const Image& c, int64_t index = 0) const;
  Result<Image> download_c(Device& device, const Image& like, int64_t index = 0) const;
  Result<Operands> download(Device& device, const Operands& like, int64_t index = 0) const;

 private:
  struct Placed {
    Buffer buffer;
    Buffer pointers;     // by pointers: the array
    Address first = 0;   // of element (0, 0) of the first matrix
    int64_t stride = 0;  // elements from one matrix to the next
    Address image(int64_t index) const {
      return buffer.address() + static_cast<Address>(index * stride) * sizeof(float);
    }
  };
  static Result<void> place(Device& device, std::span<const Image* const> images, dsl::Batch batch,
                            Placed& out);
  Placed a_, b_, c_;
  Buffer workspace_;
};

/// Bytes that `upload` of the same operands allocates, about.
int64_t device_bytes(std::span<const Operands> matrices, int64_t workspace_bytes);

}  // namespace tilec
