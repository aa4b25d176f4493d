// Control flow: lanes part and meet again, wait for each other, leave early.
#include "runtime/ptx/flow.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

TEST(Flow, LoopsWithTripsOfTheirOwn) {
  const Outcome outcome = run(R"(
mov.b32 %r2, 0;
mov.b32 %r3, 0;
LOOP:
setp.ge.u32 %p1, %r3, %r1;
@%p1 bra DONE;
add.u32 %r2, %r2, %r3;
add.u32 %r3, %r3, 1;
bra.uni LOOP;
DONE:
st.global.b32 [%rd2], %r2;
)",
                              {.threads = 45});
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 0; t < 45; ++t) EXPECT_EQ(outcome.out[t * 8], t * (t - 1) / 2 * (t > 0)) << t;
}

TEST(Flow, NestedBranchesMeetAgain) {
  const Outcome outcome = run(R"(
setp.lt.u32 %p1, %r1, 16;
and.b32 %r3, %r1, 1;
setp.eq.u32 %p2, %r3, 0;
@%p1 bra LOW;
@%p2 bra HIGH_EVEN;
mov.b32 %r2, 3;
bra.uni JOIN;
HIGH_EVEN:
mov.b32 %r2, 2;
bra.uni JOIN;
LOW:
mov.b32 %r2, 1;
@!%p2 mov.b32 %r2, 0;
JOIN:
add.u32 %r2, %r2, 10;
st.global.b32 [%rd2], %r2;
)");
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(outcome.out[t * 8], 10u + (t < 16 ? 1 - t % 2 : 2 + t % 2)) << t;
  // After JOIN all lanes are together: the store is one warp instruction.
  EXPECT_EQ(outcome.result.counters.total.global_store.requests, 1u);
  EXPECT_EQ(outcome.result.counters.total.divergent_branches, 2u);
}

// LLVM puts seldom-taken code behind the end of the function; lanes still meet at the join.
TEST(Flow, CodeOutOfLineMeetsAgain) {
  const Outcome outcome = run(R"(
setp.lt.u32 %p1, %r1, 3;
mov.b32 %r2, 1;
@%p1 bra COLD;
JOIN:
st.global.b32 [%rd2], %r2;
ret;
COLD:
mov.b32 %r2, 2;
bra.uni JOIN;
)");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], t < 3 ? 2u : 1u);
  EXPECT_EQ(outcome.result.counters.total.global_store.requests, 1u);
}

TEST(Flow, BreakOutOfALoopMeetsBehindIt) {
  const Outcome outcome = run(R"(
mov.b32 %r2, 0;
LOOP:
setp.eq.u32 %p1, %r2, %r1;
@%p1 bra FOUND;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 20;
@%p2 bra LOOP;
mov.b32 %r3, 100;
bra.uni JOIN;
FOUND:
mov.b32 %r3, %r2;
JOIN:
st.global.b32 [%rd2], %r3;
)");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], t < 20 ? t : 100u);
  EXPECT_EQ(outcome.result.counters.total.global_store.requests, 1u);
}

TEST(Flow, GuardedReturnLeavesTheOthers) {
  const Outcome outcome = run(R"(
setp.gt.u32 %p1, %r1, 9;
@%p1 ret;
st.global.b32 [%rd2], 5;
)");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], t > 9 ? 0u : 5u);
}

// A lane spins until another lane of its own warp has stored: forward progress since Volta.
TEST(Flow, LanesDoNotStarveEachOther) {
  const Outcome outcome = run(R"(
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r5, flag;
@%p1 st.shared.b32 [%r5], 0;
bar.sync 0;
setp.eq.u32 %p2, %r1, 31;
@%p2 bra WRITER;
SPIN:
ld.volatile.shared.b32 %r2, [%r5];
setp.eq.u32 %p3, %r2, 0;
@%p3 bra SPIN;
bra.uni JOIN;
WRITER:
mov.b32 %r2, 7;
st.volatile.shared.b32 [%r5], %r2;
JOIN:
st.global.b32 [%rd2], %r2;
)",
                              {.checks = Checks::bounds, .max_block_instructions = 10'000'000}, {},
                              ".shared .b32 flag;");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], 7u);
}

TEST(Flow, WarpsDoNotStarveEachOther) {
  const Outcome outcome = run(R"(
mov.u32 %r5, flag;
setp.eq.u32 %p1, %r1, 0;
@%p1 st.shared.b32 [%r5], 0;
bar.sync 0;
setp.ge.u32 %p2, %r1, 32;
@%p2 bra WRITER;
SPIN:
ld.volatile.shared.b32 %r2, [%r5];
setp.eq.u32 %p3, %r2, 0;
@%p3 bra SPIN;
bra.uni JOIN;
WRITER:
mov.b32 %r2, 7;
st.volatile.shared.b32 [%r5], %r2;
JOIN:
st.global.b32 [%rd2], %r2;
)",
                              {.threads = 64, .checks = Checks::bounds}, {}, ".shared .b32 flag;");
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(outcome.out[t * 8], 7u);
}

TEST(Flow, LabelsOfScopesDoNotMeet) {
  const Outcome outcome = run(R"(
mov.b32 %r2, 0;
{ .reg .b32 %t; mov.b32 %t, 1; bra L; add.u32 %t, %t, 50; L: add.u32 %r2, %r2, %t; }
{ .reg .b32 %t; mov.b32 %t, 2; bra L; add.u32 %t, %t, 50; L: add.u32 %r2, %r2, %t; }
st.global.b32 [%rd2], %r2;
)");
  EXPECT_EQ(outcome.out[0], 3u);
}

TEST(Flow, FallingOffTheEndIsLeaving) {
  const auto module = parse_or_fail(
      ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<2>;\n"
      "mov.b32 %r1, 1;\n}\n");
  ASSERT_TRUE(module);
  Memory memory;
  const auto result = launch(*module, "k", {}, {}, memory);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->counters.total.warp_instructions, 1u);
}

// Orders of blocks: a loop's blocks stand together, before whatever follows.
TEST(Flow, OrdersLoopsBeforeWhatFollows) {
  const auto module = parse_or_fail(kernel(R"(
bra.uni HEAD;
AFTER:
st.global.b32 [%rd2], %r2;
ret;
HEAD:
mov.b32 %r2, 0;
OUTER:
mov.b32 %r3, 0;
INNER:
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, 4;
@%p1 bra INNER;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 4;
@%p2 bra OUTER;
bra.uni AFTER;
)"));
  ASSERT_TRUE(module);
  const Code& code = module->program().codes[0];
  std::vector<uint32_t> order;
  for (const CodeBlock& block : code.blocks) order.push_back(block.order);
  // Blocks: 0 entry, 1 AFTER, 2 HEAD, 3 OUTER, 4 INNER, 5 tail of OUTER, 6 bra AFTER, then the end.
  EXPECT_LT(order[2], order[3]);
  EXPECT_LT(order[3], order[4]);
  EXPECT_LT(order[4], order[5]);
  EXPECT_LT(order[5], order[6]);
  EXPECT_LT(order[6], order[1]);
}

TEST(Slots, AreSharedByRegistersThatNeverLiveTogether) {
  std::string body = "mov.b32 %r2, 1;\n";
  for (int i = 3; i < 60; ++i) body += fmt::format("add.u32 %r{}, %r{}, {};\n", i, i - 1, i % 3);
  body += "st.global.b32 [%rd2], %r59;\n";
  const auto module = parse_or_fail(kernel(body));
  ASSERT_TRUE(module);
  EXPECT_LT(module->program().codes[0].register_bytes, 30u * 128);
  const Outcome outcome = run(body);
  EXPECT_EQ(outcome.out[0], 1u + 57);
}

}  // namespace
}  // namespace tilec::ptx::test
