// Clusters of several blocks on the PTX machine: who they are, their barrier, and each other's
// shared memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

// `body` in blocks of 32 threads, in clusters of `size`; %r10 is the thread's word of `buffer`,
// %r11 the same of the next block of the cluster, %rd9 a word of its own in `out`.
struct Case {
  std::string size = "2, 1, 1";
  std::array<uint32_t, 3> grid{4, 1, 1};
  uint32_t threads = 32;
};

constexpr std::string_view kHead = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.explicitcluster
.reqnctapercluster {}
{{
.reg .pred %p<8>;
.reg .b32 %r<64>;
.reg .b64 %rd<16>;
.shared .align 16 .b8 buffer[1024];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %nctaid.x;
mov.u32 %r4, %ctaid.y;
mad.lo.u32 %r5, %r4, %r3, %r2;
mov.u32 %r6, %ntid.x;
mad.lo.u32 %r7, %r5, %r6, %r1;
mad.wide.u32 %rd9, %r7, 4, %rd1;
mov.u32 %r8, buffer;
mad.lo.u32 %r10, %r1, 4, %r8;
mov.u32 %r12, %cluster_ctarank;
mov.u32 %r13, %cluster_nctarank;
add.u32 %r14, %r12, 1;
rem.u32 %r14, %r14, %r13;
mapa.shared::cluster.u32 %r11, %r10, %r14;
)";

struct Ran {
  std::vector<uint32_t> out;
  LaunchResult result;
  std::string error;
};

Ran run_in(const Case& how, std::string_view body) {
  const std::string text =
      fmt::format(fmt::runtime(kHead), how.size) + std::string(body) + "ret;\n}\n";
  Ran out;
  const auto module = parse({"cluster.ptx", text});
  if (!module) {
    out.error = dsl::render(module.error());
    return out;
  }
  const uint32_t threads = how.grid[0] * how.grid[1] * how.grid[2] * how.threads;
  Memory memory;
  const uint64_t address = *memory.allocate(int64_t{threads} * 4);
  const std::vector<std::byte> zeros(size_t{threads} * 4);
  EXPECT_TRUE(memory.write(address, zeros));
  const LaunchConfig config{.grid = how.grid,
                            .block = {how.threads, 1, 1},
                            .checks = Checks::all,
                            .max_block_instructions = 1'000'000};
  const Argument arguments[] = {address};
  auto result = launch(*module, "k", config, arguments, memory);
  if (!result) {
    out.error = dsl::render(result.error());
    return out;
  }
  out.result = std::move(*result);
  out.out.resize(threads);
  EXPECT_TRUE(memory.read(address, std::as_writable_bytes(std::span(out.out))));
  return out;
}

constexpr const char* kBarrier = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";

TEST(ClusterOfBlocks, KnowsWhereItIs) {
  const Ran ran = run_in({.size = "2, 3, 1", .grid = {4, 6, 1}}, R"(
mov.u32 %r20, %clusterid.x;
mov.u32 %r21, %clusterid.y;
mov.u32 %r22, %nclusterid.x;
mov.u32 %r23, %nclusterid.y;
mov.u32 %r24, %cluster_ctaid.x;
mov.u32 %r25, %cluster_ctaid.y;
mov.u32 %r26, %cluster_nctaid.y;
mov.u32 %r27, %cluster_ctaid.z;
mad.lo.u32 %r30, %r20, 10, %r21;
mad.lo.u32 %r30, %r30, 10, %r22;
mad.lo.u32 %r30, %r30, 10, %r23;
mad.lo.u32 %r30, %r30, 10, %r24;
mad.lo.u32 %r30, %r30, 10, %r25;
mad.lo.u32 %r30, %r30, 10, %r26;
mad.lo.u32 %r30, %r30, 10, %r27;
mad.lo.u32 %r30, %r30, 10, %r12;
st.global.b32 [%rd9], %r30;
)");
  ASSERT_EQ(ran.error, "");
  ASSERT_TRUE(ran.result.clean()) << describe_all(ran.result);
  for (uint32_t y = 0; y < 6; ++y)
    for (uint32_t x = 0; x < 4; ++x) {
      const uint32_t rank = x % 2 + 2 * (y % 3);
      const uint32_t expected =
          ((((((((x / 2) * 10 + y / 3) * 10 + 2) * 10 + 2) * 10 + x % 2) * 10 + y % 3) * 10 + 3) *
               10 * 10 +
           rank);
      EXPECT_EQ(ran.out[(y * 4 + x) * 32], expected) << x << " " << y;
    }
}

std::string reads_neighbour(std::string_view between, std::string_view behind) {
  return fmt::format(R"(
mad.lo.u32 %r20, %r5, 100, %r1;
st.shared.b32 [%r10], %r20;
{}
ld.shared::cluster.b32 %r21, [%r11];
st.global.b32 [%rd9], %r21;
{}
)",
                     between, behind);
}

TEST(ClusterOfBlocks, ReadEachOthersMemoryByAnyAddress) {
  const std::string generic = R"(
mad.lo.u32 %r20, %r5, 100, %r1;
st.shared.b32 [%r10], %r20;
barrier.cluster.arrive.release.aligned;
barrier.cluster.wait.acquire.aligned;
cvt.u64.u32 %rd2, %r10;
cvta.shared.u64 %rd3, %rd2;
mapa.u64 %rd4, %rd3, %r14;
ld.b32 %r21, [%rd4];
getctarank.shared::cluster.u32 %r22, %r11;
getctarank.u32 %r23, %r10;
sub.u32 %r22, %r22, %r14;
sub.u32 %r23, %r23, %r12;
add.u32 %r21, %r21, %r22;
add.u32 %r21, %r21, %r23;
st.global.b32 [%rd9], %r21;
barrier.cluster.arrive.relaxed.aligned;
barrier.cluster.wait.aligned;
)";
  for (const std::string& body : {reads_neighbour(kBarrier, kBarrier), generic}) {
    const Ran ran = run_in({.size = "4, 1, 1", .grid = {8, 1, 1}}, body);
    ASSERT_EQ(ran.error, "");
    ASSERT_TRUE(ran.result.clean()) << describe_all(ran.result);
    for (uint32_t block = 0; block < 8; ++block)
      for (uint32_t t = 0; t < 32; ++t)
        EXPECT_EQ(ran.out[block * 32 + t], (block / 4 * 4 + (block + 1) % 4) * 100 + t);
  }
}

// A fence before a relaxed arrival makes it a release, of what came before the fence.
TEST(ClusterOfBlocks, FencesRelease) {
  const std::string relaxed = "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n";
  for (const char* fence : {"fence.release.sync_restrict::shared::cta.cluster;\n",
                            "fence.acq_rel.cluster;\n", "fence.sc.gpu;\n", "fence.cluster;\n"}) {
    const Ran ran = run_in({}, reads_neighbour(fence + relaxed, relaxed));
    ASSERT_EQ(ran.error, "");
    EXPECT_TRUE(ran.result.clean()) << fence << describe_all(ran.result);
  }
  for (const char* fence : {"fence.acq_rel.cta;\n", "fence.acquire.cluster;\n",
                            "fence.proxy.async;\n", "fence.mbarrier_init.release.cluster;\n"}) {
    const Ran ran = run_in({}, reads_neighbour(fence + relaxed, relaxed));
    ASSERT_EQ(ran.error, "");
    EXPECT_NE(codes(ran.result).find("ptx-shared-race"), std::string::npos) << fence;
  }
  const Ran late = run_in(
      {},
      reads_neighbour("fence.acq_rel.cluster;\nst.shared.b32 [%r10], %r20;\n" + relaxed, relaxed));
  EXPECT_NE(codes(late.result).find("ptx-shared-race"), std::string::npos);
}

TEST(ClusterOfBlocks, WriteEachOthersMemory) {
  const std::string body = fmt::format(R"(
mad.lo.u32 %r20, %r5, 100, %r1;
{0}
st.shared::cluster.b32 [%r11], %r20;
{0}
ld.shared.b32 %r21, [%r10];
st.global.b32 [%rd9], %r21;
)",
                                       kBarrier);
  const Ran ran = run_in({}, body);
  ASSERT_EQ(ran.error, "");
  ASSERT_TRUE(ran.result.clean()) << describe_all(ran.result);
  for (uint32_t block = 0; block < 4; ++block)
    EXPECT_EQ(ran.out[block * 32 + 5], (block ^ 1) * 100 + 5);
}

struct Wrong {
  const char* name;
  std::string body;
  const char* code;
  const char* words;
};

TEST(ClusterOfBlocks, FaultsAreFound) {
  const std::string relaxed = "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n";
  const std::string wrong_rank = std::string(R"(
st.shared.b32 [%r10], %r1;
)") + kBarrier + R"(
mapa.shared::cluster.u32 %r15, %r10, 5;
ld.shared::cluster.b32 %r21, [%r15];
)" + kBarrier;
  const Wrong all[] = {
      {"no barrier", reads_neighbour("", kBarrier), "ptx-unwritten-memory", "never written"},
      {"a block's barrier", reads_neighbour("bar.sync 0;", kBarrier), "ptx-unwritten-memory", ""},
      {"a relaxed arrival", reads_neighbour(relaxed, kBarrier), "ptx-shared-race", "clashes with"},
      {"no barrier at the end", reads_neighbour(kBarrier, ""), "ptx-shared-race", "has ended"},
      {"arrives and does not wait", reads_neighbour(kBarrier, "barrier.cluster.arrive;"),
       "ptx-shared-race", "the block whose shared memory it is"},
      {"waits and has not arrived", reads_neighbour("barrier.cluster.wait;", ""), "ptx-bad-barrier",
       "has not arrived"},
      {"arrives twice", "barrier.cluster.arrive;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n",
       "ptx-bad-barrier", "again before it has waited"},
      {"written over while others read",
       reads_neighbour(kBarrier, "st.shared.b32 [%r10], %r21;\n" + std::string(kBarrier)),
       "ptx-shared-race", "clashes with"},
      {"one block left out",
       "setp.eq.u32 %p1, %r12, 0;\n@%p1 bra DONE;\n" + std::string(kBarrier) + "DONE:\n",
       "ptx-missed-barrier", "of the cluster have left before"},
      {"another's address for a block's own",
       std::string("st.shared.b32 [%r10], %r1;\n") + kBarrier + "ld.shared.b32 %r21, [%r11];\n" +
           kBarrier,
       "ptx-out-of-bounds", ""},
      {"no such block", wrong_rank, "ptx-out-of-bounds", "block 5 of a cluster of 2"},
      {"past the end",
       std::string("st.shared.b32 [%r10], %r1;\n") + kBarrier +
           "ld.shared::cluster.b32 %r21, [%r11+4096];\n" + kBarrier,
       "ptx-out-of-bounds", ""},
      {"a block that spins",
       "setp.eq.u32 %p1, %r12, 0;\n@%p1 bra SKIP;\nbarrier.cluster.arrive;\n"
       "SKIP:\nbarrier.cluster.wait;\n",
       "ptx-bad-barrier", ""},
      {"waits for a barrier of the block",
       "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra SKIP;\n"
       "bar.sync 1, 64;\nSKIP:\n" +
           std::string(kBarrier),
       "ptx-missed-barrier", "never come here"},
  };
  for (const Wrong& wrong : all) {
    const Ran ran = run_in({}, wrong.body);
    ASSERT_EQ(ran.error, "") << wrong.name;
    EXPECT_NE(codes(ran.result).find(wrong.code), std::string::npos)
        << wrong.name << ": " << describe_all(ran.result);
    EXPECT_NE(describe_all(ran.result).find(wrong.words), std::string::npos)
        << wrong.name << ": " << describe_all(ran.result);
  }
}

TEST(ClusterOfBlocks, LaunchesThatDoNotFitAreRefused) {
  EXPECT_NE(run_in({.size = "2, 1, 1", .grid = {3, 1, 1}}, "").error.find("launch-bounds"),
            std::string::npos);
  EXPECT_NE(run_in({.size = "17, 1, 1", .grid = {17, 1, 1}}, "").error.find("launch-bounds"),
            std::string::npos);
  EXPECT_NE(run_in({.size = "0, 1, 1"}, "").error.find("ptx-reqntid"), std::string::npos);
  EXPECT_NE(run_in({}, "barrier.cluster.sync;\n").error.find("ptx-bad-modifier"),
            std::string::npos);
  EXPECT_NE(run_in({}, "mapa.shared::cluster.f32 %r15, %r10, 1;\n").error.find("ptx-bad-modifier"),
            std::string::npos);
}

}  // namespace
}  // namespace tilec::ptx::test
