#include "dsl/expression.h"

#include <fmt/format.h>

#include <optional>

namespace tilec::dsl {
namespace {

using enum ExpressionKind;

// How tightly a node binds: a child that binds less than its place asks stands in parentheses.
int binding(ExpressionKind kind) {
  switch (kind) {
    case add:
    case subtract:
      return 1;
    case multiply:
      return 2;
    case negate:
      return 3;
    default:
      return 4;
  }
}

std::string leaf(const Expression& expression) {
  switch (expression.kind) {
    case number:
      return fmt::format("{}", expression.number);
    case acc:
      return "acc";
    case c:
      return "c";
    case alpha:
      return "alpha";
    default:
      return "beta";
  }
}

std::string print(const Expression& expression, int needed) {
  const auto& child = expression.children;
  int own = binding(expression.kind);
  std::string out;
  switch (expression.kind) {
    case negate:
      out = "-" + print(child[0], own);
      break;
    // Both kinds lean left, so a right child of the same binding needs parentheses.
    case add:
      out = print(child[0], own) + " + " + print(child[1], own + 1);
      break;
    case subtract:
      out = print(child[0], own) + " - " + print(child[1], own + 1);
      break;
    case multiply:
      out = print(child[0], own) + "*" + print(child[1], own + 1);
      break;
    default:
      out = leaf(expression);
  }
  return own < needed ? "(" + out + ")" : out;
}

bool mentions(const Expression& expression, ExpressionKind kind) {
  if (expression.kind == kind) return true;
  for (const Expression& child : expression.children) {
    if (mentions(child, kind)) return true;
  }
  return false;
}

// The expression for beta = 0; none where it vanishes for that reason. A 0 that the user wrote is
// an ordinary number: 0*c is NaN where c is.
std::optional<Expression> without_beta(const Expression& expression) {
  if (expression.kind == beta) return std::nullopt;
  if (expression.children.empty()) return expression;
  std::optional<Expression> left = without_beta(expression.children[0]);
  if (expression.kind == negate) {
    if (!left) return std::nullopt;
    return Expression{negate, 0, {std::move(*left)}};
  }
  std::optional<Expression> right = without_beta(expression.children[1]);
  if (left && right) return Expression{expression.kind, 0, {std::move(*left), std::move(*right)}};
  if (expression.kind == multiply) return std::nullopt;
  if (expression.kind == subtract && right) return Expression{negate, 0, {std::move(*right)}};
  return left ? left : right;
}

}  // namespace

Expression default_epilogue() {
  Expression scaled{multiply, 0, {Expression{alpha, 0, {}}, Expression{acc, 0, {}}}};
  Expression old{multiply, 0, {Expression{beta, 0, {}}, Expression{c, 0, {}}}};
  return Expression{add, 0, {std::move(scaled), std::move(old)}};
}

std::string to_string(const Expression& expression) {
  return print(expression, 0);
}

ReadsC reads_c(const Expression& expression) {
  if (!mentions(expression, c)) return ReadsC::never;
  return mentions(with_beta_zero(expression), c) ? ReadsC::always : ReadsC::unless_beta_zero;
}

Expression with_beta_zero(const Expression& expression) {
  std::optional<Expression> out = without_beta(expression);
  return out ? std::move(*out) : Expression{number, 0, {}};
}

}  // namespace tilec::dsl
