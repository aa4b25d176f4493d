// Whole kernels, from nvcc and from LLVM, against float64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

std::vector<float> uniform(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> of(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = of(random);
  return values;
}

// Products are summed in the order of k with fused multiply-adds, as every kernel here does, so
// that results are equal bit for bit; float64 says whether that is right at all.
void check_product(const std::vector<float>& a, const std::vector<float>& b,
                   const std::vector<float>& c, size_t n) {
  size_t different = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      float fused = 0;
      double exact = 0, magnitude = 0;
      for (size_t k = 0; k < n; ++k) {
        fused = std::fma(a[i * n + k], b[k * n + j], fused);
        exact += static_cast<double>(a[i * n + k]) * b[k * n + j];
        magnitude += std::abs(static_cast<double>(a[i * n + k]) * b[k * n + j]);
      }
      different += fused != c[i * n + j];
      ASSERT_LE(std::abs(c[i * n + j] - exact), static_cast<double>(n) * 0x1p-24 * magnitude)
          << i << " " << j;
    }
  EXPECT_EQ(different, 0u);
}

struct Rung {
  const char* entry;
  std::array<uint32_t, 3> block;
  uint32_t tile;  // blocks along x and y have so many rows and columns
};

class Ladder : public testing::TestWithParam<Rung> {};

TEST_P(Ladder, MultipliesFromNvcc) {
  const auto module = parse_or_fail(read_data("ladder.ptx"));
  ASSERT_TRUE(module);
  const size_t n = 128;
  const std::vector<float> a = uniform(n * n, 1), b = uniform(n * n, 2);
  std::vector<float> c(n * n);
  Memory memory;
  const auto bytes = static_cast<int64_t>(n * n * 4);
  const uint64_t at_a = *memory.allocate(bytes), at_b = *memory.allocate(bytes),
                 at_c = *memory.allocate(bytes);
  ASSERT_TRUE(memory.write(at_a, std::as_bytes(std::span(a))));
  ASSERT_TRUE(memory.write(at_b, std::as_bytes(std::span(b))));
  LaunchConfig config;
  const uint32_t blocks = static_cast<uint32_t>(n) / GetParam().tile;
  config.grid = {blocks, blocks, 1};
  config.block = GetParam().block;
  config.checks = Checks::all;
  const Argument arguments[] = {static_cast<int32_t>(n), at_a, at_b, at_c};
  const auto result = launch(*module, GetParam().entry, config, arguments, memory);
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_TRUE(result->clean()) << describe_all(*result);
  ASSERT_TRUE(memory.read(at_c, std::as_writable_bytes(std::span(c))));
  check_product(a, b, c, n);
  EXPECT_EQ(result->counters.total.fma, n * n * n / 32);
}

INSTANTIATE_TEST_SUITE_P(
    All, Ladder,
    testing::Values(Rung{"rung1_naive", {32, 32, 1}, 32}, Rung{"rung2_coalesced", {32, 32, 1}, 32},
                    Rung{"rung3_shared", {32, 32, 1}, 32}, Rung{"rung4_column", {512, 1, 1}, 64},
                    Rung{"rung5_square", {256, 1, 1}, 128}, Rung{"rung6_vector", {256, 1, 1}, 128},
                    Rung{"rung7_occupancy", {256, 1, 1}, 128},
                    Rung{"rung8_split", {256, 1, 1}, 128}, Rung{"rung9_double", {256, 1, 1}, 128}),
    [](const testing::TestParamInfo<Rung>& info) { return std::string(info.param.entry); });

TEST(Llvm, MultipliesWithAsynchronousCopies) {
  const auto module = parse_or_fail(read_data("llvm_gemm_128x128x8.ptx"));
  ASSERT_TRUE(module);
  const size_t n = 128;
  const std::vector<float> a = uniform(n * n, 3), b = uniform(n * n, 4);
  std::vector<float> c(n * n);
  Memory memory;
  const auto bytes = static_cast<int64_t>(n * n * 4);
  const uint64_t at_a = *memory.allocate(bytes), at_b = *memory.allocate(bytes),
                 at_c = *memory.allocate(bytes);
  ASSERT_TRUE(memory.write(at_a, std::as_bytes(std::span(a))));
  ASSERT_TRUE(memory.write(at_b, std::as_bytes(std::span(b))));
  LaunchConfig config;
  config.block = {256, 1, 1};
  config.dynamic_shared_bytes = 24960;
  config.checks = Checks::all;
  const auto side = static_cast<uint32_t>(n);
  const Argument arguments[] = {at_a, at_b, at_c, side, side, side, 1.0f};
  const auto result = launch(*module, "gemm", config, arguments, memory);
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_TRUE(result->clean()) << describe_all(*result);
  ASSERT_TRUE(memory.read(at_c, std::as_writable_bytes(std::span(c))));
  check_product(a, b, c, n);
  EXPECT_EQ(result->counters.total.fma, n * n * n / 32);
  EXPECT_EQ(result->counters.total.async_bytes, 2 * n * n * 4);
}

TEST(Kernels, DoNotDependOnTheNumberOfHostThreads) {
  const auto module = parse_or_fail(read_data("ladder.ptx"));
  ASSERT_TRUE(module);
  const size_t n = 128;
  const std::vector<float> a = uniform(n * n, 1), b = uniform(n * n, 2);
  std::vector<std::vector<float>> results;
  std::vector<Counters> counters;
  for (int threads : {1, 3}) {
    Memory memory;
    const auto bytes = static_cast<int64_t>(n * n * 4);
    const uint64_t at_a = *memory.allocate(bytes), at_b = *memory.allocate(bytes),
                   at_c = *memory.allocate(bytes);
    ASSERT_TRUE(memory.write(at_a, std::as_bytes(std::span(a))));
    ASSERT_TRUE(memory.write(at_b, std::as_bytes(std::span(b))));
    LaunchConfig config;
    config.grid = {2, 2, 1};
    config.block = {512, 1, 1};
    config.threads = threads;
    const Argument arguments[] = {static_cast<int32_t>(n), at_a, at_b, at_c};
    const auto result = launch(*module, "rung4_column", config, arguments, memory);
    ASSERT_TRUE(result);
    counters.push_back(result->counters);
    results.emplace_back(n * n);
    ASSERT_TRUE(memory.read(at_c, std::as_writable_bytes(std::span(results.back()))));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(counters[0].total.warp_instructions, counters[1].total.warp_instructions);
  EXPECT_EQ(counters[0].total.global_load.sectors, counters[1].total.global_load.sectors);
}

}  // namespace
}  // namespace tilec::ptx::test
