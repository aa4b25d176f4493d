// Trying many kernels on one problem: operands are made and laid out once, and for every kernel C
// is poisoned anew, so that none can pass by what another one left.
#pragma once

#include <memory>
#include <vector>

#include "runtime/bench.h"
#include "runtime/check.h"
#include "runtime/device.h"
#include "runtime/device_operands.h"
#include "runtime/problem.h"

namespace tilec {

struct TrialOptions {
  BenchOptions bench{.burst_ms = 3, .bursts = 5, .warm_up_ms = 10, .cublas = false};
  CheckOptions check{.budget = int64_t{1} << 24};
};

struct TrialResult {
  bool passed = false;
  double max_error = 0;  // of the bound
  double us = 0;  // median; on the CPU thousands of warp instructions, since nothing is timed
  double clock_mhz = 0;
};

class Trial {
 public:
  /// `problem` is completed. `most_workspace`: bytes, of the kernel that wants most.
  static Result<Trial> prepare(Device& device, const GemmProblem& problem, int64_t most_workspace);

  /// Errors: those of accepts, of the device, and of bench_gemm. A wrong result is no error.
  Result<TrialResult> run(const Artifact& artifact, const TrialOptions& options) const;

 private:
  Trial(Device& device, const GemmProblem& problem) : device_(&device), problem_(problem) {}
  Result<TrialResult> judge(const Artifact& artifact, KernelId kernel,
                            const TrialOptions& options) const;

  Device* device_;
  GemmProblem problem_;
  std::vector<Operands> before_;
  DeviceOperands placed_;
  std::vector<DeviceOperands> sets_;  // to time on, where the device can
  Buffer workspace_;
};

}  // namespace tilec
