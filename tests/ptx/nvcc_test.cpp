// What nvcc makes of ordinary CUDA code, against the same functions on the host.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "runtime/ptx/small_floats.h"
#include "tests/ptx/data/breadth_functions.h"
#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

constexpr uint32_t kBlocks = 3, kThreads = 128, kCount = kBlocks * kThreads;

struct Words {
  std::vector<uint32_t> a, b, c;
};

// Random words, every eighth a special one.
Words words() {
  std::mt19937 random(11);
  constexpr uint32_t kSpecial[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2, 31, 0x10000};
  Words made;
  for (uint32_t i = 0; i < kCount; ++i) {
    made.a.push_back(i % 8 == 3 ? kSpecial[i / 8 % 8] : static_cast<uint32_t>(random()));
    made.b.push_back(i % 8 == 5 ? kSpecial[i / 64 % 8] : static_cast<uint32_t>(random()));
  }
  made.c.assign(kCount, 0);
  return made;
}

const Module& module() {
  static const Module kModule = *parse_or_fail(read_data("breadth.ptx"));
  return kModule;
}

struct Call {
  std::vector<Argument> between;  // arguments in the place of b
  int64_t dynamic_shared_bytes = 0;
  Checks checks = Checks::all;
};

Words run_kernel(const std::string& entry, const Call& call = {}) {
  Words made = words();
  Memory memory;
  const auto bytes = static_cast<int64_t>(kCount * 4);
  const uint64_t a = *memory.allocate(bytes), b = *memory.allocate(bytes),
                 c = *memory.allocate(bytes);
  EXPECT_TRUE(memory.write(a, std::as_bytes(std::span(made.a))));
  EXPECT_TRUE(memory.write(b, std::as_bytes(std::span(made.b))));
  EXPECT_TRUE(memory.write(c, std::as_bytes(std::span(made.c))));
  LaunchConfig config;
  config.grid = {kBlocks, 1, 1};
  config.block = {kThreads, 1, 1};
  config.checks = call.checks;
  config.dynamic_shared_bytes = call.dynamic_shared_bytes;
  config.max_block_instructions = 10'000'000;
  std::vector<Argument> arguments{a};
  if (call.between.empty())
    arguments.emplace_back(b);
  else
    arguments.insert(arguments.end(), call.between.begin(), call.between.end());
  arguments.emplace_back(c);
  const auto result = launch(module(), entry, config, arguments, memory);
  if (!result) {
    ADD_FAILURE() << dsl::render(result.error());
    return made;
  }
  EXPECT_TRUE(result->clean()) << describe_all(*result);
  EXPECT_TRUE(memory.read(c, std::as_writable_bytes(std::span(made.c))));
  return made;
}

void expect_same(const std::string& entry, uint32_t (*function)(uint32_t, uint32_t)) {
  const Words made = run_kernel("k_" + entry);
  for (uint32_t i = 0; i < kCount; ++i)
    ASSERT_EQ(made.c[i], function(made.a[i], made.b[i]))
        << fmt::format("{} of {:#x} and {:#x}", entry, made.a[i], made.b[i]);
}

TEST(Nvcc, IntegerFunctions) {
  expect_same("divisions", divisions);
  expect_same("shifts", shifts);
  expect_same("small_integers", small_integers);
}
TEST(Nvcc, Switches) {
  expect_same("choices", choices);
}
TEST(Nvcc, LocalArrays) {
  expect_same("stack", stack);
}
TEST(Nvcc, DeviceFunctions) {
  expect_same("calls", calls);
}
TEST(Nvcc, Doubles) {
  expect_same("doubles", doubles);
}

// The host may not fuse what nvcc fuses, so the last bits are free.
TEST(Nvcc, Floats) {
  const Words made = run_kernel("k_floats");
  uint32_t same = 0;
  for (uint32_t i = 0; i < kCount; ++i) same += made.c[i] == floats(made.a[i], made.b[i]);
  EXPECT_GT(same, kCount / 2);
}

TEST(Nvcc, MathFunctions) {
  const Words made = run_kernel("k_transcendentals");
  for (uint32_t i = 0; i < kCount; ++i) {
    const float exact = transcendentals(made.a[i], made.b[i]);
    ASSERT_NEAR(std::bit_cast<float>(made.c[i]), exact, 1e-4f * std::max(1.0f, std::abs(exact)));
  }
}

TEST(Nvcc, BlockSums) {
  const Words made = run_kernel("k_block_sum");
  for (uint32_t block = 0; block < kBlocks; ++block) {
    uint32_t sum = 0;
    for (uint32_t t = 0; t < kThreads; ++t) sum += made.a[block * kThreads + t];
    EXPECT_EQ(made.c[block * kThreads], sum);
  }
}

TEST(Nvcc, CooperativeGroups) {
  const Words made = run_kernel("k_group_sum");
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t sum = 0;
    for (uint32_t t = i / 8 * 8; t < i / 8 * 8 + 8; ++t) sum += made.a[t];
    ASSERT_EQ(made.c[i], sum) << i;
  }
}

TEST(Nvcc, Histogram) {
  const Words made = run_kernel("k_histogram", {.dynamic_shared_bytes = 256});
  std::vector<uint32_t> bins(64, 0);
  for (uint32_t value : made.a) ++bins[value % 64];
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(made.c[i], bins[i]);
}

TEST(Nvcc, ModuleVariables) {
  constexpr uint32_t kTable[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  const Words made = run_kernel("k_variables");
  for (uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(made.c[i], kTable[made.a[i] % 8] + 40);
}

// A struct by value, an assertion that holds, and printf, which prints nothing here.
TEST(Nvcc, Structs) {
  struct Settings {
    uint32_t scale = 7;
    float offset = 5;
    uint8_t flags[4] = {1, 2, 250, 4};
  } settings;
  const auto bytes = std::as_bytes(std::span(&settings, 1));
  const Words made =
      run_kernel("k_settings", {.between = {std::vector<std::byte>(bytes.begin(), bytes.end())}});
  for (uint32_t i = 0; i < kCount; ++i)
    EXPECT_EQ(made.c[i], made.a[i] * 7 + 5 + settings.flags[i % 4]);
}

TEST(Nvcc, FailedAssertionsTrap) {
  std::vector<std::byte> zeros(12);
  Memory memory;
  const Argument arguments[] = {*memory.allocate(4096), zeros, *memory.allocate(4096)};
  const auto result = launch(module(), "k_settings", {.block = {32, 1, 1}}, arguments, memory);
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_EQ(codes(*result), "ptx-trap");
}

TEST(Nvcc, Halves) {
  const Words made = run_kernel("k_halves");
  const auto half = [](uint32_t word) {
    const float x = half_to_float(to_half(ordinary(word % 50000)));
    return to_half(static_cast<double>(x) * 0.25 + 1.0);
  };
  const auto bfloat = [](uint32_t word) {
    return to_bfloat(static_cast<double>(bfloat_to_float(to_bfloat(ordinary(word)))) * 3.0);
  };
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t halves = half(made.a[i]) | half(made.b[i]) << 16;
    const uint32_t bfloats = bfloat(made.a[i]) | bfloat(made.b[i]) << 16;
    ASSERT_EQ(made.c[i], halves ^ bfloats) << i;
  }
}

TEST(Nvcc, AsynchronousCopiesAndBarriers) {
  for (const char* entry : {"k_pipeline", "k_barrier"}) {
    const Words made = run_kernel(entry);
    for (uint32_t i = 0; i < kCount; ++i)
      ASSERT_EQ(made.c[i], made.a[i / kThreads * kThreads + kThreads - 1 - i % kThreads]) << entry;
  }
}

TEST(Nvcc, Votes) {
  const Words made = run_kernel("k_votes");
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t odd = 0, same = 0;
    for (uint32_t t = i / 32 * 32; t < i / 32 * 32 + 32; ++t) {
      odd += made.a[t] & 1;
      same += made.b[t] % 5 == made.b[i] % 5;
    }
    const uint32_t first =
        made.b[i] == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(made.b[i]) + 1);
    const auto zeros = static_cast<uint32_t>(std::countl_zero(made.a[i]));
    ASSERT_EQ(made.c[i], odd + 64 * same + 4096 + 65536 * 31 + (first ^ zeros) * 0x1000000) << i;
  }
}

}  // namespace
}  // namespace tilec::ptx::test
