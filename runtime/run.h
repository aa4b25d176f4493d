// Runs a kernel on a problem, checks the result, and on a GPU times it beside cuBLAS.
#pragma once

#include <optional>
#include <string>

#include "compiler/artifact.h"
#include "runtime/bench.h"
#include "runtime/check.h"
#include "runtime/device.h"
#include "runtime/problem.h"
#include "runtime/ptx/counters.h"

namespace tilec {

struct RunOptions {
  std::string label;  // what tables call the spec; empty: the spec itself
  bool check = true;
  CheckOptions check_options;
  std::optional<BenchOptions> bench;  // where the device can time; none: no timing
  bool counters = false;              // keep all that the CPU counts, by line of tile IR
  std::string choice;                 // why this spec was taken, where nobody named one
};

/// What a result is a result of.
struct Provenance {
  std::string spec;    // completed, in the language
  std::string kernel;  // the entry's name
  std::string ptx_hash;
  std::string cubin_hash;  // empty: there is no cubin
  std::string assembler;   // tool and version; empty: none
  int registers = 0;       // 0: not known
  std::string data;        // how the operands are distributed, and the seed
  std::string choice;      // why this spec, where none was named
};

struct RunResult {
  DeviceInfo device;
  GemmProblem problem;               // completed
  int64_t blocks = 0;                // of the grid
  std::optional<int> blocks_per_sm;  // as the driver says; none on the CPU
  std::optional<CheckResult> check;
  std::optional<Counters> counters;      // on the CPU
  std::optional<ptx::Counters> counted;  // with RunOptions::counters, on the CPU
  std::string tile;                      // beside `counted`: the tile IR that its lines count in
  std::optional<BenchResult> time;       // on a GPU, if C and K are not empty
  Provenance provenance;
  std::string label;
};

/// Errors: those of `complete` and `accepts` (problem.h), and of the device. A result that is
/// wrong is no error: see RunResult::check.
Result<RunResult> run_gemm(Device& device, const Artifact& artifact, const GemmProblem& problem,
                           const RunOptions& options);

}  // namespace tilec
