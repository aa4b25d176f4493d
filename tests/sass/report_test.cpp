#include "compiler/report/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/report/count.h"
#include "tests/sass/report_support.h"

namespace tilec {
namespace {

using sass::Class;

double sum_of(const std::vector<GapRow>& rows) {
  double sum = 0;
  for (const GapRow& row : rows) sum += row.points;
  return sum;
}

TEST(Report, CountsTheSteadyLoopOfARealKernel) {
  // Counted by hand in nvdisasm's text of sgemm_sm_90a.cubin.
  const Report report = report_of("sm_90a");
  ASSERT_TRUE(report.steady && report.code);
  const SteadyLoop& loop = *report.steady;
  EXPECT_EQ(loop.instructions, 577);
  EXPECT_EQ(loop.fma, 512);
  EXPECT_EQ(loop.multiply_adds, 512);
  EXPECT_EQ(loop.fragment_loads, 32);
  EXPECT_DOUBLE_EQ(loop.fragment_loads_expected, 32);
  EXPECT_EQ(loop.by_class[Class::slice_copy], 7);
  EXPECT_EQ(loop.by_class[Class::barrier], 1);
  EXPECT_EQ(loop.by_class[Class::unknown], 0);
  EXPECT_EQ(loop.by_class.total(), 577);
  EXPECT_DOUBLE_EQ(loop.fma_share, 512.0 / 577);
  EXPECT_DOUBLE_EQ(loop.ideal_share, 64.0 / 68);
  EXPECT_DOUBLE_EQ(loop.slices_per_trip, 1);
  EXPECT_EQ(loop.begin, 0x5c0U);
  EXPECT_EQ(loop.end, 0x29d0U);
  EXPECT_EQ(report.code->instructions, 711);
  EXPECT_EQ(report.code->fma, 512);
  EXPECT_EQ(report.registers, 127);
  EXPECT_EQ(report.threads, 256);
  EXPECT_FALSE(report.executed);
}

TEST(Report, AllTargetsHaveASteadyLoopAndNoUnknowns) {
  for (const std::string& target : sass::data_targets()) {
    const Report report = report_of(target);
    ASSERT_TRUE(report.steady) << target;
    EXPECT_GT(report.steady->fma_share, 0.85) << target;
    EXPECT_LT(report.steady->fma_share, report.steady->ideal_share) << target;
    EXPECT_EQ(report.code->by_class[Class::unknown], 0) << target;
    EXPECT_NEAR(sum_of(report.steady->gap), report.steady->gap_points, 1e-9) << target;
  }
}

// The parts of the gap add up to it, whatever the loop holds, down to rounding of doubles.
TEST(Report, TheGapAddsUp) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    sass::ClassCounts counts;
    for (int& count : counts.of) count = random() % 3 == 0 ? 0 : static_cast<int>(random() % 600);
    counts[Class::fma] = 1 + static_cast<int>(random() % 2000);
    counts[Class::nop] = 0;
    const double expected = static_cast<double>(random() % 400);
    const double fma = counts[Class::fma];
    const double ideal = fma / (fma + expected);
    const double gap = 100 * (ideal - fma / counts.total());
    ASSERT_NEAR(sum_of(itemise_gap(counts, ideal, expected)), gap, 1e-9);
  }
}

TEST(Report, FewerLoadsThanExpectedMakeTheGapSmaller) {
  sass::ClassCounts counts;
  counts[Class::fma] = 512;
  counts[Class::fragment_load] = 16;
  counts[Class::address] = 4;
  const std::vector<GapRow> rows = itemise_gap(counts, 512.0 / 544, 32);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].kind, Class::address);
  EXPECT_GT(rows[0].points, 0);
  EXPECT_EQ(rows[1].kind, Class::fragment_load);
  EXPECT_EQ(rows[1].expected, 32);
  EXPECT_LT(rows[1].points, 0);
}

TEST(Report, LinesHoldEveryInstructionOfTheLoop) {
  const Report report = report_of("sm_90a");
  ASSERT_TRUE(report.steady);
  int instructions = 0;
  int fma = 0;
  for (const LineCount& line : report.steady->lines) {
    instructions += line.instructions;
    fma += line.fma;
    EXPECT_EQ(line.by_class.total(), line.instructions);
    if (line.fma > 0) EXPECT_NE(line.text.find("sum[i][j] += fa[i] * fb[j]"), std::string::npos);
  }
  EXPECT_EQ(instructions, report.steady->instructions);
  EXPECT_EQ(fma, report.steady->fma);
  EXPECT_TRUE(report_of("sm_80").steady->lines.empty());  // assembled without line information
}

// What nvdisasm's text of the loop has, times trips, and the rest once: 0x5c0 / 16 = 92
// instructions before the loop and 711 - 92 - 577 = 42 after, the branch to itself not on the path.
TEST(Report, ExecutedCountsAreStaticCountsTimesTrips) {
  const Report report = report_of("sm_90a", dsl::GemmShape{1024, 512, 4096});
  ASSERT_TRUE(report.executed);
  EXPECT_EQ(report.executed->blocks, 8 * 4);
  EXPECT_DOUBLE_EQ(report.executed->trips, 512);
  EXPECT_DOUBLE_EQ(report.executed->fma, 512.0 * 512);
  EXPECT_DOUBLE_EQ(report.executed->instructions, 512.0 * 577 + 92 + 41);
  EXPECT_DOUBLE_EQ(report.executed->fma_share,
                   report.executed->fma / report.executed->instructions);
}

TEST(Report, TripsRoundUpAndMayBeNone) {
  EXPECT_DOUBLE_EQ(report_of("sm_90a", dsl::GemmShape{128, 128, 65}).executed->trips, 9);
  const Report none = report_of("sm_90a", dsl::GemmShape{128, 128, 0});
  EXPECT_DOUBLE_EQ(none.executed->trips, 0);
  EXPECT_DOUBLE_EQ(none.executed->fma, 0);
  EXPECT_DOUBLE_EQ(none.executed->fma_share, 0);
  EXPECT_EQ(report_of("sm_90a", dsl::GemmShape{0, 128, 8}).executed->blocks, 0);
}

// Two trips' worth of multiply-adds before the loop are peeled slices: fewer trips are left.
TEST(Report, PeeledSlicesAreNotDoneAgain) {
  using sass::bra, sass::exit_word, sass::ffma;
  const std::vector<sass::Instruction> code = sass::program(
      {ffma(0, 1, 2, 0), ffma(0, 1, 2, 0), ffma(0, 1, 2, 0), bra(-1, 0), exit_word()});
  const sass::Flow flow = sass::find_flow(code);
  const WorkOfThread work{.fma_per_k = 1, .tile_k = 1, .ideal_share = 0.5};
  const std::optional<Executed> executed = count_executed(code, flow, work, {1, 1, 10});
  ASSERT_TRUE(executed);
  EXPECT_DOUBLE_EQ(executed->trips, 8);
  EXPECT_DOUBLE_EQ(executed->fma, 10);
}

// An inner loop over the k of a slice, within one over slices: 4 multiply-adds a slice, 2 a trip.
TEST(Report, InnerLoopsTripSeveralTimesASlice) {
  using sass::bra, sass::exit_word, sass::ffma, sass::iadd3;
  const std::vector<sass::Instruction> code = sass::program(
      {iadd3(), iadd3(), ffma(0, 1, 2, 0), ffma(0, 1, 2, 0), bra(-2, 0), bra(-4, 1), exit_word()});
  const sass::Flow flow = sass::find_flow(code);
  const WorkOfThread work{.fma_per_k = 1, .tile_k = 4, .ideal_share = 0.5};
  const std::optional<Executed> executed = count_executed(code, flow, work, {1, 1, 12});
  ASSERT_TRUE(executed);
  EXPECT_DOUBLE_EQ(executed->trips, 6);
  EXPECT_DOUBLE_EQ(executed->fma, 12);
  // 1 before, 3 slices of (IADD3, BRA), 6 trips of (FFMA, FFMA, BRA), EXIT
  EXPECT_DOUBLE_EQ(executed->instructions, 1 + 3 * 2 + 6 * 3 + 1);
}

// Kernels that load operands straight from global memory: LDG is their fragment load.
TEST(Report, WithoutACopyGlobalLoadsAreFragmentLoads) {
  const sass::Instruction load = sass::decode(sass::word_of(0x981), 0, 90);
  EXPECT_EQ(class_of(load, {.copies_slices = true}), Class::slice_copy);
  EXPECT_EQ(class_of(load, {.copies_slices = false}), Class::fragment_load);
  const sass::Instruction store = sass::decode(sass::word_of(0x986), 0, 90);
  EXPECT_EQ(class_of(store, {.copies_slices = false}), Class::store);
}

TEST(Report, UnknownInstructionsAreCountedAndNamedOnce) {
  const std::vector<sass::Instruction> code = sass::program(
      {sass::word_of(0x123), sass::word_of(0x123), sass::word_of(0x124), sass::exit_word()});
  const KernelCounts counts = count_kernel(code, {});
  EXPECT_EQ(counts.instructions, 4);
  EXPECT_EQ(counts.by_class[Class::unknown], 3);
  EXPECT_EQ(counts.unknown, (std::vector<std::string>{"unknown 0x123", "unknown 0x124"}));
}

// 256 threads of 127 registers (128 given out): 2 blocks from 65536. A third would need 80 or fewer
// (24 warps of at most 2730, given out by 256: 2560, 80 each), and an 8x8 tile cannot do with that.
TEST(Report, OccupancyWithRealRegisters) {
  for (const std::string& target : sass::data_targets()) {
    const Occupancy occupancy = report_of(target).occupancy;
    EXPECT_EQ(occupancy.blocks_per_sm, 2) << target;
    EXPECT_EQ(occupancy.by_registers, 2) << target;
    EXPECT_EQ(occupancy.limit, "registers") << target;
    EXPECT_EQ(occupancy.warps_per_sm, 16) << target;
    EXPECT_EQ(occupancy.next_registers, 0) << target;
  }
}

// The same registers, and a thread tile that needs fewer of them.
TEST(Report, OccupancyNamesTheRegistersForOneMoreBlock) {
  const Artifact artifact =
      artifact_of("tile 64x64x8 thread 4x4 stages 2 copy register", "sgemm_sm_90a.cubin");
  const auto report = build_report(artifact, *find_target("sm_90a"), {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->occupancy.next_registers, 80);
}

TEST(Report, WithoutACubinWhatTheSpecSaysIsLeft) {
  const Artifact artifact = artifact_of(kSgemmSpec, "");
  const auto report = build_report(artifact, *find_target("sm_90a"), dsl::GemmShape{64, 64, 64});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->code || report->steady || report->executed);
  EXPECT_DOUBLE_EQ(report->ideal_share, 64.0 / 68);
  EXPECT_EQ(report->shared_bytes, 16384);
  EXPECT_GT(report->occupancy.blocks_per_sm, 0);
}

TEST(Report, ADamagedOrForeignCubinIsAnError) {
  Artifact artifact = artifact_of(kSgemmSpec, "sgemm_sm_90a.cubin");
  const auto foreign = build_report(artifact, *find_target("sm_80"), {});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().road, dsl::Road::internal);
  artifact.cubin.resize(1000);
  const auto damaged = build_report(artifact, *find_target("sm_90a"), {});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().road, dsl::Road::machine);
}

}  // namespace
}  // namespace tilec
