// Compiling and running for tests: specs become artifacts without a cubin, and run on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/target.h"
#include "dsl/complete.h"
#include "runtime/cpu_device.h"
#include "runtime/run.h"

namespace tilec::test {

inline std::vector<dsl::Limits> all_limits() {
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  return limits;
}

inline dsl::Result<std::vector<dsl::Spec>> specs_of(const std::string& text) {
  return dsl::read_specs({"<test>", text}, all_limits(), "sm_90a");
}

/// Without a cubin: the CPU runs PTX.
inline dsl::Result<Artifact> compiled(const dsl::Spec& spec) {
  return compile(spec, *find_target(spec.target), {.assembler = Assembler::none});
}

/// One thread of the host, so that tests may run side by side.
inline std::unique_ptr<Device> cpu(ptx::Checks checks = ptx::Checks::all) {
  return open_cpu({.checks = checks, .counters = false, .threads = 1});
}

/// "" if the kernel's result is right, else what is wrong with it.
inline std::string wrong_with(Device& device, const Artifact& artifact,
                              const GemmProblem& problem) {
  const dsl::Result<RunResult> result = run_gemm(device, artifact, problem, {});
  if (!result) return dsl::render(result.error());
  if (result->check->passed) return "";
  std::string out = "max error " + std::to_string(result->check->max_error) + " of the bound, " +
                    std::to_string(result->check->failed) + " elements failed";
  for (const Failure& failure : result->check->failures)
    out += "\n  (" + std::to_string(failure.row) + ", " + std::to_string(failure.column) +
           "): " + std::to_string(failure.got) + ", expected " + std::to_string(failure.expected);
  return out;
}

inline std::string describe(const GemmProblem& p) {
  return std::to_string(p.shape.m) + "x" + std::to_string(p.shape.n) + "x" +
         std::to_string(p.shape.k) + " ld " + std::to_string(p.lda) + "," + std::to_string(p.ldb) +
         "," + std::to_string(p.ldc) + " alpha " + std::to_string(p.alpha) + " beta " +
         std::to_string(p.beta);
}

}  // namespace tilec::test
