// Kernels that Triton 3.5 made of a few lines of Python, without a GPU: a guarded matrix multiply
// in f32 and, with mma.sync, in f16; a softmax by rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/ptx/small_floats.h"
#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

struct Buffers {
  Memory memory;
  template <class T>
  uint64_t put(const std::vector<T>& values) {
    const uint64_t at = *memory.allocate(static_cast<int64_t>(values.size() * sizeof(T)));
    EXPECT_TRUE(memory.write(at, std::as_bytes(std::span(values))));
    return at;
  }
  std::vector<float> get(uint64_t at, size_t count) {
    std::vector<float> values(count);
    EXPECT_TRUE(memory.read(at, std::as_writable_bytes(std::span(values))));
    return values;
  }
};

std::vector<float> uniform(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> of(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = of(random);
  return values;
}

// m, n, k that no tile divides: guards are at work on all sides.
constexpr int32_t kM = 70, kN = 90, kK = 50;

void expect_product(const char* file, bool half) {
  const auto module = parse_or_fail(read_data(file));
  ASSERT_TRUE(module);
  std::vector<float> a = uniform(kM * kK, 1), b = uniform(kK * kN, 2);
  Buffers buffers;
  uint64_t at_a = 0, at_b = 0;
  if (half) {
    const auto narrow = [](std::vector<float>& values) {
      std::vector<uint16_t> bits;
      for (float& value : values) {
        bits.push_back(static_cast<uint16_t>(to_half(value)));
        value = half_to_float(bits.back());
      }
      return bits;
    };
    at_a = buffers.put(narrow(a));
    at_b = buffers.put(narrow(b));
  } else {
    at_a = buffers.put(a);
    at_b = buffers.put(b);
  }
  const uint64_t at_c = *buffers.memory.allocate(kM * kN * 4);
  LaunchConfig config;
  config.grid = {2, 2, 1};
  config.block = {128, 1, 1};
  config.dynamic_shared_bytes = 16384;
  config.checks = Checks::all;
  const Argument arguments[] = {at_a, at_b, at_c, kM, kN, kK, kK, kN, kN, uint64_t{0}, uint64_t{0}};
  const auto result = launch(*module, "matmul", config, arguments, buffers.memory);
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_TRUE(result->clean()) << describe_all(*result);
  const std::vector<float> c = buffers.get(at_c, kM * kN);
  for (size_t i = 0; i < kM; ++i)
    for (size_t j = 0; j < kN; ++j) {
      double exact = 0, size = 0;
      for (size_t k = 0; k < kK; ++k) {
        exact += static_cast<double>(a[i * kK + k]) * b[k * kN + j];
        size += std::abs(static_cast<double>(a[i * kK + k]) * b[k * kN + j]);
      }
      ASSERT_LE(std::abs(c[i * kN + j] - exact), size * kK * 0x1p-22) << i << " " << j;
    }
}

TEST(Triton, MultipliesInF32) {
  expect_product("triton_matmul_f32.ptx", false);
}
TEST(Triton, MultipliesInF16) {
  expect_product("triton_matmul_f16.ptx", true);
}

TEST(Triton, Softmax) {
  const auto module = parse_or_fail(read_data("triton_softmax.ptx"));
  ASSERT_TRUE(module);
  constexpr int32_t kRows = 3, kColumns = 777, kStride = 800;
  const std::vector<float> x = uniform(kRows * kStride, 3);
  Buffers buffers;
  const uint64_t at_x = buffers.put(x), at_y = buffers.put(std::vector<float>(kRows * kStride));
  LaunchConfig config;
  config.grid = {kRows, 1, 1};
  config.block = {128, 1, 1};
  config.dynamic_shared_bytes = 16;
  config.checks = Checks::all;
  const Argument arguments[] = {at_x, at_y, kColumns, kStride, uint64_t{0}, uint64_t{0}};
  const auto result = launch(*module, "softmax", config, arguments, buffers.memory);
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_TRUE(result->clean()) << describe_all(*result);
  const std::vector<float> y = buffers.get(at_y, kRows * kStride);
  for (size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (size_t i = 0; i < kColumns; ++i)
      sum += std::exp(static_cast<double>(x[row * kStride + i]));
    for (size_t i = 0; i < kStride; ++i)
      ASSERT_NEAR(y[row * kStride + i],
                  i < kColumns ? std::exp(static_cast<double>(x[row * kStride + i])) / sum : 0,
                  1e-8);
  }
}

}  // namespace
}  // namespace tilec::ptx::test
