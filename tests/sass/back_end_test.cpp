// What the report says of our own back end.
#include "compiler/report/back_end.h"

#include <nlohmann/json.hpp>

#include "compiler/report/json.h"
#include "compiler/report/text.h"
#include "tests/sass/report_support.h"

namespace tilec {
namespace {

Report report_on(Artifact artifact, const std::string& target) {
  return build_report(artifact, *find_target(target), {}).value();
}

Artifact artifact_for(const std::string& target) {
  return artifact_of(kSgemmSpec + " sass on target " + target, "sgemm_" + target + ".cubin");
}

TEST(BackEnd, SaysWhyALoopIsAsAssembled) {
  Artifact artifact = artifact_for("sm_90a");
  artifact.sass.why_not = "not proved: R7 is read too early (wait, word 12 of the new code)";
  const Report report = report_on(artifact, "sm_90a");
  EXPECT_NE(to_text(report).find("Steady loop as assembled: not proved: R7 is read too early"),
            std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["sass"]["rewritten"], false);
  EXPECT_EQ(json["sass"]["why_not"], artifact.sass.why_not);
  EXPECT_EQ(json["sass"]["registers"]["assembled"], json["sass"]["registers"]["now"]);
  EXPECT_EQ(json["sass"]["cycles_per_fma"]["now"],
            json["steady_loop"]["register_file"]["cycles_per_fma"]);

  artifact.spec.sass = false;
  EXPECT_NE(to_text(report_on(artifact, "sm_90a")).find("the spec says `sass off`"),
            std::string::npos);
}

// Of two different cubins, one stands for the loop before.
TEST(BackEnd, SetsBeforeBesideAfter) {
  Artifact artifact = artifact_for("sm_90a");
  artifact.sass.rewritten = true;
  artifact.sass.assembled = sass::read_bytes("lead_sm_90a.cubin");
  const Report report = report_on(artifact, "sm_90a");
  const auto before = sass::read_cubin(artifact.sass.assembled);
  ASSERT_TRUE(report.back_end);
  EXPECT_EQ(report.back_end->registers_assembled, before->kernels[0].registers);
  EXPECT_EQ(report.back_end->registers, report.registers);
  ASSERT_TRUE(report.back_end->cycles_per_fma_assembled);
  EXPECT_NE(*report.back_end->cycles_per_fma_assembled, *report.back_end->cycles_per_fma);
  EXPECT_DOUBLE_EQ(*report.back_end->cycles_per_fma, report.steady->register_file.cycles_per_fma());
  const std::string text = to_text(report);
  EXPECT_NE(text.find("Steady loop rewritten and proved"), std::string::npos) << text;
  EXPECT_EQ(text.find("nobody has measured"), std::string::npos);
}

TEST(BackEnd, SaysWhereNobodyHasMeasured) {
  for (const char* target : {"sm_80", "sm_86", "sm_89"}) {
    Artifact artifact = artifact_for(target);
    artifact.sass.rewritten = true;
    artifact.sass.assembled = artifact.cubin;
    const Report report = report_on(artifact, target);
    EXPECT_NE(
        to_text(report).find(std::string("nobody has measured a rewritten loop on ") + target),
        std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(to_json(report))["sass"]["measured_on_target"], false);
  }
}

TEST(BackEnd, IsNothingWithoutACubin) {
  const Report report = report_on(artifact_of(kSgemmSpec, ""), "sm_90a");
  EXPECT_FALSE(report.back_end);
  EXPECT_FALSE(nlohmann::json::parse(to_json(report)).contains("sass"));
}

}  // namespace
}  // namespace tilec
