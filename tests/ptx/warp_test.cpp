// What lanes do together, atomics, calls and indirect branches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "runtime/ptx/atomics.h"
#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

// Runs `body`, which leaves a word in %r2, and gives that word by thread.
std::vector<uint32_t> words(std::string_view body, const Run& how = {},
                            std::string_view declarations = "") {
  const Outcome outcome =
      run(std::string(body) + "\nst.global.b32 [%rd2], %r2;\n", how, {}, declarations);
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  std::vector<uint32_t> out;
  for (size_t t = 0; t < outcome.out.size() / 8; ++t)
    out.push_back(static_cast<uint32_t>(outcome.out[t * 8]));
  return out;
}

TEST(Shuffle, Modes) {
  const auto up = words("shfl.sync.up.b32 %r2|%p1, %r1, 3, 0, -1;\n@!%p1 add.u32 %r2, %r2, 100;");
  const auto down =
      words("shfl.sync.down.b32 %r2|%p1, %r1, 3, 31, -1;\n@!%p1 add.u32 %r2, %r2, 100;");
  const auto flip = words("shfl.sync.bfly.b32 %r2, %r1, 5, 31, -1;");
  const auto index = words("shfl.sync.idx.b32 %r2, %r1, 7, 31, -1;");
  // Segments of 8 lanes: the mask in bits 8 to 12 of c.
  const auto segments = words("shfl.sync.down.b32 %r2, %r1, 2, 0x1807, -1;");
  const auto broadcast = words("shfl.sync.idx.b32 %r2, %r1, 1, 0x1807, -1;");
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(up[t], t < 3 ? t + 100 : t - 3);
    EXPECT_EQ(down[t], t > 28 ? t + 100 : t + 3);
    EXPECT_EQ(flip[t], t ^ 5);
    EXPECT_EQ(index[t], 7u);
    EXPECT_EQ(segments[t], t % 8 > 5 ? t : t + 2);
    EXPECT_EQ(broadcast[t], t / 8 * 8 + 1);
  }
}

TEST(Shuffle, SumsAWarp) {
  std::string body = "mov.b32 %r2, %r1;\n";
  for (int by : {16, 8, 4, 2, 1})
    body += fmt::format("shfl.sync.bfly.b32 %r3, %r2, {}, 31, -1;\nadd.u32 %r2, %r2, %r3;\n", by);
  for (uint32_t sum : words(body)) EXPECT_EQ(sum, 31u * 32 / 2);
}

// Lanes that have parted wait for the others that the mask names.
TEST(Shuffle, WaitsForItsMembers) {
  const auto out = words(R"(
mov.b32 %r4, 0;
LOOP:
add.u32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, %r1;
@%p1 bra LOOP;
shfl.sync.idx.b32 %r2, %r4, 31, 31, -1;
)");
  for (uint32_t value : out) EXPECT_EQ(value, 31u);
}

TEST(Vote, Modes) {
  const auto ballot = words("setp.lt.u32 %p1, %r1, 5;\nvote.sync.ballot.b32 %r2, %p1, -1;");
  const auto negated = words("setp.lt.u32 %p1, %r1, 5;\nvote.sync.ballot.b32 %r2, !%p1, -1;");
  const auto modes = words(R"(
setp.lt.u32 %p1, %r1, 5;
vote.sync.all.pred %p2, %p1, -1;
vote.sync.any.pred %p3, %p1, -1;
vote.sync.uni.pred %p4, %p1, -1;
selp.b32 %r2, 1, 0, %p2;
@%p3 or.b32 %r2, %r2, 2;
@%p4 or.b32 %r2, %r2, 4;
)");
  EXPECT_EQ(ballot[9], 0x1Fu);
  EXPECT_EQ(negated[9], ~0x1Fu);
  EXPECT_EQ(modes[9], 2u);
}

TEST(Vote, OfABranch) {
  const auto out = words(R"(
mov.b32 %r2, 0;
setp.ge.u32 %p1, %r1, 12;
@%p1 bra OUT;
setp.lt.u32 %p2, %r1, 5;
vote.sync.ballot.b32 %r2, %p2, 0xfff;
activemask.b32 %r3;
add.u32 %r2, %r2, %r3;
OUT:
)");
  EXPECT_EQ(out[3], 0x1Fu + 0xFFF);
  EXPECT_EQ(out[12], 0u);
}

TEST(Match, AnyAndAll) {
  const auto any = words("shr.u32 %r3, %r1, 3;\nmatch.any.sync.b32 %r2, %r3, -1;");
  const auto all = words(R"(
mov.b64 %rd5, 7;
match.all.sync.b64 %r2|%p1, %rd5, -1;
@!%p1 mov.b32 %r2, 1;
)");
  const auto none = words("match.all.sync.b32 %r2|%p1, %r1, -1;\n@%p1 mov.b32 %r2, 1;");
  EXPECT_EQ(any[10], 0xFF00u);
  EXPECT_EQ(all[10], 0xFFFFFFFFu);
  EXPECT_EQ(none[10], 0u);
}

TEST(Redux, AndElect) {
  EXPECT_EQ(words("redux.sync.add.u32 %r2, %r1, -1;")[4], 496u);
  EXPECT_EQ(words("sub.s32 %r3, 4, %r1;\nredux.sync.min.s32 %r2, %r3, -1;")[4],
            static_cast<uint32_t>(-27));
  EXPECT_EQ(words("sub.s32 %r3, 4, %r1;\nredux.sync.max.u32 %r2, %r3, -1;")[4], 0xFFFFFFFFu);
  EXPECT_EQ(words("redux.sync.xor.b32 %r2, %r1, -1;")[4], 0u);
  EXPECT_EQ(words("redux.sync.or.b32 %r2, %r1, -1;")[4], 31u);
  const auto elected = words("elect.sync %r2|%p1, -1;\n@%p1 add.u32 %r2, %r2, 50;");
  EXPECT_EQ(elected[0], 50u);
  EXPECT_EQ(elected[1], 0u);
}

TEST(Collectives, ThatNeverMeetAreADeadlock) {
  const Outcome outcome = run(R"(
setp.lt.u32 %p1, %r1, 16;
@%p1 bra L;
shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;
bra.uni J;
L:
vote.sync.ballot.b32 %r2, %p1, -1;
J:
)");
  EXPECT_EQ(codes(outcome.result), "ptx-deadlock ptx-deadlock");
}

// ---- atomics ----

TEST(Atomics, Combine) {
  const auto f = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
  EXPECT_EQ(combine(AtomicKind::add, Type::u32, 0xFFFFFFFF, 2, 0), 1u);
  EXPECT_EQ(combine(AtomicKind::add, Type::u64, 0xFFFFFFFF, 2, 0), 0x100000001u);
  EXPECT_EQ(combine(AtomicKind::minimum, Type::s32, 0xFFFFFFFF, 2, 0), 0xFFFFFFFFu);
  EXPECT_EQ(combine(AtomicKind::minimum, Type::u32, 0xFFFFFFFF, 2, 0), 2u);
  EXPECT_EQ(combine(AtomicKind::maximum, Type::s64, ~0ull, 2, 0), 2u);
  EXPECT_EQ(combine(AtomicKind::increment, Type::u32, 6, 7, 0), 7u);
  EXPECT_EQ(combine(AtomicKind::increment, Type::u32, 7, 7, 0), 0u);
  EXPECT_EQ(combine(AtomicKind::decrement, Type::u32, 0, 7, 0), 7u);
  EXPECT_EQ(combine(AtomicKind::decrement, Type::u32, 9, 7, 0), 7u);
  EXPECT_EQ(combine(AtomicKind::decrement, Type::u32, 5, 7, 0), 4u);
  EXPECT_EQ(combine(AtomicKind::exchange, Type::b64, 5, 7, 0), 7u);
  EXPECT_EQ(combine(AtomicKind::cas, Type::b32, 5, 5, 9), 9u);
  EXPECT_EQ(combine(AtomicKind::cas, Type::b32, 5, 6, 9), 5u);
  EXPECT_EQ(combine(AtomicKind::add, Type::f32, f(1.5f), f(2), 0), f(3.5f));
  EXPECT_EQ(combine(AtomicKind::add, Type::f16x2, 0x3C003C00, 0x40003C00, 0), 0x42004000u);
  EXPECT_EQ(combine(AtomicKind::add, Type::bf16, 0x3F80, 0x3F80, 0), 0x4000u);
  EXPECT_EQ(combine(AtomicKind::maximum, Type::f16, 0x7FFF, 0x3C00, 0), 0x3C00u);
}

TEST(Atomics, OnSharedAndGlobalMemory) {
  const auto out = words(R"(
mov.u32 %r5, sum;
setp.eq.u32 %p1, %r1, 0;
@%p1 st.shared.b32 [%r5], 0;
bar.sync 0;
atom.shared.add.u32 %r3, [%r5], %r1;
red.shared.max.u32 [%r5], 7;
bar.sync 0;
ld.shared.b32 %r2, [%r5];
atom.global.add.u32 %r4, [counter], 1;
red.global.add.u32 [counter], 1;
)",
                         {.threads = 64}, ".shared .b32 sum;\n.global .u32 counter;");
  for (uint32_t value : out) EXPECT_EQ(value, 63u * 64 / 2);
}

TEST(Atomics, GiveEachThreadATicketOfItsOwn) {
  std::vector<bool> seen(192, false);
  for (uint32_t ticket : words("atom.global.inc.u32 %r2, [counter], 1000000;",
                               {.threads = 64, .blocks = 3}, ".global .u32 counter;")) {
    ASSERT_LT(ticket, 192u);
    EXPECT_FALSE(seen[ticket]);
    seen[ticket] = true;
  }
}

// The last block to arrive adds up what all have left: blocks talk through an atomic, so no race.
constexpr const char* kLastBlock = R"(
mul.wide.u32 %rd10, %r60, 4;
mov.u64 %rd11, parts;
add.u64 %rd10, %rd11, %rd10;
add.u32 %r3, %r60, 10;
st.global.b32 [%rd10], %r3;
membar.gl;
mov.b32 %r2, 0;
{}
setp.ne.u32 %p1, %r4, 3;
@%p1 bra OUT;
ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd11];
add.u32 %r2, %r5, %r6;
add.u32 %r2, %r2, %r7;
add.u32 %r2, %r2, %r8;
OUT:
)";

TEST(Atomics, OrderBlocks) {
  const auto out =
      words(fmt::format(kLastBlock, "atom.global.add.u32 %r4, [counter], 1;"),
            {.threads = 1, .blocks = 4}, ".global .u32 counter;\n.global .align 16 .b32 parts[4];");
  EXPECT_EQ(out[3], 46u);
}

TEST(Atomics, AreMissedWhereTheyAreMissing) {
  const Outcome outcome =
      run(fmt::format(kLastBlock, "mov.b32 %r4, %r60;") + "st.global.b32 [%rd2], %r2;",
          {.threads = 1, .blocks = 4}, {}, ".global .align 16 .b32 parts[4];");
  EXPECT_EQ(codes(outcome.result), "ptx-global-race");
}

// Every block waits for the last one: all have to be under way at once.
TEST(Blocks, WaitForEachOther) {
  const auto out = words(R"(
red.global.add.u32 [counter], 1;
SPIN:
ld.acquire.gpu.global.b32 %r2, [counter];
setp.lt.u32 %p1, %r2, 40;
@%p1 bra SPIN;
)",
                         {.threads = 1, .blocks = 40, .max_block_instructions = 100'000'000},
                         ".global .u32 counter;");
  for (uint32_t value : out) EXPECT_EQ(value, 40u);
}

// ---- calls ----

constexpr const char* kFunctions = R"(
.func (.param .b32 result) square(.param .b32 x)
{
.reg .b32 %r<4>;
ld.param.b32 %r1, [x];
mul.lo.u32 %r2, %r1, %r1;
st.param.b32 [result], %r2;
ret;
}
.func (.reg .b32 out) twice_square(.reg .b32 in)
{
.reg .b32 %r<4>;
.reg .pred %p;
{
.param .b32 x;
.param .b32 y;
st.param.b32 [x], in;
call.uni (y), square, (x);
ld.param.b32 %r1, [y];
}
setp.gt.u32 %p, %r1, 100;
add.u32 out, %r1, %r1;
@%p ret;
add.u32 out, out, 1;
}
)";

TEST(Calls, PassParametersAndComeBack) {
  const auto out = words(R"(
call (%r2), twice_square, (%r1);
{
.param .b32 x;
.param .b32 y;
st.param.b32 [x], %r2;
call.uni (y), square, (x);
ld.param.b32 %r3, [y];
}
add.u32 %r2, %r2, %r3;
)",
                         {}, kFunctions);
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t twice = 2 * t * t + (t * t > 100 ? 0 : 1);
    EXPECT_EQ(out[t], twice + twice * twice) << t;
  }
}

// Half of the warp calls, the other half too but from elsewhere: both come back to their own place.
TEST(Calls, FromDivergentCode) {
  const Outcome outcome = run(R"(
setp.lt.u32 %p1, %r1, 10;
@%p1 bra LOW;
call (%r2), twice_square, (%r1);
add.u32 %r2, %r2, 1000;
bra.uni JOIN;
LOW:
call (%r2), twice_square, (3);
JOIN:
st.global.b32 [%rd2], %r2;
)",
                              {}, {}, kFunctions);
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(outcome.out[t * 8], t < 10 ? 19u : 1000 + 2 * t * t + (t * t > 100 ? 0 : 1)) << t;
  EXPECT_EQ(outcome.result.counters.total.global_store.requests, 1u);
}

TEST(Calls, FaultsAreRefused) {
  const auto code = [](std::string_view body) {
    const auto module = parse({"t.ptx", kernel(body, kFunctions)});
    return module ? std::string() : module.error().diagnostics[0].code;
  };
  EXPECT_EQ(code("call (%r2), nobody, (%r1);"), "ptx-undeclared-name");
  EXPECT_EQ(code("call (%r2), twice_square;"), "ptx-call");
  EXPECT_EQ(code("call twice_square, (%r1);"), "ptx-call");
  EXPECT_EQ(code("call (%r2), twice_square, (%rd1);"), "ptx-type-mismatch");
  EXPECT_EQ(code(".param .b64 p;\n.param .b32 q;\ncall (q), square, (p);"), "ptx-call");
  EXPECT_EQ(code("call (%r2), %rd1, (%r1);"), "ptx-unsupported");
}

TEST(Calls, RecursionIsRefused) {
  const auto module = parse({"t.ptx", kernel("call f;", ".func f() { call g; }\n.func g();")});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().diagnostics[0].code, "ptx-unsupported");
  const auto again = parse({"t.ptx", kernel("call f;",
                                            ".func g();\n.func f() { call g; }\n"
                                            ".func g() { call f; }")});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().diagnostics[0].code, "ptx-recursion");
}

TEST(Branches, ThroughATable) {
  const auto out = words(R"(
and.b32 %r3, %r1, 3;
TABLE: .branchtargets A, B, C, A;
brx.idx %r3, TABLE;
A:
mov.b32 %r2, 1;
bra.uni JOIN;
B:
mov.b32 %r2, 2;
bra.uni JOIN;
C:
mov.b32 %r2, 3;
JOIN:
)");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 4 == 3 ? 1 : t % 4 + 1);
}

}  // namespace
}  // namespace tilec::ptx::test
