#include "dsl/expression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/dsl/support.h"

namespace tilec::dsl {
namespace {

Expression parsed(const std::string& text) {
  return test::spec_of("tile 16x16 epilogue " + text).epilogue;
}

TEST(Expression, PrintsWithTheFewestParentheses) {
  struct Case {
    std::string text, printed;
  };
  for (const Case& c : {
           Case{"acc", "acc"},
           {"alpha * acc+beta*c", "alpha*acc + beta*c"},
           {"((alpha))*(acc)", "alpha*acc"},
           {"acc - (c - 1)", "acc - (c - 1)"},
           {"(acc - c) - 1", "acc - c - 1"},
           {"acc + (c + 1)", "acc + (c + 1)"},
           {"acc*(c*2)", "acc*(c*2)"},
           {"(acc + c)*0.5", "(acc + c)*0.5"},
           {"-acc*c", "-acc*c"},
           {"-(acc*c)", "-(acc*c)"},
           {"--acc", "--acc"},
           {"acc - -c", "acc - -c"},
           {"acc*-c", "acc*-c"},
           {"1e-3*acc", "0.001*acc"},
           {"1E+30*acc", "1e+30*acc"},
           {"2.50*acc", "2.5*acc"},
       }) {
    EXPECT_EQ(to_string(parsed(c.text)), c.printed) << c.text;
    EXPECT_EQ(parsed(c.printed), parsed(c.text)) << c.printed;
  }
}

TEST(Expression, EndsWhereTheNextClauseBegins) {
  Spec spec = test::spec_of("epilogue alpha*acc tile 16x16 stages 2");
  EXPECT_EQ(to_string(spec.epilogue), "alpha*acc");
  EXPECT_EQ(spec.stages, 2);
}

Expression random_expression(std::mt19937_64& engine, int depth) {
  using enum ExpressionKind;
  uint64_t pick = engine() % (depth > 0 ? 10 : 5);
  if (pick == 0) return {number, static_cast<double>(engine() % 100000) / 64.0, {}};
  if (pick < 5) {
    constexpr ExpressionKind kLeaves[] = {acc, c, alpha, beta};
    return {kLeaves[pick - 1], 0, {}};
  }
  if (pick == 5) return {negate, 0, {random_expression(engine, depth - 1)}};
  constexpr ExpressionKind kBinary[] = {add, subtract, multiply, multiply};
  return {kBinary[pick - 6],
          0,
          {random_expression(engine, depth - 1), random_expression(engine, depth - 1)}};
}

TEST(Expression, EveryTreePrintsAndParsesBackToItself) {
  std::mt19937_64 engine(1);
  for (int i = 0; i < 1000; ++i) {
    Expression expression = random_expression(engine, 5);
    EXPECT_EQ(parsed(to_string(expression)), expression) << to_string(expression);
  }
}

TEST(Expression, SaysWhetherCIsRead) {
  struct Case {
    std::string text;
    ReadsC reads;
    std::string without_beta;
  };
  for (const Case& c : {
           Case{"alpha*acc + beta*c", ReadsC::unless_beta_zero, "alpha*acc"},
           {"alpha*acc", ReadsC::never, "alpha*acc"},
           {"acc + c", ReadsC::always, "acc + c"},
           {"beta*(acc + c)", ReadsC::unless_beta_zero, "0"},
           {"acc - beta*c", ReadsC::unless_beta_zero, "acc"},
           {"beta*c - acc", ReadsC::unless_beta_zero, "-acc"},
           {"-(beta*c) + acc", ReadsC::unless_beta_zero, "acc"},
           {"(beta + 1)*c", ReadsC::always, "1*c"},
           {"0*c + acc", ReadsC::always, "0*c + acc"},  // NaN where c is NaN
           {"beta", ReadsC::never, "0"},
           {"c*2*beta*alpha", ReadsC::unless_beta_zero, "0"},
       }) {
    EXPECT_EQ(reads_c(parsed(c.text)), c.reads) << c.text;
    EXPECT_EQ(to_string(with_beta_zero(parsed(c.text))), c.without_beta) << c.text;
  }
}

double value(const Expression& e, double acc, double c, double alpha, double beta) {
  auto of = [&](size_t i) { return value(e.children[i], acc, c, alpha, beta); };
  switch (e.kind) {
    case ExpressionKind::number:
      return e.number;
    case ExpressionKind::acc:
      return acc;
    case ExpressionKind::c:
      return c;
    case ExpressionKind::alpha:
      return alpha;
    case ExpressionKind::beta:
      return beta;
    case ExpressionKind::negate:
      return -of(0);
    case ExpressionKind::add:
      return of(0) + of(1);
    case ExpressionKind::subtract:
      return of(0) - of(1);
    case ExpressionKind::multiply:
      return of(0) * of(1);
  }
  return NAN;
}

TEST(Expression, WithBetaZeroHasTheSameValueThere) {
  std::mt19937_64 engine(2);
  for (int i = 0; i < 1000; ++i) {
    Expression e = random_expression(engine, 4);
    EXPECT_EQ(value(with_beta_zero(e), 3, 5, 7, 0), value(e, 3, 5, 7, 0)) << to_string(e);
  }
}

TEST(Expression, HasNoDepthThatExhaustsTheStack) {
  std::string parentheses(200000, '(');
  EXPECT_EQ(test::faults_of("tile 16x16 epilogue " + parentheses + "acc"), "expression-too-deep");
  EXPECT_EQ(test::faults_of("tile 16x16 epilogue " + std::string(200000, '-') + "acc"),
            "expression-too-deep");
  std::string chain = "acc";
  for (int i = 0; i < 100000; ++i) chain += "+acc";
  EXPECT_EQ(test::faults_of("tile 16x16 epilogue " + chain), "expression-too-long");
  std::string deep = std::string(64, '(') + "acc" + std::string(64, ')');
  EXPECT_EQ(test::faults_of("tile 16x16 epilogue " + deep), "");
}

}  // namespace
}  // namespace tilec::dsl
