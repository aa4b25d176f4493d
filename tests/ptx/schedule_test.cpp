// LaunchConfig::schedule: another order, every block and warp once, and the same again.
#include "runtime/ptx/schedule.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

TEST(Schedule, WithoutSeedNothingChanges) {
  const Schedule plain(std::nullopt, 5);
  EXPECT_FALSE(plain.permutes());
  for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(plain.block(i), i);
}

TEST(Schedule, PermutesBlocks) {
  for (uint64_t blocks : {1, 2, 3, 6, 64, 1000, 30030}) {
    std::set<std::vector<uint64_t>> orders;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Schedule schedule(seed, blocks);
      std::vector<uint64_t> order;
      order.reserve(blocks);
      for (uint64_t i = 0; i < blocks; ++i) order.push_back(schedule.block(i));
      EXPECT_EQ(std::set<uint64_t>(order.begin(), order.end()).size(), blocks);
      EXPECT_LT(*std::max_element(order.begin(), order.end()), blocks);
      orders.insert(order);
    }
    if (blocks > 2) EXPECT_GT(orders.size(), 1U) << blocks;
  }
}

TEST(Schedule, ShufflesWarpsAndKeepsThemAll) {
  const Schedule schedule(7, 4);
  std::vector<uint32_t> warps = {0, 1, 2, 3, 4, 5, 6, 7};
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t round = 0; round < 10; ++round) {
    schedule.shuffle(warps, 3, round);
    EXPECT_EQ(std::set<uint32_t>(warps.begin(), warps.end()).size(), 8U);
    orders.insert(warps);
    for (uint32_t warp : warps) {
      EXPECT_GE(schedule.turn(warp, 3, round), 1U);
      EXPECT_LE(schedule.turn(warp, 3, round), 64U);
    }
  }
  EXPECT_GT(orders.size(), 5U);
}

/// Launches `kernel(body)` with two buffers of 64 bytes a thread.
std::vector<uint64_t> out_of(std::string_view body, std::optional<uint64_t> seed, uint32_t blocks,
                             uint32_t threads, std::string_view declarations = "") {
  const auto module = parse_or_fail(kernel(body, declarations));
  if (!module) return {};
  Memory memory;
  const int64_t bytes = int64_t{64} * blocks * threads;
  const uint64_t in = *memory.allocate(bytes), out = *memory.allocate(bytes);
  std::vector<uint64_t> words(static_cast<size_t>(bytes) / 8);
  EXPECT_TRUE(memory.write(in, std::as_bytes(std::span(words))));
  EXPECT_TRUE(memory.write(out, std::as_bytes(std::span(words))));
  LaunchConfig config{.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .schedule = seed};
  const Argument arguments[] = {in, out};
  const auto result = launch(*module, "k", config, arguments, memory);
  EXPECT_TRUE(result && result->clean()) << (result ? describe_all(*result) : "refused");
  EXPECT_TRUE(memory.read(out, std::as_writable_bytes(std::span(words))));
  return words;
}

// The last warp to store wins, which is a race, and so differs from schedule to schedule.
constexpr std::string_view kLastWins = "ld.param.u64 %rd3, [out]; st.global.u32 [%rd3], %r1; ret;";

TEST(Schedule, ShakesARaceOut) {
  std::set<uint64_t> winners;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    const std::vector<uint64_t> once = out_of(kLastWins, seed, 1, 256);
    EXPECT_EQ(once, out_of(kLastWins, seed, 1, 256)) << "the same seed, another result";
    winners.insert(once[0] / 32);  // the warp
  }
  EXPECT_GT(winners.size(), 3U);
  EXPECT_EQ(out_of(kLastWins, std::nullopt, 1, 256)[0], 255U);
}

// What barriers order comes out the same whatever the schedule.
constexpr std::string_view kReversed =
    "mov.u32 %r2, buffer; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1; bar.sync 0;"
    "sub.u32 %r4, 127, %r1; mad.lo.u32 %r5, %r4, 4, %r2; ld.shared.u32 %r6, [%r5];"
    "st.global.u32 [%rd2], %r6; ret;";

TEST(Schedule, LeavesOrderedKernelsAlone) {
  const char* shared = ".shared .align 4 .b8 buffer[512];";
  const std::vector<uint64_t> plain = out_of(kReversed, std::nullopt, 1, 128, shared);
  EXPECT_EQ(plain[0], 127U);
  for (uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(out_of(kReversed, seed, 1, 128, shared), plain) << seed;
}

}  // namespace
}  // namespace tilec::ptx::test
