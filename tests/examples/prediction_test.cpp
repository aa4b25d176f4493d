// Predictions against what was measured: the model may not drift from the rows on file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/examples/shell.h"

namespace tilec {
namespace {

using nlohmann::json;

// Points of 100. What the project asks for: 3 in the median, 8 at worst.
constexpr double kMedian = 3;
constexpr double kWorst = 8;

// The ladder, and specs that were chosen by seed before they were measured.
TEST(Prediction, AgreesWithWhatWasMeasured) {
  const json measured_rows = json::parse(text_of(kRoot / "examples/results/prediction_h200.json"));
  std::vector<double> errors;
  for (const json& row : measured_rows["rows"]) {
    const std::string spec = row["provenance"]["spec"];
    const Outcome outcome = shell(std::string(TILEC_BINARY) + " report '" + spec + "' --shape " +
                                  row["shape"].get<std::string>() + " --json");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const json report = json::parse(outcome.output.substr(outcome.output.find('{')));
    if (!report.contains("predicted_share_of_peak")) GTEST_SKIP() << "no assembler";
    const double predicted = report["predicted_share_of_peak"];
    const double measured = row["share_of_peak"];
    errors.push_back(100 * std::abs(predicted - measured));
    EXPECT_LE(errors.back(), kWorst) << row["name"] << " at " << row["shape"];
    EXPECT_EQ(report["blocks_per_sm"], row["blocks_per_sm"]);
    double sum = 100 * predicted;
    for (const json& loss : report["loss_table"]) sum += loss["points"].get<double>();
    EXPECT_NEAR(sum, 100, 1e-6);
  }
  ASSERT_GE(errors.size(), 40U);
  std::ranges::sort(errors);
  EXPECT_LE(errors[errors.size() / 2], kMedian);
}

// Static counts times trips are what the hardware executed, to the instruction.
TEST(Prediction, ExecutedCountsAreThoseOfHardware) {
  const json counters = json::parse(text_of(kRoot / "examples/results/counters_h200.json"));
  int compared = 0;
  for (const json& row : counters["rows"]) {
    const std::string spec = row["provenance"]["spec"];
    const Outcome outcome = shell(std::string(TILEC_BINARY) + " report '" + spec + "' --shape " +
                                  row["shape"].get<std::string>() + " --json");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const json report = json::parse(outcome.output.substr(outcome.output.find('{')));
    if (!report.contains("executed")) GTEST_SKIP() << "no assembler";
    const json& assembler = report["assembler"];
    const std::string here =
        assembler["tool"].get<std::string>() + " " + assembler["version"].get<std::string>();
    if (here != counters["assembler"].get<std::string>())
      GTEST_SKIP() << "another assembler than the one measured";
    if (!report["executed"]["whole_tiles"]) continue;
    ++compared;
    EXPECT_EQ(report["executed"]["warp_instructions"], row["gpu"]["smsp__inst_executed.sum"])
        << row["name"] << " at " << row["shape"];
    EXPECT_EQ(report["executed"]["multiply_adds"],
              row["gpu"]["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"])
        << row["name"] << " at " << row["shape"];
  }
  EXPECT_GE(compared, 25);
}

}  // namespace
}  // namespace tilec
