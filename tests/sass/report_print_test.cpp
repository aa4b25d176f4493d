#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "compiler/report/figures.h"
#include "compiler/report/json.h"
#include "compiler/report/text.h"
#include "tests/sass/report_support.h"

namespace tilec {
namespace {

using nlohmann::json;

TEST(ReportJson, HasTheKeysOfItsSchema) {
  const Report report = report_of("sm_90a", dsl::GemmShape{4096, 4096, 4096});
  const json out = json::parse(to_json(report));
  EXPECT_EQ(out.at("schema"), "tilec.report/1");
  EXPECT_EQ(out.at("target"), "sm_90a");
  EXPECT_EQ(out.at("registers"), 127);
  EXPECT_EQ(out.at("spills"), 0);
  EXPECT_EQ(out.at("shared_bytes"), 16384);
  EXPECT_EQ(out.at("threads"), 256);
  EXPECT_EQ(out.at("steady_loop").at("instructions"), 577);
  EXPECT_EQ(out.at("steady_loop").at("fma"), 512);
  EXPECT_EQ(out.at("steady_loop").at("fma_share"), report.steady->fma_share);
  EXPECT_EQ(out.at("steady_loop").at("ideal_share"), report.steady->ideal_share);
  EXPECT_EQ(out.at("steady_loop").at("by_class").at("fma"), 512);
  EXPECT_EQ(out.at("kernel").at("instructions"), 711);
  EXPECT_EQ(out.at("kernel").at("fma"), 512);
  EXPECT_EQ(out.at("executed_fma_share"), report.executed->fma_share);
  EXPECT_TRUE(out.at("spec").is_string());
  int sum = 0;
  for (const auto& [name, count] : out.at("steady_loop").at("by_class").items())
    sum += count.get<int>();
  EXPECT_EQ(sum, 577);
}

TEST(ReportJson, LeavesOutWhatIsNotThere) {
  const auto bare = build_report(artifact_of(kSgemmSpec, ""), *find_target("sm_90a"), {});
  ASSERT_TRUE(bare);
  const json out = json::parse(to_json(*bare));
  EXPECT_FALSE(out.contains("steady_loop"));
  EXPECT_FALSE(out.contains("kernel"));
  EXPECT_FALSE(out.contains("executed_fma_share"));
}

// Whatever a tile IR line holds, the JSON is JSON.
TEST(ReportJson, SurvivesAnyBytes) {
  Report report = report_of("sm_90a");
  report.steady->lines[0].text = "\xff\xfe\"\\\n\x01";
  EXPECT_TRUE(json::accept(to_json(report)));
}

TEST(ReportText, SaysTheShareAndAddsUp) {
  const Report report = report_of("sm_90a", dsl::GemmShape{4096, 4096, 4096});
  const std::string text = to_text(report);
  EXPECT_EQ(text.find("gemm for sm_90a: 88.7 % of the steady loop's instructions are "
                      "multiply-adds; 94.1 % would be ideal.\n"),
            0U)
      << text;
  for (const char* part :
       {"  multiply-adds           512   88.7 %  ████", "ideal share                     94.1\n",
        "actual share                    88.7\n", "limited by registers",
        "127 registers, no spills, no stack", "512 trips", "sum[i][j] += fa[i] * fb[j];"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

// ptxas merges narrow fragment loads: then the loop is better than the spec asked for.
TEST(ReportText, TheHeadlineKnowsLoopsThatBeatTheSpec) {
  Report report = report_of("sm_90a");
  report.steady->ideal_share = 0.8;
  EXPECT_NE(to_text(report).find("88.7 % of the steady loop's instructions are multiply-adds, more "
                                 "than the 80.0 % that its loads would allow"),
            std::string::npos);
}

TEST(ReportText, NoLineIsWiderThanAsked) {
  Report report = report_of("sm_90a", dsl::GemmShape{4096, 4096, 4096});
  report.steady->ops[0].text = std::string(300, 'x');
  report.spec = "spec";
  std::istringstream text(to_text(report, {.width = 100}));
  for (std::string line; std::getline(text, line);) {
    const auto columns = std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    if (line.starts_with("  - ") || line.find(": ") != std::string::npos) continue;  // sentences
    EXPECT_LE(columns, 100) << line;
  }
}

TEST(ReportText, WithoutCodeSaysSo) {
  const auto bare = build_report(artifact_of(kSgemmSpec, ""), *find_target("sm_90a"), {});
  ASSERT_TRUE(bare);
  const std::string text = to_text(*bare);
  EXPECT_NE(text.find("no assembler was found"), std::string::npos) << text;
  EXPECT_NE(text.find("Occupancy"), std::string::npos) << text;
  EXPECT_EQ(text.find("Steady loop"), std::string::npos) << text;
}

TEST(ReportText, RoundedPartsAddUpToTheRoundedSum) {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::vector<double> values;
    for (size_t i = 0, count = 1 + random() % 9; i < count; ++i)
      values.push_back(static_cast<double>(static_cast<int>(random() % 40000) - 10000) / 1000);
    // The sum may have been rounded on its own: up to a tenth away.
    const double sum = std::accumulate(values.begin(), values.end(), 0.0) +
                       static_cast<double>(static_cast<int>(random() % 200) - 100) / 1000;
    const std::vector<double> rounded = rounded_parts(values, sum);
    const double total = std::accumulate(rounded.begin(), rounded.end(), 0.0);
    ASSERT_NEAR(total, std::round(sum * 10) / 10, 1e-9);
    for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(rounded[i], values[i], 0.25);
  }
  EXPECT_TRUE(rounded_parts({}, 0).empty());
}

TEST(ReportText, AdviceFollowsFromTheNumbers) {
  Report report = report_of("sm_90a");
  const auto says = [&](const char* part) {
    for (const std::string& line : advice(report))
      if (line.find(part) != std::string::npos) return true;
    return false;
  };
  EXPECT_FALSE(says("spilled"));
  report.spill_load_bytes = 8;
  EXPECT_TRUE(says("8 bytes are spilled"));
  EXPECT_FALSE(says("one more block"));
  report.occupancy.next_registers = 80;
  EXPECT_TRUE(says("with 80 registers or fewer one more block"));
  EXPECT_TRUE(says("register banks are predicted to cost 0.35 cycles"));
  report.steady->register_file = {};
  EXPECT_FALSE(says("register banks"));
  report.shared_conflicts = 5;
  EXPECT_TRUE(says("5 extra wavefronts"));
  report.shared_conflicts = 0;
  EXPECT_FALSE(says("extra wavefront"));
}

// One structure behind all: what budgets see is what the JSON says.
TEST(ReportFigures, AreTheSameAsInTheJson) {
  const Report report = report_of("sm_90a", dsl::GemmShape{256, 256, 256});
  const json out = json::parse(to_json(report));
  const auto value = [&](std::string_view name) {
    for (const Figure& figure : figures(report))
      if (figure.name == name) return *figure.value;
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_EQ(value("registers"), out["registers"]);
  EXPECT_EQ(value("spills"), out["spills"]);
  EXPECT_EQ(value("shared_bytes"), out["shared_bytes"]);
  EXPECT_EQ(value("threads"), out["threads"]);
  EXPECT_EQ(value("blocks_per_sm"), out["blocks_per_sm"]);
  EXPECT_EQ(value("fma_share"), out["steady_loop"]["fma_share"]);
  EXPECT_EQ(value("ideal_share"), out["steady_loop"]["ideal_share"]);
  EXPECT_EQ(value("instructions"), out["steady_loop"]["instructions"]);
  EXPECT_EQ(value("fma"), out["steady_loop"]["fma"]);
  EXPECT_EQ(value("fma_per_instruction"), out["steady_loop"]["fma_per_instruction"]);
  EXPECT_EQ(value("conflicts"), out["shared_conflicts"]["wavefronts"]);
  EXPECT_EQ(value("register_conflicts"), out["steady_loop"]["register_file"]["conflicts_per_fma"]);
  EXPECT_EQ(value("executed_fma_share"), out["executed_fma_share"]);
  EXPECT_EQ(value("kernel_fma"), out["kernel"]["fma"]);
}

}  // namespace
}  // namespace tilec
