// The choice of a kernel where none is named: the fastest that tuning found on this machine, else
// the fastest of the table that comes with tilec, else what the model ranks first. It never fails
// for want of tuning.
#pragma once

#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/problem.h"
#include "runtime/tuned.h"

namespace tilec {

struct Choice {
  dsl::Spec spec;
  std::string why;                 // one line for the user
  std::vector<std::string> notes;  // tuning that was there and not used, and why
};

/// The key of a completed problem on `device`. `version`: of tilec and of what assembles.
TuningKey tuning_key(const DeviceInfo& device, const std::string& version,
                     const GemmProblem& problem);

/// `target`: what to compile for. `file`: a tuning file; none is looked at where it is empty or
/// not there.
/// Errors: those of the rules of the shape (a grid over the limit), never of a tuning file.
dsl::Result<Choice> choose(const DeviceInfo& device, const std::string& target,
                           const std::string& version, const GemmProblem& problem,
                           const std::string& file);

/// "tilec 0.1.0, nvJitLink 13.0": what a time depends on beside the spec. `assembles`: whether the
/// device runs what an assembler made.
std::string tool_versions(bool assembles);

/// Where tuning is kept unless a file is named: TILEC_TUNING, else tilec/tuned.db in the user's
/// cache folder; empty where there is no such folder.
std::string usual_tuning_file();

/// A row as tools/choice/tuned.txt has them, with a line end.
std::string table_line(const TuningRow& row);

}  // namespace tilec
