// Counters against patterns worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

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
  // 16 bytes go by quarter warps, or by halves where lanes share with a neighbour (lane ^ 1) or
  // with the lane beside that (lane ^ 2) throughout. One address for all lanes, and two: 2 passes
  // each (rungs 3 and 8).
  EXPECT_EQ(taken([](uint64_t) { return 0; }, 16), 2u);
  EXPECT_EQ(taken([](uint64_t i) { return i / 16 * 16; }, 16), 2u);
  // 16 neighbouring float4 read by both half warps: 4; at every second float4: 8 (rungs 8 and 6).
  EXPECT_EQ(taken([](uint64_t i) { return i % 16 * 16; }, 16), 4u);
  EXPECT_EQ(taken([](uint64_t i) { return i % 16 * 32; }, 16), 8u);
  // Warp tiles: four addresses, neighbours apart (rung 10: 4, and 2 for the other operand).
  EXPECT_EQ(taken([](uint64_t i) { return i % 4 * 16; }, 16), 4u);
  EXPECT_EQ(taken([](uint64_t i) { return i / 4 * 16; }, 16), 2u);
  EXPECT_EQ(taken([](uint64_t i) { return i / 2 % 2 * 16; }, 16), 2u);
  EXPECT_EQ(taken([](uint64_t i) { return i % 2 * 16; }, 16), 2u);
  // One lane apart from its neighbour is enough to go by quarters; one that stays away is not.
  EXPECT_EQ(taken([](uint64_t i) { return i == 31 ? 16 : 0; }, 16), 4u);
  EXPECT_EQ(taken([](uint64_t i) { return i == 31 ? 16 : 0; }, 16, 0x7FFFFFFF), 2u);
}

// Lane l of the table's kernels has address sum of k[b] over the bits of l: wavefronts.ptx.
TEST(Wavefronts, AreWhatAnH200Took) {
  std::istringstream lines(read_data("wavefronts_h200.txt"));
  std::string line;
  size_t rows = 0;
  while (std::getline(lines, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string kernel, mask, measured;
    std::array<uint64_t, 5> k{};
    words >> kernel;
    for (uint64_t& each : k) words >> each;
    words >> mask >> measured;
    ASSERT_TRUE(words) << line;
    if (measured == "?") continue;
    const auto places = addresses([&](uint64_t lane) {
      uint64_t sum = 0;
      for (size_t bit = 0; bit < k.size(); ++bit) sum += k[bit] * (lane >> bit & 1);
      return sum;
    });
    const auto bytes = static_cast<uint32_t>(std::stoul(kernel.substr(kernel.find('_') + 1)));
    const auto lanes = static_cast<uint32_t>(std::stoul(mask, nullptr, 16));
    EXPECT_EQ(count_wavefronts(places, lanes, bytes).taken, std::stoul(measured)) << line;
    ++rows;
  }
  EXPECT_GE(rows, 5u);
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

TEST(Counters, NameTheBanksAtFault) {
  // Lanes store a column of 32-word rows: every word lies in bank 3, whatever the row it starts at.
  const Outcome outcome = run(R"(
.shared .align 128 .b8 tile[8192];
mov.u32 %r3, tile;
mad.lo.u32 %r4, %r1, 128, %r3;
st.shared.b32 [%r4+12], %r1;
st.shared.b32 [%r4+20], %r1;
)");
  const MemoryCounts& stores = outcome.result.counters.total.shared_store;
  EXPECT_EQ(stores.wavefronts, 64u);
  EXPECT_EQ(stores.conflicts, 62u);
  for (size_t bank = 0; bank < 32; ++bank)
    EXPECT_EQ(stores.bank_conflicts[bank], bank == 3 || bank == 5 ? 31u : 0u) << bank;
}

// One instruction, two rows: the pattern is remembered from the first and turned for the second.
TEST(Counters, TurnTheBanksOfARememberedPattern) {
  const Outcome outcome = run(R"(
.shared .align 128 .b8 tile[16384];
mov.u32 %r3, tile;
mad.lo.u32 %r4, %r1, 128, %r3;
mov.b32 %r5, 0;
LOOP:
st.shared.b32 [%r4], %r1;
add.u32 %r4, %r4, 8;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p1, %r5, 2;
@%p1 bra LOOP;
)");
  const MemoryCounts& stores = outcome.result.counters.total.shared_store;
  for (size_t bank = 0; bank < 32; ++bank)
    EXPECT_EQ(stores.bank_conflicts[bank], bank == 0 || bank == 2 ? 31u : 0u) << bank;
}

TEST(Counters, WeighMultiplyAddsByWhatALaneGets) {
  const Outcome outcome = run(R"(
mov.b32 %r2, 0x3C003C00;
fma.rn.f16x2 %r3, %r2, %r2, %r2;
mov.b64 %rd10, 0;
fma.rn.f32x2 %rd11, %rd10, %rd10, %rd10;
mov.f64 %d1, 0d0000000000000000;
fma.rn.f64 %d2, %d1, %d1, %d1;
mad.lo.u32 %r4, %r2, %r2, %r2;
)");
  EXPECT_EQ(outcome.result.counters.total.multiply_adds, 32u * (2 + 2 + 1));
  EXPECT_EQ(outcome.result.counters.total.fma, 1u);
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
