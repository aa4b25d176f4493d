#include "runtime/ptx/matrix_math.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tilec::ptx {
namespace {

constexpr int kFractionBits = 23;  // of f32

// The sum of one group and the accumulator. Infinities and NaNs follow IEEE.
float add_group(std::span<const double> a, std::span<const double> b, float c, int extra_bits) {
  double special = c;
  bool finite = std::isfinite(c);
  int top = c == 0 || !finite ? INT32_MIN : std::ilogb(c);
  for (size_t i = 0; i < a.size(); ++i) {
    const double product = a[i] * b[i];
    special += product;
    finite &= std::isfinite(product);
    // The exponent of a product is the sum of its factors', before it is normalised.
    if (finite && product != 0) top = std::max(top, std::ilogb(a[i]) + std::ilogb(b[i]));
  }
  if (!finite) {
    const float result = static_cast<float>(special);
    return std::isnan(special) ? std::bit_cast<float>(0x7FFFFFFFu) : result;
  }
  if (top == INT32_MIN) return special == 0 && std::signbit(special) ? -0.0f : 0.0f;
  const int last = top - kFractionBits - extra_bits;  // exponent of the last bit that is kept
  auto sum = static_cast<int64_t>(std::ldexp(static_cast<double>(c), -last));
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<int64_t>(std::ldexp(a[i] * b[i], -last));
  if (sum == 0) return 0.0f;
  // Cut off to f32: what has more than 24 bits loses the lowest.
  const bool negative = sum < 0;
  uint64_t size = negative ? 0 - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  const int exponent = last + 63 - std::countl_zero(size);
  const int least = std::max(exponent, -126) - kFractionBits;  // subnormals keep fewer bits
  if (least > last) size = least - last < 64 ? size >> (least - last) << (least - last) : 0;
  const double value = std::ldexp(static_cast<double>(size), last);
  return static_cast<float>(negative ? -value : value);
}

}  // namespace

AccumulateRule accumulate_rule(Type element) {
  switch (element) {
    case Type::tf32:
      return {.group = 8, .extra_bits = 2};
    case Type::e4m3:
    case Type::e5m2:
      return {.group = 32, .extra_bits = -10};  // fp8 sums keep 14 bits
    default:
      return {.group = 16, .extra_bits = 2};
  }
}

float tensor_sum(std::span<const double> a, std::span<const double> b, float c,
                 AccumulateRule rule) {
  const auto group = static_cast<size_t>(rule.group);
  for (size_t at = 0; at < a.size(); at += group) {
    const size_t count = std::min(group, a.size() - at);
    c = add_group(a.subspan(at, count), b.subspan(at, count), c, rule.extra_bits);
  }
  return c;
}

}  // namespace tilec::ptx
