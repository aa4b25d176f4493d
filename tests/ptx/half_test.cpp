// Small floating-point formats: against exhaustive conversion, and instructions by rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "runtime/ptx/small_floats.h"
#include "tests/ptx/rows.h"

namespace tilec::ptx::test {
namespace {

uint64_t f(float value) {
  return std::bit_cast<uint32_t>(value);
}
uint64_t d(double value) {
  return std::bit_cast<uint64_t>(value);
}

TEST(SmallFloats, WidenAndNarrowAreInverse) {
  const auto check = [](const SmallFormat& format, uint32_t count) {
    for (uint32_t bits = 0; bits < count; ++bits) {
      const double value = widen_small(bits, format);
      if (std::isnan(value)) continue;
      ASSERT_EQ(narrow_small(value, format, SmallRounding::nearest, false), bits) << bits;
    }
  };
  check(kHalf, 1 << 16);
  check(kBfloat, 1 << 16);
  check(kE4m3, 1 << 8);
  check(kE5m2, 1 << 8);
}

TEST(SmallFloats, RoundEachWay) {
  const double step = std::ldexp(1.0, -10);  // of f16 at 1
  const auto half = [](double value, SmallRounding rounding) {
    return narrow_small(value, kHalf, rounding, false);
  };
  EXPECT_EQ(half(1 + step / 2, SmallRounding::nearest), 0x3C00u);
  EXPECT_EQ(half(1 + step * 1.5, SmallRounding::nearest), 0x3C02u);
  EXPECT_EQ(half(1 + step / 2, SmallRounding::nearest_away), 0x3C01u);
  EXPECT_EQ(half(1 + step * 0.9, SmallRounding::to_zero), 0x3C00u);
  EXPECT_EQ(half(-1 - step * 0.1, SmallRounding::down), 0xBC01u);
  EXPECT_EQ(half(-1 - step * 0.9, SmallRounding::up), 0xBC00u);
  EXPECT_EQ(half(65520, SmallRounding::nearest), 0x7C00u);
  EXPECT_EQ(half(65519, SmallRounding::nearest), 0x7BFFu);
  EXPECT_EQ(half(1e9, SmallRounding::to_zero), 0x7BFFu);
  EXPECT_EQ(half(std::ldexp(1.0, -25), SmallRounding::nearest), 0u);
  EXPECT_EQ(half(std::ldexp(1.1, -25), SmallRounding::nearest), 1u);
  EXPECT_EQ(half(std::nan(""), SmallRounding::nearest), 0x7FFFu);
  EXPECT_EQ(narrow_small(1e9, kE4m3, SmallRounding::nearest, true), 0x7Eu);
  EXPECT_EQ(narrow_small(-HUGE_VAL, kE4m3, SmallRounding::nearest, true), 0xFEu);
  EXPECT_EQ(narrow_small(1e9, kE4m3, SmallRounding::nearest, false), 0x7Fu);
  EXPECT_EQ(narrow_small(1e9, kE5m2, SmallRounding::nearest, true), 0x7Bu);
  EXPECT_EQ(widen_small(0x7E, kE4m3), 448);
  EXPECT_EQ(widen_small(0x7B, kE5m2), 57344);
}

TEST(Half, Arithmetic) {
  for (const Row& row : std::initializer_list<Row>{
           {"add.f16 d, a, b", "hhh", 0x3C00, 0x4000, 0, 0x4200},
           {"add.rn.f16x2 d, a, b", "rrr", 0x3C003C00, 0x40003C00, 0, 0x42004000},
           {"sub.f16 d, a, b", "hhh", 0x3C00, 0x3C00, 0, 0},
           {"mul.f16 d, a, b", "hhh", 0x7BFF, 0x4000, 0, 0x7C00},
           {"mul.sat.f16 d, a, b", "hhh", 0x4000, 0x4000, 0, 0x3C00},
           {"add.ftz.f16 d, a, b", "hhh", 0x0001, 0x0001, 0, 0},
           {"add.f16 d, a, b", "hhh", 0x0001, 0x0001, 0, 0x0002},
           {"sub.f16 d, a, b", "hhh", 0x7C00, 0x7C00, 0, 0x7FFF},
           {"fma.rn.f16 d, a, b, c", "hhhh", 0x3C00, 0x4000, 0x4200, 0x4500},
           {"fma.rn.relu.f16 d, a, b, c", "hhhh", 0xBC00, 0x4000, 0, 0},
           {"fma.rn.f16x2 d, a, b, c", "rrrr", 0x3C004000, 0x40004000, 0x3C003C00, 0x42004500},
           // (1 + 3/1024)^2 - 1: the product is not rounded before the sum.
           {"fma.rn.f16 d, a, b, c", "hhhh", 0x3C03, 0x3C03, 0xBC00, 0x1E02},
           {"add.bf16 d, a, b", "hhh", 0x3F80, 0x4000, 0, 0x4040},
           {"mul.bf16x2 d, a, b", "rrr", 0x40003F80, 0x40004000, 0, 0x40804000},
           {"fma.rn.bf16 d, a, b, c", "hhhh", 0x3F80, 0x4000, 0x4040, 0x40A0},
           // The product is halfway between two bf16; what is added decides, however small.
           {"fma.rn.bf16 d, a, b, c", "hhhh", 0x3F81, 0x3FC0, 0x0080, 0x3FC2},
           {"fma.rn.bf16 d, a, b, c", "hhhh", 0x3F81, 0x3FC0, 0x8080, 0x3FC1},
           {"min.f16 d, a, b", "hhh", 0x7FFF, 0x3C00, 0, 0x3C00},
           {"min.NaN.f16 d, a, b", "hhh", 0x7FFF, 0x3C00, 0, 0x7FFF},
           {"max.f16x2 d, a, b", "rrr", 0x3C004000, 0x4000BC00, 0, 0x40004000},
           {"max.bf16 d, a, b", "hhh", 0x3F80, 0xBF80, 0, 0x3F80},
           {"neg.f16x2 d, a", "rr", 0x3C00BC00, 0, 0, 0xBC003C00},
           {"abs.bf16x2 d, a", "rr", 0xBF803F80, 0, 0, 0x3F803F80},
           {"ex2.approx.f16 d, a", "hh", 0x4200, 0, 0, 0x4800},
           {"tanh.approx.bf16x2 d, a", "rr", 0, 0, 0, 0},
           {"setp.lt.f16 d, a, b", "phh", 0xBC00, 0x3C00, 0, 1},
           {"setp.nan.f16 d, a, b", "phh", 0x7E00, 0x3C00, 0, 1},
           {"setp.eq.bf16 d, a, b", "phh", 0x8000, 0x0000, 0, 1},
       })
    check(row);
}

TEST(Half, Convert) {
  for (const Row& row : std::initializer_list<Row>{
           {"cvt.f32.f16 d, a", "fh", 0x3C00, 0, 0, f(1)},
           {"cvt.f32.f16 d, a", "fh", 0x0001, 0, 0, f(std::ldexp(1.0f, -24))},
           {"cvt.f32.f16 d, a", "fh", 0xFC00, 0, 0, 0xFF800000},
           {"cvt.rn.f16.f32 d, a", "hf", f(1.0f + std::ldexp(1.0f, -11)), 0, 0, 0x3C00},
           {"cvt.rz.f16.f32 d, a", "hf", f(65536), 0, 0, 0x7BFF},
           {"cvt.rn.relu.f16.f32 d, a", "hf", f(-3), 0, 0, 0},
           {"cvt.rn.f16.f64 d, a", "hd", d(0.5), 0, 0, 0x3800},
           {"cvt.f64.f16 d, a", "dh", 0x3800, 0, 0, d(0.5)},
           {"cvt.f32.bf16 d, a", "fh", 0x3F80, 0, 0, f(1)},
           {"cvt.rn.bf16.f32 d, a", "hf", 0x3F808000, 0, 0, 0x3F80},
           {"cvt.rn.bf16.f32 d, a", "hf", 0x3F818000, 0, 0, 0x3F82},
           {"cvt.rz.bf16.f32 d, a", "hf", 0x3F81FFFF, 0, 0, 0x3F81},
           {"cvt.rn.f16x2.f32 d, a, b", "rff", f(1), f(2), 0, 0x3C004000},
           {"cvt.rn.bf16x2.f32 d, a, b", "rff", f(1), f(2), 0, 0x3F804000},
           {"cvt.rn.relu.bf16x2.f32 d, a, b", "rff", f(-1), f(2), 0, 0x00004000},
           {"cvt.rn.f16.s32 d, a", "hr", 0xFFFFFFFF, 0, 0, 0xBC00},
           {"cvt.rn.f16.u32 d, a", "hr", 100000, 0, 0, 0x7C00},
           {"cvt.rzi.s32.f16 d, a", "rh", 0xC100, 0, 0, 0xFFFFFFFE},
           {"cvt.rni.u16.f16 d, a", "hh", 0x4100, 0, 0, 2},
           {"cvt.rna.tf32.f32 d, a", "rf", 0x3F801000, 0, 0, 0x3F802000},
           {"cvt.rn.satfinite.e4m3x2.f32 d, a, b", "hff", f(1), f(1000), 0, 0x387E},
           {"cvt.rn.satfinite.e5m2x2.f32 d, a, b", "hff", f(1), f(-2), 0, 0x3CC0},
           {"cvt.rn.f16x2.e4m3x2 d, a", "rh", 0x3840, 0, 0, 0x3C004000},
           {"cvt.rn.satfinite.e4m3x2.f16x2 d, a", "hr", 0x3C004000, 0, 0, 0x3840},
           {"cvt.rmi.f16.f16 d, a", "hh", 0x3E00, 0, 0, 0x3C00},
       })
    check(row);
}

TEST(Half, Sets) {
  for (const Row& row : std::initializer_list<Row>{
           {"set.lt.f16.f16 d, a, b", "hhh", 0x3C00, 0x4000, 0, 0x3C00},
           {"set.gt.f16x2.f16x2 d, a, b", "rrr", 0x3C004000, 0x40003C00, 0, 0x00003C00},
           {"set.equ.u32.f16x2 d, a, b", "rrr", 0x7FFF3C00, 0x3C004000, 0, 0xFFFF0000},
           {"set.le.bf16x2.bf16x2 d, a, b", "rrr", 0x3F803F80, 0x3F804000, 0, 0x3F803F80},
       })
    check(row);
}

TEST(Pairs, OfFloats) {
  const auto pair = [](float low, float high) { return f(low) | f(high) << 32; };
  for (const Row& row : std::initializer_list<Row>{
           {"add.rn.f32x2 d, a, b", "qqq", pair(1, 2), pair(3, 4), 0, pair(4, 6)},
           {"mul.rn.f32x2 d, a, b", "qqq", pair(1, 2), pair(3, 4), 0, pair(3, 8)},
           {"fma.rn.f32x2 d, a, b, c", "qqqq", pair(1, 2), pair(3, 4), pair(5, -8), pair(8, 0)},
           {"fma.rn.ftz.f32x2 d, a, b, c", "qqqq", 1, pair(1, 1), pair(0, 7), pair(0, 7)},
       })
    check(row);
}

TEST(Pairs, OfSixteenBits) {
  for (const Row& row : std::initializer_list<Row>{
           {"add.u16x2 d, a, b", "rrr", 0xFFFF0001, 0x00010002, 0, 0x00000003},
           {"max.s16x2 d, a, b", "rrr", 0xFFFF0005, 0x00010002, 0, 0x00010005},
           {"min.relu.s16x2 d, a, b", "rrr", 0xFFFF0005, 0x00010002, 0, 0x00000002},
           {"max.relu.s32 d, a, b", "rrr", 0xFFFFFFFF, 0xFFFFFFF0, 0, 0},
           {"dp2a.lo.s32.s32 d, a, b, c", "rrrr", 0x0002FFFF, 0x01020304, 10, 12},
           {"dp2a.hi.u32.u32 d, a, b, c", "rrrr", 0x00020001, 0x01020304, 10, 14},
           {"cvt.pack.sat.u8.s32.b32 d, a, b, c", "rrrr", 300, 0xFFFFFFFF, 0x1234, 0x1234FF00},
           {"cvt.pack.sat.s16.s32 d, a, b", "rrr", 70000, 0xFFFFFFFE, 0, 0x7FFFFFFE},
       })
    check(row);
}

}  // namespace
}  // namespace tilec::ptx::test
