// Matrix instructions: fragment layouts by the formulas of the ISA, products against float64, and
// the rule of accumulation.
#include "runtime/ptx/matrix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "runtime/ptx/matrix_math.h"
#include "runtime/ptx/small_floats.h"
#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", and its like: row and
// column of a_i and b_i as the text writes them.
struct Formula {
  const char* name;
  uint32_t rows, per_register, registers;
  uint32_t (*row)(uint32_t group, uint32_t within, uint32_t i);
  uint32_t (*column)(uint32_t group, uint32_t within, uint32_t i);
};

TEST(Fragments, LieWhereTheIsaSays) {
  const Formula formulas[] = {
      {"A of m16n8k8 f16", 16, 2, 2,
       [](uint32_t g, uint32_t, uint32_t i) { return i < 2 ? g : g + 8; },
       [](uint32_t, uint32_t t, uint32_t i) { return t * 2 + (i & 1); }},
      {"A of m16n8k16 f16", 16, 2, 4,
       [](uint32_t g, uint32_t, uint32_t i) { return i < 2 || (i >= 4 && i < 6) ? g : g + 8; },
       [](uint32_t, uint32_t t, uint32_t i) { return t * 2 + (i & 1) + (i < 4 ? 0 : 8); }},
      {"A of m16n8k4 tf32", 16, 1, 2,
       [](uint32_t g, uint32_t, uint32_t i) { return i == 0 ? g : g + 8; },
       [](uint32_t, uint32_t t, uint32_t) { return t; }},
      {"A of m16n8k8 tf32", 16, 1, 4,
       [](uint32_t g, uint32_t, uint32_t i) { return i == 0 || i == 2 ? g : g + 8; },
       [](uint32_t, uint32_t t, uint32_t i) { return i < 2 ? t : t + 4; }},
      {"A of m16n8k32 s8", 16, 4, 4,
       [](uint32_t g, uint32_t, uint32_t i) { return i < 4 || (i >= 8 && i < 12) ? g : g + 8; },
       [](uint32_t, uint32_t t, uint32_t i) { return t * 4 + (i & 3) + (i < 8 ? 0 : 16); }},
      {"A of m8n8k16 s8", 8, 4, 1, [](uint32_t g, uint32_t, uint32_t) { return g; },
       [](uint32_t, uint32_t t, uint32_t i) { return t * 4 + i; }},
      {"B of m16n8k16 f16, as its transpose", 8, 2, 2,
       [](uint32_t g, uint32_t, uint32_t) { return g; },
       [](uint32_t, uint32_t t, uint32_t i) { return t * 2 + (i & 1) + (i < 2 ? 0 : 8); }},
      {"B of m16n8k8 tf32, as its transpose", 8, 1, 2,
       [](uint32_t g, uint32_t, uint32_t) { return g; },
       [](uint32_t, uint32_t t, uint32_t i) { return t + 4 * i; }},
      {"B of m16n8k32 s8, as its transpose", 8, 4, 2,
       [](uint32_t g, uint32_t, uint32_t) { return g; },
       [](uint32_t, uint32_t t, uint32_t i) { return t * 4 + (i & 3) + (i < 4 ? 0 : 16); }},
  };
  for (const Formula& formula : formulas)
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < formula.registers * formula.per_register; ++i) {
        const Place2 place =
            place_in_operand(lane, i / formula.per_register, i % formula.per_register, formula.rows,
                             formula.per_register);
        ASSERT_EQ(place.row, formula.row(lane / 4, lane % 4, i)) << formula.name << " " << i;
        ASSERT_EQ(place.column, formula.column(lane / 4, lane % 4, i)) << formula.name << " " << i;
      }
}

// ---- whole instructions ----

struct Product {
  const char* text;  // of the instruction, after "mma.sync.aligned."
  uint32_t m, k;
  Type type;
  uint32_t a_registers, b_registers;
};

uint32_t encode(double value, Type type) {
  switch (type) {
    case Type::f16:
      return to_half(value);
    case Type::bf16:
      return to_bfloat(value);
    case Type::e4m3:
      return narrow_small(value, kE4m3, SmallRounding::nearest, true);
    case Type::e5m2:
      return narrow_small(value, kE5m2, SmallRounding::nearest, true);
    case Type::tf32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    default:
      return static_cast<uint8_t>(static_cast<int>(value));
  }
}

class Multiply : public testing::TestWithParam<Product> {};

// Small integers, so that every sum is exact whatever its order.
TEST_P(Multiply, GivesTheProduct) {
  const Product& product = GetParam();
  const uint32_t per =
      product.type == Type::tf32 ? 1 : 4 / static_cast<uint32_t>(bytes_of(product.type));
  std::mt19937 random(5);
  std::vector<std::vector<double>> a(product.m, std::vector<double>(product.k)),
      b(product.k, std::vector<double>(8));
  for (auto& row : a)
    for (double& value : row)
      value = static_cast<int>(random() % 7) - (product.type == Type::u8 ? 0 : 3);
  for (auto& row : b)
    for (double& value : row) value = static_cast<int>(random() % 5);
  std::vector<uint64_t> in(32 * 8, 0);
  const auto pack = [&](auto at, uint32_t lane, uint32_t registers, uint32_t rows, uint32_t first) {
    for (uint32_t r = 0; r < registers; ++r) {
      uint32_t bits = 0;
      for (uint32_t e = 0; e < per; ++e) {
        const Place2 place = place_in_operand(lane, r, e, rows, per);
        bits |= encode(at(place.row, place.column), product.type) << (32 / per * e);
      }
      const uint32_t word = first + r;
      in[lane * 8 + word / 2] |= uint64_t{bits} << (32 * (word % 2));
    }
  };
  for (uint32_t lane = 0; lane < 32; ++lane) {
    pack([&](uint32_t row, uint32_t k) { return a[row][k]; }, lane, product.a_registers, product.m,
         0);
    pack([&](uint32_t n, uint32_t k) { return b[k][n]; }, lane, product.b_registers, 8, 4);
  }
  const bool integer = product.type == Type::s8 || product.type == Type::u8;
  const uint32_t elements = product.m / 4;
  const auto list = [](const char* stem, uint32_t from, uint32_t count) {
    std::string text;
    for (uint32_t i = 0; i < count; ++i)
      text += fmt::format("{}%{}{}", i ? ", " : "", stem, from + i);
    return "{" + text + "}";
  };
  const char* stem = integer ? "r" : "f";
  std::string body =
      "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];\n"
      "ld.global.v4.b32 {%r14, %r15, %r16, %r17}, [%rd1+16];\n";
  for (uint32_t i = 0; i < elements; ++i)
    body += integer ? fmt::format("mov.b32 %r{}, {};\n", 20 + i, i + 1)
                    : fmt::format("mov.f32 %f{}, {}.0;\n", 20 + i, i + 1);
  body += fmt::format("mma.sync.aligned.{} {}, {}, {}, {};\n", product.text,
                      list(stem, 24, elements), list("r", 10, product.a_registers),
                      list("r", 14, product.b_registers), list(stem, 20, elements));
  for (uint32_t i = 0; i < elements; ++i)
    body += fmt::format("st.global.{} [%rd2+{}], %{}{};\n", integer ? "b32" : "f32", 8 * i, stem,
                        24 + i);
  const Outcome outcome = run(body, {}, in);
  ASSERT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < elements; ++i) {
      const Place2 place = place_in_accumulator(lane, i);
      double exact = i + 1;
      for (uint32_t k = 0; k < product.k; ++k) exact += a[place.row][k] * b[k][place.column];
      const auto bits = static_cast<uint32_t>(outcome.out[lane * 8 + i]);
      ASSERT_EQ(integer ? static_cast<int32_t>(bits) : std::bit_cast<float>(bits), exact)
          << "lane " << lane << " element " << i;
    }
  EXPECT_EQ(outcome.result.counters.total.multiply_adds, product.m * 8 * product.k);
  EXPECT_EQ(outcome.result.counters.total.by_class[static_cast<size_t>(InstructionClass::matrix)],
            1u);
}

INSTANTIATE_TEST_SUITE_P(
    All, Multiply,
    testing::Values(Product{"m16n8k8.row.col.f32.f16.f16.f32", 16, 8, Type::f16, 2, 1},
                    Product{"m16n8k16.row.col.f32.f16.f16.f32", 16, 16, Type::f16, 4, 2},
                    Product{"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, Type::bf16, 4, 2},
                    Product{"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, Type::bf16, 2, 1},
                    Product{"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, Type::tf32, 2, 1},
                    Product{"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, Type::tf32, 4, 2},
                    Product{"m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 32, Type::e4m3, 4, 2},
                    Product{"m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 32, Type::e5m2, 4, 2},
                    Product{"m8n8k16.row.col.s32.s8.s8.s32", 8, 16, Type::s8, 1, 1},
                    Product{"m16n8k16.row.col.s32.u8.u8.s32", 16, 16, Type::u8, 2, 1},
                    Product{"m16n8k32.row.col.satfinite.s32.s8.s8.s32", 16, 32, Type::s8, 4, 2}));

TEST(MultiplyHalf, AccumulatesInHalf) {
  const Outcome outcome = run(R"(
mov.b32 %r10, 0x3C003C00;
mov.b32 %r11, 0x40004000;
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r12, %r13}, {%r10, %r11}, {%r10}, {%r10, %r11};
st.global.v2.b32 [%rd2], {%r12, %r13};
)");
  // 8 * 1 * 1 + 1, and 8 * 2 * 1 + 2.
  EXPECT_EQ(outcome.out[0], 0x4C804C8048804880u);
}

TEST(MultiplyDouble, IsFused) {
  const Outcome outcome = run(R"(
mov.f64 %d1, 0d3FF0000000000000;
mov.f64 %d2, 0d4000000000000000;
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3, %d4}, {%d1}, {%d2}, {%d1, %d2};
st.global.f64 [%rd2], %d3;
st.global.f64 [%rd2+8], %d4;
)");
  EXPECT_EQ(std::bit_cast<double>(outcome.out[0]), 9.0);
  EXPECT_EQ(std::bit_cast<double>(outcome.out[1]), 10.0);
}

TEST(MultiplyInteger, Saturates) {
  const char* text = R"(
mov.b32 %r10, 0x7F7F7F7F;
mov.b32 %r12, 0x7FFFFFFF;
mma.sync.aligned.m8n8k16.row.col{}.s32.s8.s8.s32 {{%r20, %r21}}, {{%r10}}, {{%r10}}, {{%r12, %r12}};
st.global.b32 [%rd2], %r20;
)";
  EXPECT_EQ(run(fmt::format(fmt::runtime(text), ".satfinite")).out[0], 0x7FFFFFFFu);
  EXPECT_EQ(run(fmt::format(fmt::runtime(text), "")).out[0], 0x7FFFFFFFu + 127u * 127 * 16);
}

TEST(Accumulate, CutsOffAndKeepsSpecialValues) {
  const AccumulateRule rule = accumulate_rule(Type::f16, Type::f32);
  const auto sum = [&](std::vector<double> a, std::vector<double> b, float c) {
    return tensor_sum(a, b, c, rule);
  };
  EXPECT_EQ(sum({1, 2}, {3, 4}, 5), 16);
  // A term more than 25 bits below the largest is lost, though 2^24 of them would not be nothing.
  EXPECT_EQ(sum({1}, {std::ldexp(1.0, -3)}, 0x1p30f), 0x1p30f);
  // Cancellation: the terms are aligned before they are added, so the small one is cut, not
  // rounded.
  EXPECT_EQ(sum({1024, -1024, std::ldexp(1.0, -14)}, {1024, 1024, 1}, 0), 0.0f);
  EXPECT_EQ(sum({1, -1, 0.25}, {1, 1, 1}, 0), 0.25f);
  // Rounded towards zero, not to nearest.
  EXPECT_EQ(sum({1}, {0.75}, 0x1p24f), 0x1p24f);
  EXPECT_EQ(sum({-1}, {0.75}, -0x1p24f), -0x1p24f);
  EXPECT_TRUE(std::isinf(sum({HUGE_VAL}, {1}, 0)));
  EXPECT_TRUE(std::isnan(sum({HUGE_VAL, HUGE_VAL}, {1, -1}, 0)));
  EXPECT_EQ(std::bit_cast<uint32_t>(sum({HUGE_VAL}, {0}, 0)), 0x7FFFFFFFu);
  // Close to float64 in any case: within a unit in the last place of the largest term a group.
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> a(32), b(32);
    double exact = 0, largest = 0;
    for (size_t i = 0; i < 32; ++i) {
      a[i] = widen_small(static_cast<uint32_t>(random()) % 0x7800, kHalf) * (random() % 2 ? 1 : -1);
      b[i] = widen_small(static_cast<uint32_t>(random()) % 0x4000, kHalf);
      exact += a[i] * b[i];
      largest = std::max({largest, std::abs(exact), std::abs(a[i] * b[i])});
    }
    EXPECT_NEAR(sum(a, b, 0), exact, largest * 0x1p-22 * 4);
  }
}

TEST(Accumulate, AlignsSubnormalsAsTheLeastNormal) {
  const AccumulateRule rule = accumulate_rule(Type::f16, Type::f32);
  const auto sum = [&](double a, double b, float c) {
    return tensor_sum(std::vector{a}, std::vector{b}, c, rule);
  };
  // The same product of 2^-9; beside a subnormal factor there is no room for 2^-26.
  EXPECT_EQ(sum(0x1p-9, 1, 0x1p-26f), 0x1p-9f + 0x1p-26f);
  EXPECT_EQ(sum(0x1p-24, 0x1p15, 0x1p-26f), 0x1p-9f);
}

TEST(Accumulate, TakesBytesByPairsAndTheAccumulatorLast) {
  const AccumulateRule rule = accumulate_rule(Type::e4m3, Type::f32);
  const auto sum = [&](std::vector<double> a, std::vector<double> b, float c) {
    return tensor_sum(a, b, c, rule);
  };
  // The first two cancel before the next two come.
  EXPECT_EQ(sum({256, 256, 0x1p-6, 0}, {256, -256, 0x1p-6, 0}, 0), 0x1p-12f);
  EXPECT_EQ(sum({256, 0x1p-6, 256, 0}, {256, 0x1p-6, -256, 0}, 0), 0.0f);
  // Rounded to nearest where the accumulator is added.
  EXPECT_EQ(sum({1, 0, 0, 0}, {1.5, 0, 0, 0}, 0x1p24f), 0x1p24f + 2);
  const AccumulateRule halves = accumulate_rule(Type::e5m2, Type::f16);
  EXPECT_EQ(
      tensor_sum(std::vector<double>{1, 0, 1, 0}, std::vector<double>{2048, 0, 1, 0}, 1, halves),
      2048);  // 2048 + 1 in f16, twice
}

// ---- ldmatrix, stmatrix, movmatrix ----

constexpr const char* kTile = ".shared .align 16 .b8 tile[512];";

TEST(MatrixAccess, LoadsAndTransposes) {
  const Outcome outcome = run(R"(
mov.u32 %r3, tile;
mad.lo.u32 %r4, %r1, 16, %r3;
shl.b32 %r5, %r1, 3;
mov.b32 %r6, 0;
FILL:
add.u32 %r7, %r5, %r6;
cvt.u16.u32 %h1, %r7;
mad.lo.u32 %r8, %r6, 2, %r4;
st.shared.b16 [%r8], %h1;
add.u32 %r6, %r6, 1;
setp.lt.u32 %p1, %r6, 8;
@%p1 bra FILL;
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r4];
ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r14}, [%r4];
movmatrix.sync.aligned.m8n8.trans.b16 %r15, %r10;
st.global.v4.b32 [%rd2], {%r10, %r11, %r12, %r13};
st.global.v2.b32 [%rd2+16], {%r14, %r15};
)",
                              {}, {}, kTile);
  ASSERT_TRUE(outcome.result.clean()) << describe_all(outcome.result);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const auto word = [&](uint32_t index) {
      return static_cast<uint32_t>(outcome.out[lane * 8 + index / 2] >> (32 * (index % 2)));
    };
    for (uint32_t matrix = 0; matrix < 4; ++matrix) {
      const uint32_t first = (matrix * 8 + lane / 4) * 8 + lane % 4 * 2;
      EXPECT_EQ(word(matrix), first | (first + 1) << 16);
    }
    const uint32_t column = lane / 4, row = lane % 4 * 2;
    EXPECT_EQ(word(4), (row * 8 + column) | ((row + 1) * 8 + column) << 16);
    EXPECT_EQ(word(5), word(4));
  }
}

TEST(MatrixAccess, StoresWhatItLoads) {
  const Outcome outcome = run(R"(
mov.u32 %r3, tile;
mad.lo.u32 %r4, %r1, 16, %r3;
mul.lo.u32 %r5, %r1, 0x00010001;
stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r4], {%r5, %r1};
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r6, %r7}, [%r4];
st.global.v2.b32 [%rd2], {%r6, %r7};
)",
                              {.checks = Checks::bounds}, {}, kTile);
  for (uint64_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(outcome.out[lane * 8], lane * 0x00010001 | lane << 32);
}

TEST(MatrixAccess, FaultsAreFound) {
  const char* text = R"(
mov.u32 %r3, tile;
mad.lo.u32 %r4, %r1, {}, %r3;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r4];
)";
  const auto found = [&](int stride, Checks checks) {
    return codes(
        run(fmt::format(fmt::runtime(text), stride), {.checks = checks}, {}, kTile).result);
  };
  EXPECT_EQ(found(16, Checks::bounds), "");
  EXPECT_EQ(found(16, Checks::all), "ptx-unwritten-memory");
  EXPECT_EQ(found(8, Checks::bounds), "ptx-misaligned");
  EXPECT_EQ(found(32, Checks::bounds), "ptx-out-of-bounds");
}

}  // namespace
}  // namespace tilec::ptx::test
