// The loop model: facts of the register file, and tables that add up.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/report/deal.h"
#include "compiler/report/simulate.h"
#include "compiler/report/text.h"
#include "tests/sass/report_support.h"

namespace tilec {
namespace {

const Target& h200() {
  return *find_target("sm_90a");
}

/// FFMA d, a, b, c with these reuse flags (1 a, 2 b, 4 c), and a stall of one cycle.
Step ffma(int a, int b, int c, int reuse) {
  Step step{.pipe = Pipe::fma, .is_fma = true, .occupancy = 1};
  step.control.stall = 1;
  step.control.reuse = reuse;
  step.register_count = 3;
  step.registers = {
      {{sass::Slot::a, false, a}, {sass::Slot::b, false, b}, {sass::Slot::c, false, c}}};
  return step;
}

/// Cycles of a multiply-add in a long run of `unit`.
double cycles_per_fma(const std::vector<Step>& unit, int warps = 4) {
  const Trace trace{.unit = unit, .unit_slices = 1};
  const SmRun few = simulate_sm(trace, h200(), 1, warps, 10);
  const SmRun more = simulate_sm(trace, h200(), 1, warps, 110);
  const double fmas = 100.0 * static_cast<double>(unit.size()) * warps / h200().schedulers;
  return (more.cycles - few.cycles) / fmas;
}

// Measured on an H200 with patched words: DESIGN, "The f32 register file decides the rest".
TEST(Simulate, RegisterBanksAsMeasured) {
  std::vector<Step> conflict, free, same_bank, three;
  for (int i = 0; i < 16; ++i) {
    free.push_back(ffma(2, 4 + 2 * i, 41 + 2 * i, 1));       // a reused, b even, c odd
    same_bank.push_back(ffma(2, 4 + 2 * i, 40 + 2 * i, 1));  // b and c even
    conflict.push_back(ffma(2 + 2 * i, 5, 41 + 2 * i, 0));   // none reused, two odd
    three.push_back(ffma(2 + 2 * i, 4, 40 + 2 * i, 0));      // all in one bank
  }
  EXPECT_NEAR(cycles_per_fma(free), 1.0, 0.02);
  EXPECT_NEAR(cycles_per_fma(same_bank), 2.0, 0.02);
  EXPECT_NEAR(cycles_per_fma(conflict), 2.0, 0.02);
  EXPECT_NEAR(cycles_per_fma(three), 3.0, 0.02);
}

// Runs of 8 that share A: the first of a run reads three operands.
TEST(Simulate, RunsThatShareAnOperand) {
  std::vector<Step> unit;
  for (int run = 0; run < 4; ++run)
    for (int i = 0; i < 8; ++i)
      unit.push_back(ffma(2 + 2 * run, 20 + 2 * i, 61 + 2 * (8 * run + i), i == 7 ? 0 : 1));
  EXPECT_NEAR(cycles_per_fma(unit), 1 + 1.0 / 8, 0.03);
}

// The second turn of the first one's bank is not hidden behind what reads no registers: the
// scheduler waits for it, and that is charged to the banks.
TEST(Simulate, TheFirstOfARunKeepsTheScheduler) {
  std::vector<Step> unit;
  for (int run = 0; run < 4; ++run) {
    for (int i = 0; i < 8; ++i)
      unit.push_back(ffma(2 + 2 * run, 20 + 2 * i, 61 + 2 * (8 * run + i), i == 7 ? 0 : 1));
    unit.push_back({.pipe = Pipe::none, .kind = Loss::other});
  }
  const Trace trace{.unit = unit, .unit_slices = 1};
  const Target& target = *find_target("sm_90a");
  const SmRun few = simulate_sm(trace, target, 1, 4, 10);
  const SmRun more = simulate_sm(trace, target, 1, 4, 20);
  EXPECT_NEAR((more.cycles - few.cycles) / 40, 8 + 1 + 0.75, 0.1);
  const double banks = more.lost[Loss::register_banks] - few.lost[Loss::register_banks];
  EXPECT_NEAR(banks / target.schedulers / 40, 0.75, 0.1);
}

// With the yield flag cleared the scheduler changes warps each time, and nothing is reused.
TEST(Simulate, YieldingLosesTheReuseCache) {
  std::vector<Step> unit;
  for (int i = 0; i < 16; ++i) unit.push_back(ffma(2, 4 + 2 * i, 41 + 2 * i, 1));
  const double stays = cycles_per_fma(unit, 8);
  for (Step& step : unit) step.control.yield = false;
  const double yields = cycles_per_fma(unit, 8);
  EXPECT_NEAR(stays, 1.0, 0.02);
  EXPECT_GT(yields, 1.9);
}

TEST(Simulate, CyclesAreUsefulOrLost) {
  std::vector<Step> unit = {ffma(2, 4, 41, 0)};
  Step load{.pipe = Pipe::shared, .kind = Loss::fragment_loads, .occupancy = 4, .latency = 30};
  load.control = {.stall = 2, .write_barrier = 0};
  unit.insert(unit.begin(), load);
  unit.back().control.wait_mask = 1;
  const SmRun run = simulate_sm({.unit = unit, .unit_slices = 1}, h200(), 2, 5, 20);
  EXPECT_DOUBLE_EQ(run.useful + run.lost.total(), run.cycles * h200().schedulers);
  EXPECT_GT(run.lost[Loss::fragment_loads], 0.5 * run.cycles);
}

// A barrier that a warp never reaches ends the run; it does not hang it.
TEST(Simulate, EndsWhereABarrierNeverOpens) {
  Step sync{.syncs = true};
  sync.control.stall = 1;
  const Trace trace{.before = {sync}, .unit = {ffma(2, 4, 41, 0)}, .unit_slices = 1};
  EXPECT_GT(simulate_sm(trace, h200(), 1, 3, 2).cycles, 0);
}

double deal_of(int64_t blocks, int sms, int resident) {
  return deal_blocks({.blocks = blocks,
                      .sms = sms,
                      .resident = resident,
                      .kind_of = [](int64_t) { return 0; },
                      .cycles_of = [](int, int r) { return r == 2 ? 180.0 : 100.0; }});
}

TEST(Deal, Waves) {
  EXPECT_NEAR(deal_of(1, 10, 2), 100, 0.2);
  EXPECT_NEAR(deal_of(10, 10, 2), 100, 0.2);  // one each
  EXPECT_NEAR(deal_of(20, 10, 2), 180, 0.3);  // two each
  EXPECT_NEAR(deal_of(30, 10, 2), 270, 15);   // and one more each: two for half of the time
  EXPECT_NEAR(deal_of(40, 10, 2), 360, 0.6);
  EXPECT_EQ(deal_of(0, 10, 2), 0);
}

// Grids too large to be dealt one by one come to the same as if they were.
TEST(Deal, LargeGrids) {
  const double per_wave = deal_of(200'000, 10, 2) / 10'000;
  EXPECT_NEAR(per_wave, 180, 0.1);
}

TEST(Prediction, LossesAddUpFromPeakToShare) {
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    for (const dsl::GemmShape shape : {dsl::GemmShape{4096, 4096, 4096},
                                       {129, 257, 65},
                                       {1, 1, 1},
                                       {8192, 128, 4096},
                                       {3072, 768, 768}}) {
      const Report report = report_of(target, shape);
      ASSERT_TRUE(report.prediction) << target;
      double sum = 100 * report.prediction->share_of_peak;
      for (const LossRow& row : report.prediction->losses) sum += row.points;
      EXPECT_NEAR(sum, 100, 1e-6) << target;
      EXPECT_GT(report.prediction->share_of_peak, 0);
      EXPECT_LT(report.prediction->share_of_peak, 1) << target;
    }
}

TEST(Prediction, NothingIsLostAtEdgesOfWholeTiles) {
  const auto edges = [](dsl::GemmShape shape) {
    const Report report = report_of("sm_90a", shape);
    for (const LossRow& row : report.prediction->losses)
      if (row.kind == Loss::edges) return row.points;
    return std::nan("");
  };
  EXPECT_EQ(edges({4096, 4096, 4096}), 0);
  EXPECT_GT(edges({4096, 4097, 4096}), 0.5);
  EXPECT_GT(edges({4096, 4096, 4097}), 0);
}

TEST(Prediction, NoneWithoutWork) {
  EXPECT_FALSE(report_of("sm_90a", dsl::GemmShape{0, 128, 128}).prediction);
  EXPECT_FALSE(report_of("sm_90a", dsl::GemmShape{128, 128, 0}).prediction);
}

// What is printed adds up in tenths.
TEST(Prediction, TextAddsUp) {
  const Report report = report_of("sm_90a", dsl::GemmShape{1000, 900, 800});
  const std::string text = prediction_text(*report.prediction);
  double sum = 0, share = 0;
  size_t at = text.find("\n  peak");
  for (std::string line; at != std::string::npos && line.find("share of peak") != 2;) {
    const size_t end = text.find('\n', at + 1);
    line = text.substr(at + 1, end - at - 1);
    const double value = std::strtod(line.c_str() + 25, nullptr);
    (line.find("share of peak") == 2 ? share : sum) += value;
    at = end;
  }
  EXPECT_NEAR(sum, share, 0.05) << text;
}

}  // namespace
}  // namespace tilec
