// What lane_ops.def computes one lane at a time: plain functions of integers and floats.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace tilec::ptx {

enum Rounding : uint8_t { kNearest, kToZero, kDown, kUp };

inline int host_mode(Rounding mode) {
  constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  return kModes[mode];
}

inline uint32_t least1(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

inline float flush1(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

/// Number of the highest bit set, or, for a shift amount, how far left it could go; all ones if
/// there is none.
template <class T>
uint32_t find_top(T value, bool shift_amount) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(value);
  if (bits == 0) return ~0u;
  const auto zeros = static_cast<uint32_t>(std::countl_zero(bits));
  return shift_amount ? zeros : static_cast<uint32_t>(sizeof(T)) * 8 - 1 - zeros;
}

/// bfe: `length` bits from `from`, both mod 256; bits past the end are the sign (0 if unsigned).
template <class T>
T extract_bits(T value, uint32_t from, uint32_t length) {
  constexpr uint32_t kBits = sizeof(T) * 8;
  using U = std::make_unsigned_t<T>;
  from &= 0xFF;
  length &= 0xFF;
  if (length == 0) return 0;
  const uint32_t top = from + length - 1 < kBits - 1 ? from + length - 1 : kBits - 1;
  const bool sign = std::is_signed_v<T> && (static_cast<U>(value) >> top & 1);
  U out = from < kBits ? static_cast<U>(static_cast<U>(value) >> from) : U{0};
  const uint32_t kept = from < kBits ? (length < kBits - from ? length : kBits - from) : 0;
  const U mask = kept >= kBits ? ~U{0} : static_cast<U>((U{1} << kept) - 1);
  out &= mask;
  if (sign) out |= static_cast<U>(~mask);
  return static_cast<T>(out);
}

/// bfi: the low `length` bits of `field` put into `base` at `from`, both mod 256.
template <class T>
T insert_bits(T field, T base, uint32_t from, uint32_t length) {
  constexpr uint32_t kBits = sizeof(T) * 8;
  from &= 0xFF;
  length &= 0xFF;
  if (length == 0 || from >= kBits) return base;
  const T ones = length >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  const T mask = static_cast<T>(ones << from);
  return static_cast<T>((base & ~mask) | (static_cast<T>(field << from) & mask));
}

/// fns: the position of the `offset`-th set bit from `base` on (back, if negative); the bit at
/// `base` itself for 0; all ones if there is none.
inline uint32_t find_nth_set(uint32_t bits, uint32_t base, int32_t offset) {
  if (base > 31) return ~0u;
  if (offset == 0) return bits >> base & 1 ? base : ~0u;
  int64_t left = offset > 0 ? offset : -int64_t{offset};
  for (auto at = static_cast<int32_t>(base); at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
    if (bits >> at & 1 && --left == 0) return static_cast<uint32_t>(at);
  return ~0u;
}

/// prmt's generic form: four 4-bit selectors, of which bit 3 replicates the byte's sign.
inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t out = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> (i * 4) & 0xF;
    uint32_t byte = static_cast<uint32_t>(bytes >> ((selector & 7) * 8)) & 0xFF;
    if (selector & 8) byte = byte & 0x80 ? 0xFF : 0;
    out |= byte << (i * 8);
  }
  return out;
}
inline uint32_t selectors(uint32_t control) {
  return control & 0xFFFF;
}
/// The table of prmt's special modes in the ISA, as selectors, most significant first.
inline uint32_t backward4(uint32_t control) {
  constexpr uint32_t kRows[] = {0x5670, 0x6701, 0x7012, 0x0123};
  return kRows[control];
}
inline uint32_t clamp_left(uint32_t control) {
  constexpr uint32_t kRows[] = {0x3210, 0x3211, 0x3222, 0x3333};
  return kRows[control];
}
inline uint32_t clamp_right(uint32_t control) {
  constexpr uint32_t kRows[] = {0x0000, 0x1110, 0x2210, 0x3210};
  return kRows[control];
}

/// dp4a: four byte products, signed or not, added to c.
template <bool kSignedA, bool kSignedB>
uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 4; ++i) {
    const auto x = static_cast<uint8_t>(a >> (8 * i));
    const auto y = static_cast<uint8_t>(b >> (8 * i));
    const int32_t left = kSignedA ? static_cast<int8_t>(x) : static_cast<int32_t>(x);
    const int32_t right = kSignedB ? static_cast<int8_t>(y) : static_cast<int32_t>(y);
    c += static_cast<uint32_t>(left * right);
  }
  return c;
}

/// dp2a: two halves of a times the two bytes of b from number `from` on, added to c.
template <bool kSignedA, bool kSignedB>
uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, int from) {
  for (int i = 0; i < 2; ++i) {
    const auto x = static_cast<uint16_t>(a >> (16 * i));
    const auto y = static_cast<uint8_t>(b >> (8 * (from + i)));
    const int32_t left = kSignedA ? static_cast<int16_t>(x) : static_cast<int32_t>(x);
    const int32_t right = kSignedB ? static_cast<int8_t>(y) : static_cast<int32_t>(y);
    c += static_cast<uint32_t>(left * right);
  }
  return c;
}

template <class To, class From>
To clamp_to(From value) {
  using Limits = std::numeric_limits<To>;
  if (std::is_signed_v<From> && !std::is_signed_v<To> && value < From{0}) return 0;
  if (std::is_signed_v<From> && std::is_signed_v<To> &&
      static_cast<int64_t>(value) < static_cast<int64_t>(Limits::min()))
    return Limits::min();
  if (value > From{0} && static_cast<uint64_t>(value) > static_cast<uint64_t>(Limits::max()))
    return Limits::max();
  return static_cast<To>(value);
}

/// Floating to integer with the rounding that `mode` names ("rni", "rzi", "rmi", "rpi").
template <class To>
To to_integer(double value, std::string_view mode) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) return sizeof(To) < 8 ? To{0} : static_cast<To>(uint64_t{1} << 63);
  const double whole = mode == "rni"   ? std::nearbyint(value)
                       : mode == "rzi" ? std::trunc(value)
                       : mode == "rmi" ? std::floor(value)
                                       : std::ceil(value);
  // 2^bits is exact in a double, so the comparison with it is too.
  const double past = std::ldexp(1.0, Limits::digits);
  if (whole >= past) return Limits::max();
  if (whole < (std::is_signed_v<To> ? -past : 0.0)) return Limits::min();
  return static_cast<To>(whole);
}

}  // namespace tilec::ptx
