#include "compiler/report/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/report/count.h"
#include "compiler/sass/elf.h"
#include "compiler/sass/listing.h"
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

// `at K` is what unrolling over a slice leaves different between lines of one op.
TEST(Report, LinesOfOneOpAreCountedTogether) {
  std::vector<sass::Instruction> code =
      sass::program({sass::iadd3(), sass::ffma(0, 1, 2, 0), sass::ffma(0, 1, 2, 0),
                     sass::bra(-3, 0), sass::exit_word()});
  const std::vector<sass::LineRow> lines = {{0, 1, 1}, {16, 2, 1}, {32, 4, 1}, {48, 9, 1}};
  const auto loop = count_steady_loop(code, sass::find_flow(code), {.ideal_share = 0.5}, lines,
                                      "load a\n  outer c at 0\nload a\n  outer c at 1\n");
  ASSERT_TRUE(loop);
  ASSERT_EQ(loop->ops.size(), 3U);
  EXPECT_EQ(loop->ops[0].text, "outer c");
  EXPECT_EQ(loop->ops[0].lines, 2);
  EXPECT_EQ(loop->ops[0].fma, 2);
  EXPECT_EQ(loop->ops[1].text, "");  // line 9, which the text does not have
  EXPECT_EQ(loop->ops[2].text, "load a");
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
  int in_ops = 0;
  for (const OpCount& op : report.steady->ops) in_ops += op.instructions;
  EXPECT_EQ(in_ops, report.steady->instructions);
  EXPECT_EQ(report.steady->ops.at(0).fma, 512);           // most instructions first
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

// A loop over tiles round one over slices, a whole slice a trip: the tile's own instructions stand
// once on the way, whatever K is.
TEST(Report, ALoopOverTilesIsPassedOnce) {
  using sass::bra, sass::exit_word, sass::ffma, sass::iadd3;
  // 0 IADD3; 1 IADD3 (tiles); 2, 3 FFMA, @P0 BRA 2; 5 FFMA; @P1 BRA 1; EXIT
  const std::vector<sass::Instruction> code =
      sass::program({iadd3(), iadd3(), ffma(0, 1, 2, 0), ffma(3, 1, 2, 3), bra(-2, 0),
                     ffma(0, 1, 2, 0), bra(-5, 1), exit_word()});
  const sass::Flow flow = sass::find_flow(code);
  const WorkOfThread work{.fma_per_k = 2, .tile_k = 1, .ideal_share = 0.5};
  const std::optional<Executed> executed = count_executed(code, flow, work, {1, 1, 10});
  ASSERT_TRUE(executed);
  EXPECT_DOUBLE_EQ(executed->trips, 10);
  EXPECT_DOUBLE_EQ(executed->fma, 21);
  EXPECT_DOUBLE_EQ(executed->instructions, 2 + 10 * 3 + 3);
}

// The road of our own kernels: whole slices in the steady loop, what is left of K in another.
// 0 IADD3; 1 @P0 BRA 4; 2, 3 FFMA, @P1 BRA 2; 4 @P2 BRA 7; 5, 6 FFMA, @P3 BRA 5; 7 EXIT
TEST(Report, TheRemainderOfKIsDoneByTheLoopAfter) {
  using sass::bra, sass::exit_word, sass::ffma, sass::iadd3;
  const std::vector<sass::Instruction> code =
      sass::program({iadd3(), bra(4, 0), ffma(0, 1, 2, 0), ffma(0, 1, 2, 0), bra(-2, 1), bra(3, 2),
                     ffma(0, 1, 2, 0), bra(-1, 3), exit_word()});
  const sass::Flow flow = sass::find_flow(code);
  ASSERT_EQ(flow.loops.size(), 2U);
  const WorkOfThread work{.fma_per_k = 1, .tile_k = 2, .ideal_share = 0.5};
  // K = 8: 4 slices, and the second loop is passed by. IADD3, BRA, 4 * 3, BRA, EXIT.
  const std::optional<Executed> even = count_executed(code, flow, work, {1, 1, 8});
  ASSERT_TRUE(even);
  EXPECT_DOUBLE_EQ(even->trips, 4);
  EXPECT_DOUBLE_EQ(even->fma, 8);
  EXPECT_DOUBLE_EQ(even->instructions, 1 + 1 + 4 * 3 + 1 + 1);
  // K = 9: 4 slices and one more, two trips of the second loop (its last k is a zero).
  const std::optional<Executed> odd = count_executed(code, flow, work, {1, 1, 9});
  EXPECT_DOUBLE_EQ(odd->trips, 4);
  EXPECT_DOUBLE_EQ(odd->fma, 10);
  EXPECT_DOUBLE_EQ(odd->instructions, 1 + 1 + 4 * 3 + 1 + 2 * 2 + 1);
  const std::optional<Executed> small = count_executed(code, flow, work, {1, 1, 1});
  EXPECT_DOUBLE_EQ(small->trips, 0);
  EXPECT_DOUBLE_EQ(small->fma, 2);
}

// Arms that a whole tile does not take (here the one of three FFMAs) are longer, and not counted.
TEST(Report, TheShortestWayIsThatOfAWholeTile) {
  using sass::bra, sass::exit_word, sass::ffma, sass::iadd3;
  const std::vector<sass::Instruction> code =
      sass::program({ffma(0, 1, 2, 0), bra(-1, 0), bra(5, 1), ffma(0, 1, 2, 0), ffma(0, 1, 2, 0),
                     ffma(0, 1, 2, 0), exit_word(), iadd3(), exit_word()});
  const sass::Flow flow = sass::find_flow(code);
  const WorkOfThread work{.fma_per_k = 1, .tile_k = 1, .ideal_share = 0.5};
  const std::optional<Executed> executed = count_executed(code, flow, work, {1, 1, 10});
  ASSERT_TRUE(executed);
  EXPECT_DOUBLE_EQ(executed->fma, 10);
  EXPECT_DOUBLE_EQ(executed->instructions, 10 * 2 + 1 + 2);
}

// Kernels that load operands straight from global memory: LDG is their fragment load.
// The arm for edges may be the shorter one: a loop, where the arm of whole tiles is unrolled. Lines
// of the tile IR tell them apart. NOPs on the way are executed.
TEST(Report, LinesTellTheArmOfAWholeTile) {
  using sass::bra, sass::exit_word, sass::ffma, sass::iadd3, sass::nop;
  // 0 FFMA, 1 @P0 BRA 0; 2 @P1 BRA 7; 3, 4 IADD3, 5 NOP, 6 EXIT; 7 IADD3, 8 EXIT
  const std::vector<sass::Instruction> code =
      sass::program({ffma(0, 1, 2, 0), bra(-1, 0), bra(5, 1), iadd3(), iadd3(), nop(), exit_word(),
                     iadd3(), exit_word()});
  const std::string tile = "loop {\n}\nif whole {\n  store c\n} else {\n  store guard\n}\n";
  const std::vector<sass::LineRow> lines = {{.offset = 0, .line = 1},
                                            {.offset = 2 * sass::kWordBytes, .line = 3},
                                            {.offset = 3 * sass::kWordBytes, .line = 4},
                                            {.offset = 7 * sass::kWordBytes, .line = 6}};
  const sass::Flow flow = sass::find_flow(code);
  WorkOfThread work{.fma_per_k = 1, .tile_k = 1, .ideal_share = 0.5};
  EXPECT_DOUBLE_EQ(count_executed(code, flow, work, {1, 1, 10})->instructions, 10 * 2 + 1 + 2);
  work.avoided = avoided_by_whole_tiles(code, lines, tile);
  EXPECT_EQ(work.avoided,
            (std::vector<bool>{false, false, false, false, false, false, false, true, true}));
  EXPECT_DOUBLE_EQ(count_executed(code, flow, work, {1, 1, 10})->instructions, 10 * 2 + 1 + 4);
}

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

// Where nvdisasm reads an instruction otherwise, it is counted as unknown, not as we decoded it.
TEST(Report, WhatNvdisasmReadsOtherwiseIsUnknown) {
  const Artifact artifact = artifact_of(kSgemmSpec, "sgemm_sm_90a.cubin");
  const auto cubin = sass::read_cubin(artifact.cubin);
  ASSERT_TRUE(cubin);
  // The text as our own tables would write it, then with two words changed.
  sass::Disassembly text{.kernels = {{.name = "sgemm"}}};
  for (const sass::Instruction& instruction : sass::decode_all(cubin->kernels[0].words, cubin->sm))
    text.kernels[0].lines.push_back(
        {instruction.offset, sass::own_text(instruction), instruction.word});
  const auto agreed = build_report(artifact, *find_target("sm_90a"), {}, &text);
  ASSERT_TRUE(agreed);
  EXPECT_TRUE(agreed->code->checked);
  EXPECT_EQ(agreed->code->mismatches, 0);

  int changed = 0;
  for (sass::TextLine& line : text.kernels[0].lines)
    if (changed < 2 && line.offset > 0x5c0 && line.text.starts_with("FFMA")) {
      line.text.replace(0, 4, "FMUL");
      ++changed;
    }
  const auto report = build_report(artifact, *find_target("sm_90a"), {}, &text);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->code->mismatches, 2);
  EXPECT_EQ(report->steady->by_class[Class::unknown], 2);
  EXPECT_EQ(report->steady->fma, 510);
  EXPECT_EQ(report->code->unknown, (std::vector<std::string>{"unknown 0x223"}));
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

// Found by fuzzing: a cubin that records no registers, or absurdly many.
TEST(Report, AbsurdRegisterCountsAreSurvived) {
  for (const uint32_t registers : {0U, 256U, 0xffffffffU}) {
    Artifact artifact = artifact_of(kSgemmSpec, "sgemm_sm_90a.cubin");
    const auto elf = sass::read_elf(artifact.cubin);
    ASSERT_TRUE(elf);
    // The first entry of .nv.info: format, attribute, size, symbol, registers.
    const uint64_t at = elf->find(".nv.info")->offset + 8;
    ASSERT_EQ(sass::read_at<uint32_t>(artifact.cubin, at), 127U);
    for (uint64_t i = 0; i < 4; ++i)
      artifact.cubin[at + i] = static_cast<uint8_t>(registers >> (8 * i));
    const auto report = build_report(artifact, *find_target("sm_90a"), {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->registers, 127);  // what the assembler said stands in
  }
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
