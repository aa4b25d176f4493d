// Counters against patterns worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/ptx/pattern.h"
#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

using Addresses = Places;

template <class F>
Addresses addresses(F&& of) {
  Addresses at;
  for (uint64_t lane = 0; lane < kLanes; ++lane) at[lane] = of(lane);
  return at;
}

TEST(Sectors, AreCountedOnce) {
  const auto sectors = [](auto of, uint32_t bytes, uint32_t mask = kAllLanes) {
    return count_sectors(addresses(of), mask, bytes);
  };
  EXPECT_EQ(sectors([](uint64_t i) { return i * 4; }, 4), 4u);
  EXPECT_EQ(sectors([](uint64_t i) { return i * 4 + 16; }, 4), 5u);
  EXPECT_EQ(sectors([](uint64_t i) { return i * 16; }, 16), 16u);
  EXPECT_EQ(sectors([](uint64_t) { return 64; }, 4), 1u);
  EXPECT_EQ(sectors([](uint64_t i) { return i * 4096; }, 4), 32u);
  EXPECT_EQ(sectors([](uint64_t i) { return i * 4096; }, 4, 0xF), 4u);
  EXPECT_EQ(sectors([](uint64_t i) { return (31 - i) * 8; }, 8), 8u);
  EXPECT_EQ(sectors([](uint64_t i) { return i % 2 * 1024; }, 4), 2u);
}

// By hand, and by what ncu showed of the ladder on an H200: see count_wavefronts.
TEST(Wavefronts, AreThePassesOverTheBanks) {
  const auto taken = [](auto of, uint32_t bytes, uint32_t mask = kAllLanes) {
    return count_wavefronts(addresses(of), mask, bytes).taken;
  };
  EXPECT_EQ(taken([](uint64_t i) { return i * 4; }, 4), 1u);
  EXPECT_EQ(taken([](uint64_t) { return 0; }, 4), 1u);
  EXPECT_EQ(taken([](uint64_t i) { return i * 8; }, 4), 2u);
  EXPECT_EQ(taken([](uint64_t i) { return i * 128; }, 4), 32u);
  EXPECT_EQ(taken([](uint64_t i) { return i * 132; }, 4), 1u);
  EXPECT_EQ(taken([](uint64_t i) { return i * 128; }, 4, 0x7), 3u);
  EXPECT_EQ(taken([](uint64_t i) { return i * 8; }, 8), 2u);
  EXPECT_EQ(taken([](uint64_t i) { return i * 16; }, 16), 4u);
  // 16-byte loads of one address by all lanes, and of two: 2 passes each (rungs 3 and 8).
  EXPECT_EQ(taken([](uint64_t) { return 0; }, 16), 2u);
  EXPECT_EQ(taken([](uint64_t i) { return i / 16 * 16; }, 16), 2u);
  // 16 neighbouring float4 read by both half warps: 4; at every second float4: 8 (rungs 8 and 6).
  EXPECT_EQ(taken([](uint64_t i) { return i % 16 * 16; }, 16), 4u);
  EXPECT_EQ(taken([](uint64_t i) { return i % 16 * 32; }, 16), 8u);
}

TEST(Counters, AddUpOverAKernel) {
  const Outcome outcome = run(R"(
.shared .align 16 .b8 tile[8192];
setp.lt.u32 %p1, %r1, 8;
mov.u32 %r3, tile;
mad.lo.u32 %r4, %r1, 4, %r3;
mov.b32 %f1, 0f3f800000;
fma.rn.f32 %f2, %f1, %f1, %f1;
@%p1 fma.rn.f32 %f2, %f1, %f1, %f2;
st.shared.f32 [%r4], %f2;
mad.lo.u32 %r5, %r1, 64, %r3;
ld.shared.f32 %f3, [%r4];
@!%p1 bra OUT;
st.shared.f32 [%r5], %f3;
OUT:
st.global.f32 [%rd2], %f3;
)",
                              {.threads = 64, .checks = Checks::bounds});
  const Counts& total = outcome.result.counters.total;
  EXPECT_EQ(total.fma, 4u);
  EXPECT_EQ(total.multiply_adds, 64u + 8);
  EXPECT_EQ(total.predicated_off, 24u + 32 + 8 + 0);  // the fma, and the branch's other lanes
  EXPECT_EQ(total.shared_load.requests, 2u);
  EXPECT_EQ(total.shared_load.wavefronts, 2u);
  EXPECT_EQ(total.shared_load.bytes, 256u);
  EXPECT_EQ(total.shared_store.requests, 3u);
  EXPECT_EQ(total.shared_store.wavefronts, 2u + 4);
  EXPECT_EQ(total.shared_store.conflicts, 3u);
  EXPECT_EQ(total.divergent_branches, 1u);
  EXPECT_EQ(total.global_store.requests, 2u);
  EXPECT_EQ(total.global_store.sectors, 64u);
  EXPECT_EQ(total.global_store.bytes, 256u);
  EXPECT_EQ(outcome.result.counters.warps, 2u);
  uint64_t classes = 0;
  for (uint64_t count : total.by_class) classes += count;
  EXPECT_EQ(classes, total.warp_instructions);
  uint64_t lines = 0;
  for (const LineCounts& line : outcome.result.counters.by_ptx_line)
    lines += line.counts.warp_instructions;
  EXPECT_EQ(lines, total.warp_instructions);
}

TEST(Counters, GoByTileOperation) {
  const auto module = parse_or_fail(kernel(R"(
.loc 1 5 1
mov.b32 %r2, 1;
add.u32 %r2, %r2, 1;
.loc 1 9 1
st.global.b32 [%rd2], %r2;
)") + "\n.file 1 \"gemm.tile\"\n");
  ASSERT_TRUE(module);
  Memory memory;
  const Argument arguments[] = {*memory.allocate(64), *memory.allocate(64)};
  const auto result = launch(*module, "k", {}, arguments, memory);
  ASSERT_TRUE(result);
  std::string text;
  for (const LineCounts& line : result->counters.by_tile_line)
    text += fmt::format("{}:{}={} ", line.file, line.line, line.counts.warp_instructions);
  EXPECT_EQ(text, ":0=9 gemm.tile:5=2 gemm.tile:9=2 ");  // `ret` belongs to line 9 too
}

TEST(Counters, CanBeLeftOut) {
  const auto module = parse_or_fail(kernel("st.global.b32 [%rd2], %r1;"));
  ASSERT_TRUE(module);
  Memory memory;
  const Argument arguments[] = {*memory.allocate(64), *memory.allocate(64)};
  LaunchConfig config;
  config.counters = false;
  const auto result = launch(*module, "k", config, arguments, memory);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->counters.total.warp_instructions, 0u);
}

}  // namespace
}  // namespace tilec::ptx::test
