// Candidates run in a process of their own, so that one that crashes, hangs or breaks the device
// costs itself alone: the process that searches never touches the device, and starts a new worker
// where one has died.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "dsl/error.h"
#include "runtime/device.h"
#include "runtime/problem.h"

namespace tilec {

struct Verdict {
  size_t index = 0;    // of the artifact
  std::string status;  // "ok", "wrong", "refused", "failed", "crashed", "hung"
  double us = 0;
  double clock_mhz = 0;
  std::string message;
};

struct WorkerOptions {
  std::string device;   // as take_device knows it
  double seconds = 30;  // for one candidate, then it is "hung"
  std::function<bool()> is_told_to_stop;
};

/// What the device is, asked by a worker. Errors: those of take_device.
dsl::Result<DeviceInfo> ask_device(const std::string& device);

/// Runs each on the problem and tells of it as soon as it is done, in order. Returns early, without
/// an error, when told to stop. Errors: machine, where no worker can be started or opens a device.
dsl::Result<void> run_isolated(const std::vector<Artifact>& artifacts, const GemmProblem& problem,
                               const WorkerOptions& options,
                               const std::function<void(const Verdict&)>& tell);

}  // namespace tilec
