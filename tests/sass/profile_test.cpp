// Counters beside predictions: text and JSON from one structure.
#include "compiler/report/profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/sass/report_support.h"

namespace tilec {
namespace {

constexpr const char* kWarps = "smsp__inst_executed.sum";
constexpr const char* kStalled =
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio";

TEST(Profile, Units) {
  EXPECT_EQ(with_unit(335626240, ""), "335.6 M");
  EXPECT_EQ(with_unit(68719476736, ""), "68.7 G");
  EXPECT_EQ(with_unit(8192, ""), "8192");
  EXPECT_EQ(with_unit(0.02, ""), "0.02");
  EXPECT_EQ(with_unit(396210688, "B"), "396.2 MB");
  EXPECT_EQ(with_unit(79.89, "%"), "79.9 %");
  EXPECT_EQ(with_unit(2449248, "ns"), "2449.2 us");
}

Profile counted_on_hardware(const Report& report, double warp_instructions) {
  Profile profile{.report = report, .hardware = true, .source = "ncu on a device"};
  profile.blocks_per_sm = report.occupancy.blocks_per_sm;
  profile.counters = {{kWarps, "warp instructions", std::nullopt, warp_instructions, ""},
                      {kStalled, "warps stalled on the global queue", Loss::slice_copies, 0, ""}};
  return profile;
}

TEST(Profile, SetsCountsBesideThePrediction) {
  const Report report = report_of("sm_90a", dsl::GemmShape{1024, 1024, 1024});
  ASSERT_TRUE(report.executed);
  const Profile profile = counted_on_hardware(report, report.executed->warp_instructions + 7);
  const nlohmann::json json = nlohmann::json::parse(profile_json(profile));
  ASSERT_EQ(json["beside"].size(), 2U);  // what was not counted has no row
  EXPECT_EQ(json["beside"][0]["figure"], "warp_instructions");
  EXPECT_EQ(json["beside"][0]["difference"], -7);
  EXPECT_EQ(json["beside"][1]["figure"], "blocks_per_sm");
  EXPECT_EQ(json["beside"][1]["difference"], 0);
  const std::string text = profile_text(profile);
  EXPECT_NE(text.find("-7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("none\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Counted, and 0\n  warps stalled on the global queue\n"), std::string::npos)
      << text;
}

TEST(Profile, EdgesAreSaidNotToBeCounted) {
  const Report report = report_of("sm_90a", dsl::GemmShape{1000, 1024, 1024});
  const std::string text = profile_text(counted_on_hardware(report, 1000));
  EXPECT_NE(text.find("predicted for whole tiles"), std::string::npos) << text;
}

// The CPU machine counts PTX: that is nothing to set beside SASS.
TEST(Profile, TheCpuMachineIsNotSetBeside) {
  const Report report = report_of("sm_90a", dsl::GemmShape{1024, 1024, 1024});
  Profile profile = counted_on_hardware(report, 1000);
  profile.hardware = false;
  EXPECT_TRUE(set_beside(profile).empty());
}

}  // namespace
}  // namespace tilec
