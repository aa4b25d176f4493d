// Memory: accesses of all widths and spaces, bounds and alignment, asynchronous copies, barriers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

TEST(Memory, KnowsItsBounds) {
  Memory memory;
  const uint64_t a = *memory.allocate(100), b = *memory.allocate(8, 1024),
                 zero = *memory.allocate(0);
  EXPECT_EQ(a % 256, 0u);
  EXPECT_EQ(b % 1024, 0u);
  EXPECT_GT(b - a, 1u << 20);
  std::vector<std::byte> bytes(100, std::byte{7});
  EXPECT_TRUE(memory.write(a, bytes));
  EXPECT_FALSE(memory.write(a + 1, bytes));
  EXPECT_FALSE(memory.write(a - 1, bytes));
  EXPECT_FALSE(memory.read(b, bytes));
  EXPECT_FALSE(memory.write(zero, std::span(bytes).first(1)));
  EXPECT_TRUE(memory.write(zero, {}));
  EXPECT_FALSE(memory.allocate(-1));
  EXPECT_FALSE(memory.allocate(1, 3));
  EXPECT_FALSE(memory.free(a + 4));
  EXPECT_TRUE(memory.free(a));
  EXPECT_FALSE(memory.read(a, std::span(bytes).first(1)));
}

TEST(Access, AllWidths) {
  const Outcome outcome = run(
      R"(
ld.global.u8 %r2, [%rd1];
ld.global.s8 %r3, [%rd1+1];
ld.global.u16 %r4, [%rd1+2];
ld.global.s16 %rd10, [%rd1+2];
ld.global.v2.b32 {%r5, %r6}, [%rd1+8];
ld.global.nc.L1::no_allocate.L2::128B.v4.u16 {%h1, %h2, %h3, %h4}, [%rd1+8];
ld.global.v2.b64 {%rd11, %rd12}, [%rd1+16];
ld.global.v4.u8 {%r10, %r11, %r12, %r13}, [%rd1+4];
st.global.u8 [%rd2], %r2;
st.global.b32 [%rd2+4], %r3;
st.global.u32 [%rd2+8], %r4;
st.global.b64 [%rd2+16], %rd10;
st.global.v2.b32 [%rd2+24], {%r6, %r5};
st.global.v4.b16 [%rd2+32], {%h4, %h3, %h2, %h1};
st.global.cs.v2.b64 [%rd2+48], {%rd12, %rd11};
st.global.v4.u8 [%rd2+40], {%r13, %r12, %r11, %r10};
)",
      {.threads = 7}, [] {
        std::vector<uint64_t> in;
        for (int t = 0; t < 7; ++t)
          in.insert(in.end(), {0x44332211'8004FE03ull, 0x0004000300020001ull, 5, 6, 0, 0, 0, 0});
        return in;
      }());
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (size_t t = 0; t < 7; ++t) {
    const uint64_t* out = outcome.out.data() + t * 8;
    EXPECT_EQ(out[0], 0xFFFFFFFE00000003ull);
    EXPECT_EQ(out[1], 0x8004u);
    EXPECT_EQ(out[2], 0xFFFFFFFFFFFF8004ull);
    EXPECT_EQ(out[3], 0x0002000100040003ull);
    EXPECT_EQ(out[4], 0x0001000200030004ull);
    EXPECT_EQ(out[5], 0x11223344u);
    EXPECT_EQ(out[6], 6u);
    EXPECT_EQ(out[7], 5u);
  }
}

TEST(Access, SharedLocalConstantAndGeneric) {
  const Outcome outcome = run(R"(
.local .align 8 .b8 stack[16];
.shared .align 4 .b8 mine[256];
mov.u32 %r2, mine;
shl.b32 %r3, %r1, 2;
add.u32 %r2, %r2, %r3;
st.shared.b32 [%r2], %r1;
cvt.u64.u32 %rd10, %r2;
cvta.shared.u64 %rd11, %rd10;
ld.b32 %r4, [%rd11];
mov.u64 %rd12, stack;
cvta.local.u64 %rd13, %rd12;
add.u32 %r5, %r4, 100;
st.b32 [%rd13+4], %r5;
ld.local.b32 %r6, [stack+4];
cvta.to.local.u64 %rd14, %rd13;
ld.local.b32 %r7, [%rd14+4];
ld.const.b32 %r8, [table+8];
ld.global.b32 %r9, [counter];
st.global.b32 [%rd2], %r6;
st.global.b32 [%rd2+8], %r7;
st.global.b32 [%rd2+16], %r8;
st.global.b32 [%rd2+24], %r9;
ld.global.b64 %rd15, [pointer];
ld.b32 %r10, [%rd15];
st.global.b32 [%rd2+32], %r10;
)",
                              {}, {},
                              ".const .align 4 .u32 table[4] = {10, 20, 30};\n"
                              ".global .u32 counter = 77;\n"
                              ".global .u64 pointer = generic(table)+4;\n");
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(outcome.out[t * 8], t + 100);
    EXPECT_EQ(outcome.out[t * 8 + 1], t + 100);
    EXPECT_EQ(outcome.out[t * 8 + 2], 30u);
    EXPECT_EQ(outcome.out[t * 8 + 3], 77u);
    EXPECT_EQ(outcome.out[t * 8 + 4], 20u);
  }
}

struct Fault {
  const char* name;
  const char* body;  // faulty
  const char* twin;  // the same without the fault
  const char* codes;
  const char* says;  // part of the description
  const char* declarations = "";
  uint32_t threads = 32;
  uint64_t lanes = 32;
};

class Faults : public testing::TestWithParam<Fault> {};

TEST_P(Faults, AreFoundAndTheTwinIsClean) {
  const Fault& fault = GetParam();
  const Outcome outcome = run(fault.body, {.threads = fault.threads}, {}, fault.declarations);
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(codes(outcome.result), fault.codes) << describe_all(outcome.result);
  ASSERT_FALSE(outcome.result.findings.empty());
  const Finding& finding = outcome.result.findings[0];
  EXPECT_NE(describe(finding).find(fault.says), std::string::npos) << describe(finding);
  EXPECT_GT(finding.site.ptx_line, 20);
  EXPECT_EQ(finding.count, fault.lanes);
  const Outcome twin = run(fault.twin, {.threads = fault.threads}, {}, fault.declarations);
  EXPECT_TRUE(twin.result.clean()) << describe_all(twin.result);
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    testing::Values(
        Fault{"LoadPastTheEnd", "ld.global.b32 %r2, [%rd1+2048];", "ld.global.b32 %r2, [%rd1+60];",
              "ptx-out-of-bounds", "0 bytes past the end of a 2048-byte allocation"},
        Fault{"OneLanePastTheEnd", "ld.global.b32 %r2, [%rd1+64];", "ld.global.b32 %r2, [%rd1];",
              "ptx-out-of-bounds", "thread (31,0,0)", "", 32, 1},
        Fault{"LoadBeforeTheBegin", "ld.global.b32 %r2, [%rd1-2048];",
              "ld.global.b32 %r2, [%rd1+4];", "ptx-out-of-bounds", "no allocation lies before it"},
        Fault{"HalfOutside", "st.global.b64 [%rd2+2040], %rd1;", "st.global.b64 [%rd2+56], %rd1;",
              "ptx-out-of-bounds", "past the end", "", 32, 31},
        Fault{"NullPointer", "ld.global.b32 %r2, [0];", "ld.global.b32 %r2, [%rd1];",
              "ptx-out-of-bounds", "no allocation lies before it"},
        Fault{"Misaligned", "ld.global.b32 %r2, [%rd1+2];", "ld.global.b16 %h2, [%rd1+2];",
              "ptx-misaligned", "4 bytes want an address that 4 divides"},
        Fault{"MisalignedVector", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+8];",
              "ld.global.v2.f32 {%f1, %f2}, [%rd1+8];", "ptx-misaligned", "16 divides"},
        Fault{"SharedPastTheEnd", "mov.u32 %r3, buffer;\nst.shared.b32 [%r3+128], %r1;",
              "mov.u32 %r3, buffer;\nst.shared.b32 [%r3+124], 1;", "ptx-out-of-bounds",
              "the block has 128 bytes of shared memory", ".shared .b32 buffer[32];"},
        Fault{"SharedNull", "st.shared.b32 [0], %r1;", "st.shared.b32 [buffer], 1;",
              "ptx-out-of-bounds", "shared memory at 0x0", ".shared .b32 buffer[32];"},
        Fault{"LocalPastTheEnd", ".local .b32 mine[2];\nst.local.b32 [mine+8], 1;",
              ".local .b32 mine[2];\nst.local.b32 [mine+4], 1;", "ptx-out-of-bounds",
              "a thread has 8 bytes of local memory"},
        Fault{"ParameterPastTheEnd", "ld.param.b64 %rd5, [out+8];", "ld.param.b64 %rd5, [out];",
              "ptx-out-of-bounds", "the parameters have 16 bytes"},
        Fault{"StoreToConstant", "mov.u64 %rd5, table;\nst.global.b32 [%rd5], 1;",
              "mov.u64 %rd5, table;\nld.global.b32 %r5, [%rd5];", "ptx-read-only", "global memory",
              ".const .b32 table = 1;"},
        Fault{"GenericNowhere", "mov.b64 %rd5, 0x7e0000000000;\nld.b32 %r2, [%rd5];",
              "ld.b32 %r2, [%rd1];", "ptx-out-of-bounds", "shared memory at 0x0"},
        Fault{"AsyncCopyPastTheEnd",
              "mov.u32 %r3, buffer;\ncp.async.ca.shared.global [%r3], [%rd1+2048], 4;",
              "mov.u32 %r3, buffer;\nmad.lo.u32 %r3, %r1, 4, %r3;\n"
              "cp.async.ca.shared.global [%r3], [%rd1+60], 4;",
              "ptx-out-of-bounds", "past the end", ".shared .b32 buffer[32];"},
        Fault{"AsyncCopyMisaligned",
              "mov.u32 %r3, buffer;\ncp.async.cg.shared.global [%r3+8], [%rd1], 16;",
              "mov.u32 %r3, buffer;\nmad.lo.u32 %r3, %r1, 16, %r3;\n"
              "cp.async.cg.shared.global [%r3], [%rd1], 16;",
              "ptx-misaligned", "16 divides", ".shared .align 16 .b8 buffer[512];"},
        Fault{"BarrierNumber", "mov.b32 %r3, 16;\nbar.sync %r3;", "mov.b32 %r3, 15;\nbar.sync %r3;",
              "ptx-bad-barrier", "barrier 16; there are 0 to 15"},
        Fault{"BarrierCount", "bar.sync 1, 33;", "bar.sync 1, 32;", "ptx-bad-barrier",
              "33 threads; a positive multiple of 32"},
        Fault{"BarrierNotReached", "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra L;\nbar.sync 1, 64;\nL:",
              "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra L;\nbar.sync 1, 32;\nL:", "ptx-missed-barrier",
              "the other threads never come here", "", 64, 32},
        Fault{"BarriersOfTwoBranches",
              "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra L;\nbar.sync 0;\nbra J;\nL:\nbar.sync 0;\nJ:",
              "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra L;\nbar.sync 0;\nbra J;\nL:\nbar.sync 0;\nJ:",
              "ptx-divergent-barrier", "other lanes of this warp wait at line", "", 32, 16},
        Fault{"Endless", "L:\nadd.u32 %r1, %r1, 1;\nbra L;", "add.u32 %r1, %r1, 1;", "ptx-too-long",
              "more than 1000000 warp instructions"},
        Fault{"Trap", "trap;", "setp.gt.u32 %p1, %r1, 99;\n@%p1 trap;", "ptx-trap", "trap"}),
    [](const testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

// A value that was never written may flow, as Triton and LLVM let it, as long as nobody looks.
TEST(UnwrittenRegisters, MatterWhereTheyAreLookedAt) {
  const char* text = R"(
setp.lt.u32 %p1, %r1, 4;
@%p1 mov.b32 %r2, %r1;
shfl.sync.bfly.b32 %r3, %r2, 2, 31, -1;
add.u32 %r4, %r3, %r2;
selp.b32 %r4, %r4, 9, %p1;
{} st.global.b32 [%rd2], {};
)";
  const auto outcome = [&](const char* guard, const char* value) {
    return run(fmt::format(fmt::runtime(text), guard, value));
  };
  EXPECT_EQ(codes(outcome("", "%r4").result), "");
  EXPECT_EQ(codes(outcome("@%p1", "%r3").result), "");
  EXPECT_EQ(codes(outcome("@%p2", "%r1").result), "ptx-unwritten-register");
  const Outcome bad = outcome("", "%r3");
  ASSERT_EQ(codes(bad.result), "ptx-unwritten-register");
  const Finding& finding = bad.result.findings[0];
  EXPECT_EQ(finding.count, 28u);
  EXPECT_NE(describe(finding).find("register %r2, which comes to matter here"), std::string::npos);
  ASSERT_TRUE(finding.clash);
  EXPECT_EQ(finding.clash->ptx_line + 3, finding.site.ptx_line);
}

TEST(Faults, AreFoldedAndCounted) {
  const Outcome outcome = run("ld.global.b32 %r2, [%rd1+0x100000];", {.threads = 64, .blocks = 3});
  ASSERT_EQ(outcome.result.findings.size(), 1u);
  EXPECT_EQ(outcome.result.findings[0].count, 192u);
  EXPECT_EQ(outcome.result.findings[0].site.block[0], 0u);
  EXPECT_EQ(outcome.result.findings[0].site.thread[0], 0u);
}

TEST(Faults, HostsMayProtectAnOperand) {
  const auto module = parse_or_fail(kernel("st.global.b32 [%rd1], 1;\nst.global.b32 [%rd2], 1;"));
  ASSERT_TRUE(module);
  Memory memory;
  const uint64_t in = *memory.allocate(64), out = *memory.allocate(64);
  ASSERT_TRUE(memory.set_read_only(in, true));
  EXPECT_FALSE(memory.set_read_only(in + 8, true));
  const Argument arguments[] = {in, out};
  const auto result = launch(*module, "k", {}, arguments, memory);
  ASSERT_TRUE(result);
  EXPECT_EQ(codes(*result), "ptx-read-only");
  ASSERT_TRUE(memory.set_read_only(in, false));
  EXPECT_TRUE(launch(*module, "k", {}, arguments, memory)->clean());
}

TEST(Faults, NameTheTileOperation) {
  const std::string text = kernel(
      ".loc 1 12 3\nld.global.b32 %r2, [%rd1+0x100000];\n.loc 1 13 1\nst.global.b32 [%rd2], %r2;");
  const auto module = parse_or_fail(text + "\n.file 1 \"gemm.tile\"\n");
  ASSERT_TRUE(module);
  Memory memory;
  const Argument arguments[] = {*memory.allocate(64), *memory.allocate(64)};
  const auto result = launch(*module, "k", {}, arguments, memory);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->findings.size(), 1u);
  EXPECT_EQ(result->findings[0].site.tile_line, 12);
  EXPECT_EQ(result->findings[0].site.tile_file, "gemm.tile");
  const dsl::Error error = to_error(*module, *result);
  EXPECT_EQ(error.road, dsl::Road::check);
  EXPECT_NE(dsl::render(error).find("ld.global.b32 %r2"), std::string::npos);
}

// ---- cp.async ----

constexpr const char* kBuffer = ".shared .align 16 .b8 buffer[4096];";

TEST(AsyncCopy, ArrivesWhenItsGroupIsWaitedFor) {
  const Outcome outcome = run(R"(
mov.u32 %r3, buffer;
mad.lo.u32 %r3, %r1, 32, %r3;
st.shared.b32 [%r3], 1;
st.shared.b32 [%r3+16], 1;
cp.async.ca.shared.global [%r3], [%rd1], 4;
cp.async.commit_group;
cp.async.ca.shared.global [%r3+16], [%rd1+8], 4;
cp.async.commit_group;
ld.shared.b32 %r4, [%r3];
cp.async.wait_group 1;
ld.shared.b32 %r5, [%r3];
ld.shared.b32 %r6, [%r3+16];
cp.async.wait_group 0;
ld.shared.b32 %r7, [%r3+16];
st.global.v4.b32 [%rd2], {%r4, %r5, %r6, %r7};
)",
                              {.checks = Checks::bounds}, std::vector<uint64_t>(256, 9), kBuffer);
  EXPECT_EQ(outcome.out[0], 0x0000000900000001ull);
  EXPECT_EQ(outcome.out[1], 0x0000000900000001ull);
}

TEST(AsyncCopy, FillsWithZeros) {
  const Outcome outcome = run(R"(
mov.u32 %r3, buffer;
mad.lo.u32 %r3, %r1, 32, %r3;
setp.lt.u32 %p1, %r1, 8;
selp.b32 %r4, 8, 0, %p1;
cp.async.cg.shared.global [%r3], [%rd1], 16, %r4;
cp.async.ca.shared.global [%r3+16], [%rd1], 8, %p1;
cp.async.wait_all;
ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r3];
st.global.v4.b32 [%rd2], {%r5, %r6, %r7, %r8};
ld.shared.b64 %rd5, [%r3+16];
st.global.b64 [%rd2+16], %rd5;
)",
                              {}, std::vector<uint64_t>(256, 0x0000000200000001), kBuffer);
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(outcome.out[t * 8], t < 8 ? 0x0000000200000001u : 0u) << t;
    EXPECT_EQ(outcome.out[t * 8 + 1], 0u);
    EXPECT_EQ(outcome.out[t * 8 + 2], t < 8 ? 0u : 0x0000000200000001u);
  }
}

// A source of no bytes is not read, so it may lie anywhere.
TEST(AsyncCopy, DoesNotReadWhatItLeavesOut) {
  const Outcome outcome = run(R"(
mov.u32 %r3, buffer;
mad.lo.u32 %r3, %r1, 16, %r3;
mov.b64 %rd5, 16;
mov.b32 %r4, 0;
cp.async.cg.shared.global [%r3], [%rd5], 16, %r4;
cp.async.wait_all;
ld.shared.b32 %r5, [%r3];
st.global.b32 [%rd2], %r5;
)",
                              {}, {}, kBuffer);
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
}

// Lanes that part keep groups of their own.
TEST(AsyncCopy, CountsGroupsByLane) {
  const Outcome outcome = run(R"(
mov.u32 %r3, buffer;
mad.lo.u32 %r3, %r1, 32, %r3;
st.shared.b32 [%r3], 1;
setp.lt.u32 %p1, %r1, 16;
@!%p1 bra L;
cp.async.commit_group;
L:
cp.async.ca.shared.global [%r3], [%rd1], 4;
cp.async.commit_group;
@!%p1 bra M;
cp.async.commit_group;
M:
cp.async.wait_group 1;
ld.shared.b32 %r5, [%r3];
st.global.b32 [%rd2], %r5;
)",
                              {.checks = Checks::bounds}, std::vector<uint64_t>(256, 9), kBuffer);
  for (size_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], t < 16 ? 9u : 1u) << t;
}

// ---- barriers ----

TEST(Barrier, OrdersWarps) {
  const Outcome outcome = run(R"(
mov.u32 %r3, buffer;
mad.lo.u32 %r4, %r1, 4, %r3;
st.shared.b32 [%r4], %r1;
bar.sync 0;
sub.u32 %r5, 127, %r1;
mad.lo.u32 %r4, %r5, 4, %r3;
ld.shared.b32 %r6, [%r4];
st.global.b32 [%rd2], %r6;
)",
                              {.threads = 128}, {}, kBuffer);
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 0; t < 128; ++t) EXPECT_EQ(outcome.out[t * 8], 127 - t);
  EXPECT_EQ(outcome.result.counters.total.barriers, 4u);
}

TEST(Barrier, ArriveDoesNotWait) {
  const Outcome outcome = run(R"(
mov.u32 %r3, buffer;
setp.ge.u32 %p1, %r1, 32;
@%p1 bra PRODUCER;
bar.sync 1, 64;
ld.shared.b32 %r6, [%r3];
st.global.b32 [%rd2], %r6;
ret;
PRODUCER:
setp.eq.u32 %p2, %r1, 32;
@%p2 st.shared.b32 [%r3], 5;
bar.arrive 1, 64;
)",
                              {.threads = 64}, {}, kBuffer);
  EXPECT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], 5u);
}

TEST(Barrier, OfAWarpWaitsForItsMembers) {
  const Outcome outcome = run(R"(
mov.u32 %r3, buffer;
setp.lt.u32 %p1, %r1, 16;
@%p1 bra LOW;
mad.lo.u32 %r4, %r1, 4, %r3;
st.shared.b32 [%r4], %r1;
bar.warp.sync 0xffffffff;
ret;
LOW:
bar.warp.sync 0xffffffff;
mad.lo.u32 %r4, %r1, 4, %r3;
ld.shared.b32 %r6, [%r4+64];
st.global.b32 [%rd2], %r6;
)",
                              {.checks = Checks::bounds}, {}, kBuffer);
  for (uint32_t t = 0; t < 16; ++t) EXPECT_EQ(outcome.out[t * 8], t + 16);
}

}  // namespace
}  // namespace tilec::ptx::test
