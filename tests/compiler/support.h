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

/// The first spec of `text`, for sm_90a; a failure of the test where it is refused.
inline Artifact artifact_of(const std::string& text, dsl::Batch batch = dsl::Batch::none) {
  const dsl::Result<std::vector<dsl::Spec>> specs = specs_of(text);
  EXPECT_TRUE(specs) << dsl::render(specs.error());
  dsl::Result<Artifact> artifact =
      compile((*specs)[0], *find_target("sm_90a"), {.assembler = Assembler::none, .batch = batch});
  EXPECT_TRUE(artifact) << dsl::render(artifact.error());
  return std::move(*artifact);
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

/// Shapes with edges, with one element and with none, K of 0 and of one slice. C starts as NaN
/// where beta is 0, and a workspace as what was never written.
inline void expect_right_on_awkward_shapes(Device& device, const std::string& spec) {
  const Artifact artifact = artifact_of(spec);
  for (const dsl::GemmShape& shape :
       {dsl::GemmShape{17, 33, 29}, dsl::GemmShape{1, 1, 1}, dsl::GemmShape{16, 32, 0},
        dsl::GemmShape{1, 130, 70}, dsl::GemmShape{40, 3, 12}, dsl::GemmShape{32, 64, 48},
        dsl::GemmShape{0, 16, 16}, dsl::GemmShape{16, 0, 16}})
    for (const float beta : {0.0F, 1.0F, -0.5F}) {
      const GemmProblem problem{.shape = shape,
                                .layout = artifact.spec.layout,
                                .ldc = shape.n + 3,
                                .alpha = 1.5F,
                                .beta = beta};
      ASSERT_EQ(wrong_with(device, artifact, problem), "") << spec << " " << describe(problem);
    }
}

}  // namespace tilec::test
