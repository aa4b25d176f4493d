#include "runtime/bound.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace tilec {
namespace {

using dsl::ExpressionKind;

constexpr double u = kUnitRoundoff;  // as the formulas have it
constexpr double kUnderflow = 0x1p-149;

Bounded exact(double value) {
  return {value, std::abs(value), 0};
}

Bounded number(double value) {
  return {value, std::abs(value), std::abs(value - static_cast<double>(static_cast<float>(value)))};
}

Bounded sum(const Bounded& x, const Bounded& y, double sign) {
  const double magnitude = x.magnitude + y.magnitude;
  return {x.value + sign * y.value, magnitude, (1 + u) * (x.error + y.error) + u * magnitude};
}

Bounded product(const Bounded& x, const Bounded& y) {
  const double magnitude = x.magnitude * y.magnitude;
  const double error = x.magnitude * y.error + y.magnitude * x.error + x.error * y.error;
  return {x.value * y.value, magnitude, (1 + u) * error + u * magnitude + kUnderflow};
}

}  // namespace

double gamma(int64_t k) {
  const double ku = static_cast<double>(k) * u;
  return ku < 1 ? ku / (1 - ku) : std::numeric_limits<double>::infinity();
}

std::string bound_formula() {
  return "|c - r| <= gamma(K+2) |alpha| sum|a||b| + gamma(2) |beta c0|, gamma(k) = k u / (1 - k "
         "u), "
         "u = 2^-24 (Higham 2002, section 3.1)";
}

Bounded bounded_sum(double product, double magnitude, int64_t k) {
  return {product, magnitude, k == 0 ? 0 : gamma(k) * magnitude};
}

size_t Epilogue::append(const dsl::Expression& expression) {
  Step step{.kind = expression.kind, .number = expression.number, .left = 0, .right = 0};
  if (!expression.children.empty()) step.left = append(expression.children[0]);
  if (expression.children.size() > 1) step.right = append(expression.children[1]);
  steps_.push_back(step);
  return steps_.size() - 1;
}

Bounded Epilogue::evaluate(const EpilogueInputs& inputs) const {
  // The usual epilogue has 7 steps; only a long one needs memory.
  std::array<Bounded, 16> few;
  std::vector<Bounded> many(steps_.size() > few.size() ? steps_.size() : 0);
  const std::span<Bounded> values = many.empty() ? std::span<Bounded>(few) : many;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const Bounded& left = values[step.left];
    const Bounded& right = values[step.right];
    switch (step.kind) {
      case ExpressionKind::number:
        values[i] = number(step.number);
        break;
      case ExpressionKind::acc:
        values[i] = inputs.acc;
        break;
      case ExpressionKind::c:
        values[i] = exact(inputs.c);
        break;
      case ExpressionKind::alpha:
        values[i] = exact(inputs.alpha);
        break;
      case ExpressionKind::beta:
        values[i] = exact(inputs.beta);
        break;
      case ExpressionKind::negate:
        values[i] = {-left.value, left.magnitude, left.error};
        break;
      case ExpressionKind::add:
        values[i] = sum(left, right, 1);
        break;
      case ExpressionKind::subtract:
        values[i] = sum(left, right, -1);
        break;
      case ExpressionKind::multiply:
        values[i] = product(left, right);
        break;
    }
  }
  return values[steps_.size() - 1];
}

}  // namespace tilec
