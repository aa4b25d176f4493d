// Artifacts for the tests of reports: a spec of the language and a cubin from data/.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "compiler/report/report.h"
#include "dsl/complete.h"
#include "tests/sass/support.h"

namespace tilec {

/// The spec that data/sgemm.cu is written after.
inline const std::string kSgemmSpec =
    "tile 128x128x8 thread 8x8 stages 2 copy register lanes columns vector 4 "
    "shared a transposed padded 0 b plain";

inline dsl::Spec spec_of(const std::string& text) {
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  dsl::Result<std::vector<dsl::Spec>> specs = dsl::read_specs({"<spec>", text}, limits, "sm_90a");
  if (!specs) {
    ADD_FAILURE() << dsl::render(specs.error());
    return {};
  }
  return specs->at(0);
}

inline Artifact artifact_of(const std::string& spec, const std::string& cubin) {
  Artifact artifact;
  artifact.spec = spec_of(spec);
  artifact.derived = dsl::derive(artifact.spec, find_target(artifact.spec.target)->limits);
  if (!cubin.empty()) artifact.cubin = sass::read_bytes(cubin);
  artifact.assembler = {.tool = "ptxas", .version = "13.0.88", .registers = 127, .log = "said"};
  artifact.tile = sass::read_text("sgemm.cu");
  return artifact;
}

/// The report on data/sgemm_TARGET.cubin; `shape` none: without one.
inline Report report_of(const std::string& target, std::optional<dsl::GemmShape> shape = {}) {
  const Artifact artifact =
      artifact_of(kSgemmSpec + " target " + target, "sgemm_" + target + ".cubin");
  dsl::Result<Report> report = build_report(artifact, *find_target(target), shape);
  if (!report) {
    ADD_FAILURE() << dsl::render(report.error());
    return {};
  }
  return *report;
}

}  // namespace tilec
