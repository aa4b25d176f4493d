#include "runtime/bound.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilec {
namespace {

using dsl::Expression;
using dsl::ExpressionKind;

Expression leaf(ExpressionKind kind) {
  return {.kind = kind};
}
Expression number(double value) {
  return {.kind = ExpressionKind::number, .number = value};
}
Expression node(ExpressionKind kind, std::vector<Expression> children) {
  return {.kind = kind, .children = std::move(children)};
}

TEST(Bound, GammaGrowsWithK) {
  EXPECT_EQ(gamma(0), 0);
  double last = 0;
  for (int64_t k : {1, 2, 16, 1024, 65536}) {
    EXPECT_GT(gamma(k), last);
    EXPECT_GE(gamma(k), static_cast<double>(k) * kUnitRoundoff);
    last = gamma(k);
  }
  EXPECT_TRUE(std::isinf(gamma(int64_t{1} << 24)));
}

// The tree gives the textbook formula for the usual epilogue, and never more.
TEST(Bound, DefaultEpilogueIsTheFormula) {
  const Epilogue epilogue(dsl::default_epilogue());
  for (int64_t k : {1, 7, 128, 4096})
    for (double alpha : {1.0, -0.5, 3.0})
      for (double beta : {0.0, 1.0, -2.0}) {
        const double sum = 0.25 * static_cast<double>(k);
        const EpilogueInputs inputs{
            .acc = bounded_sum(0.1, sum, k), .c = -0.75, .alpha = alpha, .beta = beta};
        const Bounded out = epilogue.evaluate(inputs);
        const double formula =
            gamma(k + 2) * std::abs(alpha) * sum + gamma(2) * std::abs(beta) * std::abs(inputs.c);
        EXPECT_DOUBLE_EQ(out.value, alpha * 0.1 + beta * -0.75);
        EXPECT_LE(out.error, formula);
        EXPECT_GE(out.error, formula * (1 - 1e-3));
      }
}

TEST(Bound, GrowsWithTheSumOfMagnitudes) {
  const Epilogue epilogue(dsl::default_epilogue());
  const auto error = [&](double magnitude) {
    return epilogue.evaluate({.acc = bounded_sum(0, magnitude, 64)}).error;
  };
  EXPECT_NEAR(error(32) / error(16), 2, 1e-6);
}

TEST(Bound, EvaluatesEveryKindOfNode) {
  const Expression acc = leaf(ExpressionKind::acc);
  const Expression c = leaf(ExpressionKind::c);
  const EpilogueInputs inputs{.acc = bounded_sum(3, 3, 4), .c = 5, .alpha = 2, .beta = 7};
  const struct {
    Expression expression;
    double value;
  } rows[] = {
      {acc, 3},
      {number(0.5), 0.5},
      {node(ExpressionKind::negate, {acc}), -3},
      {node(ExpressionKind::add, {acc, c}), 8},
      {node(ExpressionKind::subtract, {acc, c}), -2},
      {node(ExpressionKind::subtract, {c, node(ExpressionKind::subtract, {acc, c})}), 7},
      {node(ExpressionKind::multiply, {leaf(ExpressionKind::alpha), leaf(ExpressionKind::beta)}),
       14},
  };
  for (const auto& row : rows) {
    const Bounded out = Epilogue(row.expression).evaluate(inputs);
    EXPECT_DOUBLE_EQ(out.value, row.value);
    EXPECT_GE(out.magnitude, std::abs(row.value));
  }
}

TEST(Bound, ExactWhereNothingIsRounded) {
  EXPECT_EQ(Epilogue(leaf(ExpressionKind::c)).evaluate({.c = 0.3F}).error, 0);
  EXPECT_EQ(Epilogue(number(0.5)).evaluate({}).error, 0);
  EXPECT_GT(Epilogue(number(0.1)).evaluate({}).error, 0);  // not an f32
}

// Evaluates a tree in f32, as a kernel would.
float in_f32(const Expression& e, float acc, float c, float alpha, float beta) {
  const auto child = [&](size_t i) { return in_f32(e.children[i], acc, c, alpha, beta); };
  switch (e.kind) {
    case ExpressionKind::number:
      return static_cast<float>(e.number);
    case ExpressionKind::acc:
      return acc;
    case ExpressionKind::c:
      return c;
    case ExpressionKind::alpha:
      return alpha;
    case ExpressionKind::beta:
      return beta;
    case ExpressionKind::negate:
      return -child(0);
    case ExpressionKind::add:
      return child(0) + child(1);
    case ExpressionKind::subtract:
      return child(0) - child(1);
    case ExpressionKind::multiply:
      return child(0) * child(1);
  }
  return 0;
}

// A deep tree of everything: what f32 gives stays within the bound, which is not vacuous.
TEST(Bound, HoldsForDeepTrees) {
  Expression tree = leaf(ExpressionKind::acc);
  for (int i = 0; i < 40; ++i) {
    const auto kind = i % 3 == 0   ? ExpressionKind::multiply
                      : i % 3 == 1 ? ExpressionKind::subtract
                                   : ExpressionKind::add;
    const Expression other = i % 2 == 0 ? number(0.9 + 0.001 * i) : leaf(ExpressionKind::c);
    tree = i % 5 == 0 ? node(kind, {other, tree}) : node(kind, {tree, other});
  }
  const Epilogue epilogue(tree);
  for (int i = 0; i < 100; ++i) {
    const float acc = std::sin(static_cast<float>(i));
    const float c = std::cos(static_cast<float>(3 * i));
    const Bounded out = epilogue.evaluate({.acc = {acc, std::abs(acc), 0}, .c = c});
    EXPECT_LE(std::abs(in_f32(tree, acc, c, 1, 0) - out.value), out.error);
    EXPECT_LT(out.error, 1e-4);
  }
}

}  // namespace
}  // namespace tilec
