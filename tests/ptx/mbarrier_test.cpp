// mbarriers, bulk copies, reductions at barriers, clusters of one block.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/ptx/mbarriers.h"
#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

TEST(Mbarrier, WordsRoundTrip) {
  for (const MbarrierState& state :
       {MbarrierState{1, 1, 0, false}, MbarrierState{kMaxArrivals, 7, -5, true},
        MbarrierState{0, kMaxArrivals, (1 << 20) - 1, true}}) {
    const MbarrierState back = MbarrierState::unpack(state.pack());
    EXPECT_EQ(back.pending, state.pending);
    EXPECT_EQ(back.expected, state.expected);
    EXPECT_EQ(back.bytes, state.bytes);
    EXPECT_EQ(back.phase, state.phase);
  }
}

constexpr const char* kShared =
    ".shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n"
    ".shared .align 16 .b8 buffer[4096];";

// Warp 1 fills a buffer again and again, warp 0 adds it up: two mbarriers, phases by parity.
constexpr const char* kRing = R"(
mov.u32 %r2, full;
mov.u32 %r3, empty;
mov.u32 %r4, buffer;
setp.eq.u32 %p1, %r1, 0;
@!%p1 bra READY;
mbarrier.init.shared.b64 [%r2], 32;
mbarrier.init.shared::cta.b64 [%r3], 32;
READY:
bar.sync 0;
mov.b32 %r10, 0;
mov.b32 %r11, 0;
setp.ge.u32 %p2, %r1, 32;
@%p2 bra PRODUCER;
CONSUMER:
and.b32 %r12, %r10, 1;
WAIT_FULL:
mbarrier.try_wait.parity.shared.b64 %p3, [%r2], %r12;
@!%p3 bra WAIT_FULL;
xor.b32 %r13, %r1, 31;
mad.lo.u32 %r14, %r13, 4, %r4;
ld.shared.b32 %r15, [%r14];
add.u32 %r11, %r11, %r15;
{}
add.u32 %r10, %r10, 1;
setp.lt.u32 %p4, %r10, 4;
@%p4 bra CONSUMER;
st.global.b32 [%rd2], %r11;
ret;
PRODUCER:
setp.eq.u32 %p5, %r10, 0;
@%p5 bra FILL;
sub.u32 %r12, %r10, 1;
and.b32 %r12, %r12, 1;
WAIT_EMPTY:
mbarrier.test_wait.parity.shared.b64 %p3, [%r3], %r12;
@!%p3 bra WAIT_EMPTY;
FILL:
sub.u32 %r13, %r1, 32;
mad.lo.u32 %r14, %r13, 4, %r4;
add.u32 %r15, %r13, %r10;
st.shared.b32 [%r14], %r15;
mbarrier.arrive.shared.b64 _, [%r2];
add.u32 %r10, %r10, 1;
setp.lt.u32 %p4, %r10, 4;
@%p4 bra PRODUCER;
)";

TEST(Mbarrier, PassesARingOn) {
  const Outcome outcome =
      run(fmt::format(fmt::runtime(kRing), "mbarrier.arrive.shared.b64 %rd20, [%r3];"),
          {.threads = 64}, {}, kShared);
  ASSERT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], 4 * (31 - t) + 6) << t;
}

// The consumer gives the buffer back before it has read it: the next filling may overwrite.
TEST(Mbarrier, DoesNotHideARace) {
  std::string text = fmt::format(fmt::runtime(kRing), "");
  const std::string read = "xor.b32 %r13, %r1, 31;";
  text.replace(text.find(read), read.size(), "mbarrier.arrive.shared.b64 %rd20, [%r3];\n" + read);
  const Outcome outcome = run(text, {.threads = 64}, {}, kShared);
  EXPECT_EQ(codes(outcome.result), "ptx-shared-race") << describe_all(outcome.result);
}

TEST(Mbarrier, CountsStatesAndDrops) {
  const Outcome outcome = run(R"(
mov.u32 %r2, full;
mbarrier.init.shared.b64 [%r2], 3;
mbarrier.arrive.shared.b64 %rd10, [%r2];
mbarrier.pending_count.b64 %r3, %rd10;
mbarrier.test_wait.shared.b64 %p1, [%r2], %rd10;
mbarrier.arrive.noComplete.shared.b64 %rd11, [%r2], 1;
mbarrier.arrive_drop.shared.b64 %rd11, [%r2];
mbarrier.test_wait.shared.b64 %p2, [%r2], %rd10;
mbarrier.arrive.shared.b64 %rd12, [%r2], 2;
mbarrier.test_wait.shared.b64 %p3, [%r2], %rd12;
selp.b32 %r4, 1, 0, %p1;
@%p2 or.b32 %r4, %r4, 2;
@%p3 or.b32 %r4, %r4, 4;
st.global.v2.b32 [%rd2], {%r3, %r4};
mbarrier.inval.shared.b64 [%r2];
)",
                              {.threads = 1}, {}, kShared);
  ASSERT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  EXPECT_EQ(outcome.out[0], 3u | uint64_t{6} << 32);
}

TEST(Mbarrier, MisuseIsFound) {
  EXPECT_EQ(codes(run("mov.u32 %r2, full;\nmbarrier.arrive.shared.b64 _, [%r2];", {.threads = 1},
                      {}, kShared)
                      .result),
            "ptx-bad-barrier");
  EXPECT_EQ(codes(run("mov.u32 %r2, full;\nmbarrier.init.shared.b64 [%r2], 0;", {.threads = 1}, {},
                      kShared)
                      .result),
            "ptx-bad-barrier");
  EXPECT_EQ(codes(run("mov.u32 %r2, full;\nmbarrier.init.shared.b64 [%r2+4], 1;", {.threads = 1},
                      {}, kShared)
                      .result),
            "ptx-misaligned");
}

// Copies of a thread arrive on an mbarrier; others wait for them there.
TEST(Mbarrier, TakesAsynchronousCopies) {
  const Outcome outcome = run(
      R"(
mov.u32 %r2, full;
mov.u32 %r4, buffer;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r2], 64;
bar.sync 0;
mad.lo.u32 %r5, %r1, 4, %r4;
cp.async.ca.shared.global [%r5], [%rd1], 4;
cp.async.mbarrier.arrive.noinc.shared.b64 [%r2];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;
@!%p3 bra WAIT;
xor.b32 %r13, %r1, 63;
mad.lo.u32 %r14, %r13, 4, %r4;
ld.shared.b32 %r15, [%r14];
st.global.b32 [%rd2], %r15;
)",
      {.threads = 64},
      [] {
        std::vector<uint64_t> in(512, 0);
        for (size_t t = 0; t < 64; ++t) in[t * 8] = t + 5;
        return in;
      }(),
      kShared);
  ASSERT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(outcome.out[t * 8], 63 - t + 5);
}

constexpr const char* kBulk = R"(
mov.u32 %r2, full;
mov.u32 %r4, buffer;
setp.eq.u32 %p1, %r1, 0;
@!%p1 bra READY;
mbarrier.init.shared.b64 [%r2], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 256, [%r2];
READY:
bar.sync 0;
{}
mad.lo.u32 %r14, %r1, 8, %r4;
ld.shared.b64 %rd10, [%r14];
st.global.b64 [%rd2], %rd10;
bar.sync 0;
@!%p1 bra DONE;
ld.param.u64 %rd11, [out];
cp.async.bulk.global.shared::cta.bulk_group [%rd11], [%r4], 64;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
DONE:
)";
constexpr const char* kWait = R"(
WAIT:
mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;
@!%p3 bra WAIT;
)";

std::vector<uint64_t> counted(size_t words) {
  std::vector<uint64_t> in(words);
  for (size_t i = 0; i < words; ++i) in[i] = i + 100;
  return in;
}

TEST(Bulk, ArrivesOnItsMbarrier) {
  const Outcome outcome =
      run(fmt::format(fmt::runtime(kBulk), kWait), {.threads = 32}, counted(256), kShared);
  ASSERT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 1; t < 32; ++t) EXPECT_EQ(outcome.out[t * 8], t + 100) << t;
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(outcome.out[i], i + 100);
  EXPECT_EQ(outcome.result.counters.total.async_bytes, 256u + 64);
}

TEST(Bulk, IsNotThereBeforeItIsWaitedFor) {
  const Outcome outcome =
      run(fmt::format(fmt::runtime(kBulk), ""), {.threads = 32}, counted(256), kShared);
  EXPECT_NE(codes(outcome.result).find("ptx-not-waited-for"), std::string::npos)
      << describe_all(outcome.result);
}

TEST(Bulk, FaultsAreFound) {
  const auto found = [](std::string_view change, std::string_view to) {
    std::string text = fmt::format(fmt::runtime(kBulk), kWait);
    const size_t at = text.find(change);
    text.replace(at, change.size(), to);
    return codes(
        run(text, {.threads = 32, .max_block_instructions = 20'000}, counted(256), kShared).result);
  };
  EXPECT_NE(found("[%rd1], 256", "[%rd1+2048], 256").find("ptx-out-of-bounds"), std::string::npos);
  EXPECT_NE(found("[%rd1], 256", "[%rd1+8], 256").find("ptx-misaligned"), std::string::npos);
  EXPECT_NE(found("[%rd1], 256", "[%rd1], 250").find("ptx-bad-barrier"), std::string::npos);
  // Bytes that never come: the wait is for ever.
  EXPECT_NE(found("_, [%r2], 256", "_, [%r2], 512").find("ptx-too-long"), std::string::npos);
}

TEST(Barrier, Reduces) {
  const Outcome outcome = run(R"(
setp.lt.u32 %p1, %r1, 40;
bar.red.popc.u32 %r2, 0, %p1;
barrier.cta.red.popc.aligned.u32 %r3, 1, 64, !%p1;
bar.red.and.pred %p2, 0, %p1;
bar.red.or.pred %p3, 0, %p1;
@%p2 add.u32 %r3, %r3, 100;
@%p3 add.u32 %r3, %r3, 200;
st.global.v2.b32 [%rd2], {%r2, %r3};
)",
                              {.threads = 64});
  ASSERT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(outcome.out[t * 8], 40 | uint64_t{224} << 32);
}

TEST(Cluster, OfOneBlock) {
  const Outcome outcome = run(R"(
barrier.cluster.arrive.release.aligned;
barrier.cluster.wait.acquire.aligned;
mov.u32 %r2, buffer;
mapa.shared::cluster.u32 %r3, %r2, 0;
sub.u32 %r3, %r3, %r2;
mov.u32 %r4, %cluster_nctaid.x;
add.u32 %r3, %r3, %r4;
getctarank.shared::cluster.u32 %r5, %r2;
add.u32 %r3, %r3, %r5;
cvt.u64.u32 %rd10, %r2;
cvta.shared.u64 %rd11, %rd10;
isspacep.shared %p1, %rd11;
isspacep.global %p2, %rd11;
isspacep.global %p3, %rd1;
isspacep.local %p4, %rd11;
@%p1 add.u32 %r3, %r3, 10;
@%p2 add.u32 %r3, %r3, 100;
@%p3 add.u32 %r3, %r3, 1000;
@%p4 add.u32 %r3, %r3, 10000;
createpolicy.fractional.L2::evict_first.b64 %rd12, 1.0;
ld.global.L2::cache_hint.b32 %r6, [%rd1], %rd12;
griddepcontrol.wait;
setmaxnreg.inc.sync.aligned.u32 240;
prefetch.global.L2 [%rd1];
nanosleep.u32 100;
st.global.b32 [%rd2], %r3;
)",
                              {}, {}, kShared);
  ASSERT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  EXPECT_EQ(outcome.out[0], 1011u);
}

}  // namespace
}  // namespace tilec::ptx::test
