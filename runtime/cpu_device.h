// The CPU as a device: every launch executes the artifact's PTX on the machine of ptx/.
#pragma once

#include <memory>

#include "runtime/device.h"
#include "runtime/ptx/machine.h"

namespace tilec {

struct CpuOptions {
  // `all` also finds races and reads of what was never written; it costs about a fifth of the time.
  ptx::Checks checks = ptx::Checks::all;
  bool counters = true;
  int threads = 0;   // host threads; 0: one a core
  int sm_count = 0;  // multiprocessors that are said to be there; 0 counts as one
};

/// Always there. `launch` runs the kernel to its end; what the machine finds wrong with it is an
/// error of Road::check, one diagnostic a finding.
std::unique_ptr<Device> open_cpu(const CpuOptions& options);

}  // namespace tilec
