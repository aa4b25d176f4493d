#include "compiler/sass/flow.h"

#include <gtest/gtest.h>

#include "tests/sass/support.h"

namespace tilec::sass {
namespace {

std::string shape_of(const Flow& flow) {
  std::string out;
  for (const BasicBlock& block : flow.blocks) {
    out += "[" + std::to_string(block.begin) + "," + std::to_string(block.end) + ")";
    for (const size_t to : block.successors) out += ">" + std::to_string(to);
    out += " ";
  }
  return out;
}

TEST(Flow, StraightCodeIsOneBlock) {
  const Flow flow = find_flow(program({iadd3(), exit_word()}));
  EXPECT_EQ(shape_of(flow), "[0,2) ");
  EXPECT_TRUE(flow.loops.empty());
  EXPECT_TRUE(find_flow({}).blocks.empty());
}

TEST(Flow, GuardedBranchesFallThrough) {
  //  0 @P0 BRA 3; 1 IADD3; 2 BRA 3; 3 EXIT
  const Flow flow = find_flow(program({bra(3, 0), iadd3(), bra(1), exit_word()}));
  EXPECT_EQ(shape_of(flow), "[0,1)>2>1 [1,3)>2 [3,4) ");
}

TEST(Flow, GuardedExitFallsThrough) {
  const Word guarded = with_bits(exit_word(), 12, 3, 0);
  const Flow flow = find_flow(program({guarded, exit_word()}));
  EXPECT_EQ(shape_of(flow), "[0,1)>1 [1,2) ");
}

// A branch with a predicate operand of its own, `BRA P1, target`, may not be taken.
TEST(Flow, BranchesWithAPredicateOperandFallThrough) {
  const Flow flow = find_flow(program({with_bits(bra(2), 87, 3, 1), iadd3(), exit_word()}));
  EXPECT_EQ(shape_of(flow), "[0,1)>2>1 [1,2)>2 [2,3) ");
}

TEST(Flow, TargetsOutsideOfTheCodeAreNoEdges) {
  EXPECT_EQ(shape_of(find_flow(program({bra(-5), exit_word()}))), "[0,1) [1,2) ");
  EXPECT_EQ(shape_of(find_flow(program({bra(1000), exit_word()}))), "[0,1) [1,2) ");
}

TEST(Flow, IndirectBranchesMakeItIncomplete) {
  EXPECT_FALSE(find_flow(program({word_of(0x949), exit_word()})).complete);
  EXPECT_TRUE(find_flow(program({exit_word()})).complete);
}

TEST(Flow, NestedLoops) {
  // 0 IADD3; 1 IADD3 (outer header); 2 FFMA (inner header); 3 @P0 BRA 2; 4 @P1 BRA 1; 5 EXIT
  const std::vector<Instruction> code =
      program({iadd3(), iadd3(), ffma(0, 1, 2, 0), bra(-1, 0), bra(-3, 1), exit_word()});
  const Flow flow = find_flow(code);
  ASSERT_EQ(flow.loops.size(), 2U);
  EXPECT_EQ(flow.loops[0].depth, 1);
  EXPECT_EQ(flow.loops[1].depth, 2);
  EXPECT_EQ(flow.loops[1].parent, 0U);
  // Both hold the one FFMA: the inner loop is the steady one.
  EXPECT_EQ(steady_loop(flow, code), 1U);
  EXPECT_EQ(instructions_of(flow, flow.loops[1], code), (std::vector<size_t>{2, 3}));
}

TEST(Flow, TheSteadyLoopHasMostMultiplyAdds) {
  // Two loops one after the other, with 1 and 2 FFMAs, padding left out of the second.
  const std::vector<Instruction> code = program({ffma(0, 1, 2, 0), bra(-1, 0), ffma(0, 1, 2, 0),
                                                 nop(), ffma(3, 1, 2, 3), bra(-3, 0), exit_word()});
  const Flow flow = find_flow(code);
  ASSERT_EQ(flow.loops.size(), 2U);
  const std::optional<size_t> steady = steady_loop(flow, code);
  ASSERT_TRUE(steady);
  EXPECT_EQ(instructions_of(flow, flow.loops[*steady], code), (std::vector<size_t>{2, 4, 5}));
}

// A loop over tiles with its epilogue holds more multiply-adds than the loop over slices in it, and
// than any loop beside that: it is not the steady one.
TEST(Flow, ALoopOverTilesIsNotTheSteadyLoop) {
  // 0 IADD3 (tiles); 1, 2 FFMA, 3 @P0 BRA 1; 4 FFMA, 5 @P0 BRA 4; 6 FFMA, 7 @P1 BRA 0; 8 EXIT
  const std::vector<Instruction> code =
      program({iadd3(), ffma(0, 1, 2, 0), ffma(3, 1, 2, 3), bra(-2, 0), ffma(0, 1, 2, 0),
               bra(-1, 0), ffma(0, 1, 2, 0), bra(-7, 1), exit_word()});
  const Flow flow = find_flow(code);
  ASSERT_EQ(flow.loops.size(), 3U);
  const std::optional<size_t> steady = steady_loop(flow, code);
  ASSERT_TRUE(steady);
  EXPECT_EQ(instructions_of(flow, flow.loops[*steady], code), (std::vector<size_t>{1, 2, 3}));
}

TEST(Flow, NoMultiplyAddsNoSteadyLoop) {
  const std::vector<Instruction> code = program({iadd3(), bra(-1, 0), exit_word()});
  EXPECT_EQ(steady_loop(find_flow(code), code), std::nullopt);
}

TEST(Flow, BlocksAfterOneLeaveTheOtherArmOut) {
  // 0 @P0 BRA 3; 1 IADD3; 2 BRA 4; 3 FFMA; 4 EXIT
  const std::vector<Instruction> code =
      program({bra(3, 0), iadd3(), bra(2), ffma(0, 1, 2, 0), exit_word()});
  const Flow flow = find_flow(code);
  ASSERT_EQ(flow.blocks.size(), 4U);
  EXPECT_EQ(blocks_after(flow, 0), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(blocks_after(flow, 2), (std::vector<bool>{false, false, true, true}));
}

// The padding after the last instruction is a loop to itself (`BRA` to itself), never the steady
// one.
TEST(Flow, RealKernelsHaveOneSteadyLoopOfWholeSlices) {
  for (const std::string& target : data_targets()) {
    const auto cubin = read_cubin(read_bytes("sgemm_" + target + ".cubin"));
    ASSERT_TRUE(cubin) << target;
    const std::vector<Instruction> code = decode_all(cubin->kernels[0].words, cubin->sm);
    const Flow flow = find_flow(code);
    EXPECT_TRUE(flow.complete);
    const std::optional<size_t> steady = steady_loop(flow, code);
    ASSERT_TRUE(steady) << target;
    int fma = 0;
    for (const size_t i : instructions_of(flow, flow.loops[*steady], code))
      fma += multiply_adds(code[i]);
    EXPECT_EQ(fma % 512, 0) << target << " " << fma;
    EXPECT_GE(fma, 512) << target;
  }
}

}  // namespace
}  // namespace tilec::sass
