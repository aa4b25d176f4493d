// The small floating-point formats, by integer arithmetic alone: the same bits on every host.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/ptx/lane_scalars.h"

namespace tilec::ptx {

/// A binary format: exponent and fraction bits; whether it has infinities; its largest finite bits.
struct SmallFormat {
  int exponent_bits;
  int fraction_bits;
  bool infinities;
  uint32_t largest;  // finite, without sign
  uint32_t nan;      // canonical
};
inline constexpr SmallFormat kHalf{5, 10, true, 0x7BFF, 0x7FFF};
inline constexpr SmallFormat kBfloat{8, 7, true, 0x7F7F, 0x7FFF};
inline constexpr SmallFormat kTf32{8, 10, true, 0x3FBFF, 0x3FFFF};  // the top 19 bits of an f32
inline constexpr SmallFormat kE4m3{4, 3, false, 0x7E, 0x7F};
inline constexpr SmallFormat kE5m2{5, 2, true, 0x7B, 0x7F};

/// Exact, but for NaNs, whose payload is lost.
inline double widen_small(uint32_t bits, const SmallFormat& format) {
  const int fraction = static_cast<int>(bits & ((1u << format.fraction_bits) - 1));
  const int top = (1 << format.exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> format.fraction_bits) & top;
  const int bias = top >> 1;
  const bool negative = bits >> (format.exponent_bits + format.fraction_bits) & 1;
  double value = 0;
  if (format.infinities && exponent == top)
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  else if (!format.infinities && (bits & 0x7F) == format.nan)
    value = std::nan("");
  else if (exponent == 0)
    value = std::ldexp(fraction, 1 - bias - format.fraction_bits);
  else
    value =
        std::ldexp((1 << format.fraction_bits) + fraction, exponent - bias - format.fraction_bits);
  return negative ? -value : value;
}

enum class SmallRounding : uint8_t { nearest, to_zero, down, up, nearest_away };

/// Rounds once. `saturate`: what is larger than the largest finite number becomes that
/// (.satfinite).
inline uint32_t narrow_small(double value, const SmallFormat& format, SmallRounding rounding,
                             bool saturate) {
  const uint32_t sign_bit = 1u << (format.exponent_bits + format.fraction_bits);
  if (std::isnan(value)) return format.nan;
  const bool negative = std::signbit(value);
  const uint32_t sign = negative ? sign_bit : 0;
  const double size = std::fabs(value);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint32_t beyond =
      format.infinities ? ((1u << format.exponent_bits) - 1) << format.fraction_bits : format.nan;
  if (std::isinf(size)) return sign | (saturate ? format.largest : beyond);
  if (size == 0) return sign;
  // In units of the last place at this exponent; subnormals share the least one.
  const int exponent = std::max(std::ilogb(size), 1 - bias);
  const double scaled = std::ldexp(size, format.fraction_bits - exponent);
  const double floor = std::floor(scaled);
  const double rest = scaled - floor;
  auto whole = static_cast<uint32_t>(floor);
  const bool odd = whole & 1;
  bool up = false;
  switch (rounding) {
    case SmallRounding::nearest:
      up = rest > 0.5 || (rest == 0.5 && odd);
      break;
    case SmallRounding::nearest_away:
      up = rest >= 0.5;
      break;
    case SmallRounding::to_zero:
      break;
    case SmallRounding::down:
      up = negative && rest > 0;
      break;
    case SmallRounding::up:
      up = !negative && rest > 0;
      break;
  }
  whole += up;
  // Adding the exponent carries a fraction that became 2^n into it.
  const uint32_t bits =
      whole + (static_cast<uint32_t>(exponent + bias - 1) << format.fraction_bits);
  if (bits <= format.largest) return sign | bits;
  const bool stays = saturate || rounding == SmallRounding::to_zero ||
                     (rounding == SmallRounding::down && !negative) ||
                     (rounding == SmallRounding::up && negative);
  return sign | (stays ? format.largest : beyond);
}

inline float half_to_float(uint32_t bits) {
  return static_cast<float>(widen_small(bits & 0xFFFF, kHalf));
}
inline float bfloat_to_float(uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}
inline uint32_t to_half(double value) {
  return narrow_small(value, kHalf, SmallRounding::nearest, false);
}
inline uint32_t to_bfloat(double value) {
  return narrow_small(value, kBfloat, SmallRounding::nearest, false);
}

/// max(value, 0), NaN kept.
inline double relu1(double value) {
  return std::isnan(value) || value > 0 ? value : 0.0;
}

/// Two f16 to two 8-bit numbers, the upper to the upper, and back.
inline uint32_t halves_to_bytes(uint32_t halves, const SmallFormat& format, bool relu) {
  uint32_t out = 0;
  for (int i = 0; i < 2; ++i) {
    const double value = widen_small(halves >> (16 * i) & 0xFFFF, kHalf);
    out |= narrow_small(relu ? relu1(value) : value, format, SmallRounding::nearest, true)
           << (8 * i);
  }
  return out;
}
inline uint32_t bytes_to_halves(uint32_t bytes, const SmallFormat& format, bool relu) {
  uint32_t out = 0;
  for (int i = 0; i < 2; ++i) {
    const double value = widen_small(bytes >> (8 * i) & 0xFF, format);
    out |= narrow_small(relu ? relu1(value) : value, kHalf, SmallRounding::nearest, false)
           << (16 * i);
  }
  return out;
}

}  // namespace tilec::ptx
