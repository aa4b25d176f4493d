#include "runtime/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilec {
namespace {

using dsl::ExpressionKind;

constexpr double u = kUnitRoundoff;
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

Epilogue::Epilogue(const dsl::Expression& expression) {
  append(expression, 0);
}

void Epilogue::append(const dsl::Expression& expression, int depth) {
  for (size_t i = 0; i < expression.children.size(); ++i)
    append(expression.children[i], depth + static_cast<int>(i));
  steps_.push_back({expression.kind, expression.number});
  deepest_ = std::max(deepest_, depth + 1);
}

Bounded Epilogue::evaluate(const EpilogueInputs& inputs) const {
  constexpr int kInline = 16;
  Bounded few[kInline];
  std::vector<Bounded> many(deepest_ > kInline ? static_cast<size_t>(deepest_) : 0);
  Bounded* stack = many.empty() ? few : many.data();
  int top = -1;
  for (const Step& step : steps_) {
    switch (step.kind) {
      case ExpressionKind::number:
        stack[++top] = number(step.number);
        break;
      case ExpressionKind::acc:
        stack[++top] = inputs.acc;
        break;
      case ExpressionKind::c:
        stack[++top] = exact(inputs.c);
        break;
      case ExpressionKind::alpha:
        stack[++top] = exact(inputs.alpha);
        break;
      case ExpressionKind::beta:
        stack[++top] = exact(inputs.beta);
        break;
      case ExpressionKind::negate:
        stack[top].value = -stack[top].value;
        break;
      case ExpressionKind::add:
        --top;
        stack[top] = sum(stack[top], stack[top + 1], 1);
        break;
      case ExpressionKind::subtract:
        --top;
        stack[top] = sum(stack[top], stack[top + 1], -1);
        break;
      case ExpressionKind::multiply:
        --top;
        stack[top] = product(stack[top], stack[top + 1]);
        break;
    }
  }
  return stack[0];
}

}  // namespace tilec
