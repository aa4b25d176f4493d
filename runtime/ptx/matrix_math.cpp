#include "runtime/ptx/matrix_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "runtime/ptx/small_floats.h"

namespace tilec::ptx {
namespace {

constexpr int kFractionBits = 23;     // of f32
constexpr int kLeastExponent = -126;  // of a normal f32

// The exponent field of a number says no less for a subnormal one than for the least normal one.
int exponent_of(double value, int least) {
  return std::max(std::ilogb(value), least);
}

// `size` units of 2^last without what an f32 has no bits for: subnormals have fewer than others.
uint64_t cut_to_float(uint64_t size, int last) {
  if (size == 0) return 0;
  const int exponent = last + 63 - std::countl_zero(size);
  const int excess = std::max(exponent, kLeastExponent) - kFractionBits - last;
  if (excess <= 0) return size;
  return excess < 64 ? size >> excess << excess : 0;
}

float to_result(double value, const AccumulateRule& rule) {
  if (!rule.to_half) return static_cast<float>(value);
  return static_cast<float>(
      widen_small(narrow_small(value, kHalf, SmallRounding::nearest, false), kHalf));
}

// The sum of one group and the accumulator, cut off to f32, or rounded to f16 from all its bits.
// Infinities and NaNs follow IEEE; a sum that becomes too small for its type is +0.
float add_group(std::span<const double> a, std::span<const double> b, float c,
                const AccumulateRule& rule) {
  double special = c;
  bool finite = std::isfinite(c);
  int top = c == 0 || !finite ? INT32_MIN : exponent_of(c, kLeastExponent);
  for (size_t i = 0; i < a.size(); ++i) {
    const double product = a[i] * b[i];
    special += product;
    finite &= std::isfinite(product);
    // The exponent of a product is the sum of its factors', before it is normalised.
    if (finite && product != 0)
      top = std::max(
          top, exponent_of(a[i], rule.least_exponent) + exponent_of(b[i], rule.least_exponent));
  }
  if (std::isnan(special)) return std::bit_cast<float>(0x7FFFFFFFu);
  if (!finite) return static_cast<float>(special);
  if (top == INT32_MIN) return special == 0 && std::signbit(special) ? -0.0f : 0.0f;
  const int last = top - kFractionBits - rule.extra_bits;  // exponent of the last bit that is kept
  auto sum = static_cast<int64_t>(std::ldexp(static_cast<double>(c), -last));
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<int64_t>(std::ldexp(a[i] * b[i], -last));
  const bool negative = sum < 0;
  uint64_t size = negative ? 0 - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  if (!rule.to_half) size = cut_to_float(size, last);
  const double value = std::ldexp(static_cast<double>(size), last);
  const float result = to_result(negative ? -value : value, rule);
  return result == 0 ? 0.0f : result;
}

// Of every four 8-bit elements, which share a register, the lower two make one group and the upper
// two the next. What was there before is added last, by an ordinary addition.
float sum_by_pairs(std::span<const double> a, std::span<const double> b, float c,
                   const AccumulateRule& rule) {
  float sum = 0;
  for (size_t pair : {size_t{0}, size_t{2}}) {
    std::vector<double> left, right;
    for (size_t at = pair; at + 1 < a.size(); at += 4)
      for (size_t i : {at, at + 1}) {
        left.push_back(a[i]);
        right.push_back(b[i]);
      }
    sum = add_group(left, right, sum, rule);
  }
  sum = to_result(sum + c, rule);
  return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFFu) : sum;
}

}  // namespace

AccumulateRule accumulate_rule(Type element, Type sum) {
  AccumulateRule rule{.to_half = sum == Type::f16};
  if (element == Type::tf32) rule.group = 8;
  if (element == Type::tf32 || element == Type::bf16) rule.least_exponent = -126;
  rule.by_pairs = element == Type::e4m3 || element == Type::e5m2;
  return rule;
}

float tensor_sum(std::span<const double> a, std::span<const double> b, float c,
                 const AccumulateRule& rule) {
  if (rule.by_pairs) return sum_by_pairs(a, b, c, rule);
  const auto group = static_cast<size_t>(rule.group);
  for (size_t at = 0; at < a.size(); at += group) {
    const size_t count = std::min(group, a.size() - at);
    c = add_group(a.subspan(at, count), b.subspan(at, count), c, rule);
  }
  return c;
}

}  // namespace tilec::ptx
