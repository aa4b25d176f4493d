// The arithmetic of `epilogue EXPR`: a tree over acc, c, alpha, beta and numbers.
#pragma once

#include <string>
#include <vector>

namespace tilec::dsl {

enum class ExpressionKind { number, acc, c, alpha, beta, negate, add, subtract, multiply };

/// A value; children only for negate (1) and the binary kinds (2).
struct Expression {
  ExpressionKind kind = ExpressionKind::acc;
  double number = 0;  // kind == number only
  std::vector<Expression> children;
  bool operator==(const Expression&) const = default;
};

/// `alpha*acc + beta*c`
Expression default_epilogue();

/// Prints with the fewest parentheses; parses back to the same tree.
std::string to_string(const Expression& expression);

/// Whether `c` has to be read: always, only where beta is not 0, or never.
enum class ReadsC { never, unless_beta_zero, always };
ReadsC reads_c(const Expression& expression);

/// The same expression where beta is 0: products with beta vanish, so that `beta*c` reads no c.
Expression with_beta_zero(const Expression& expression);

}  // namespace tilec::dsl
