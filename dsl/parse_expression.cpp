#include "dsl/parse_expression.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "dsl/ast.h"
#include "dsl/text.h"

namespace tilec::dsl {
namespace {

constexpr int kDeepest = 64;   // levels of parentheses, signs and calls
constexpr int kLongest = 256;  // operands; also bounds the depth of the tree, which leans left
constexpr double kLargestF32 = 3.4028234663852886e38;

struct NamedOperand {
  std::string_view word;
  ExpressionKind kind;
};
constexpr NamedOperand kOperands[] = {{"acc", ExpressionKind::acc},
                                      {"c", ExpressionKind::c},
                                      {"alpha", ExpressionKind::alpha},
                                      {"beta", ExpressionKind::beta}};
constexpr std::string_view kActivations[] = {"relu", "gelu", "silu"};
constexpr std::array<std::string_view, 8> kNames = {"acc",  "c",    "alpha", "beta",
                                                    "bias", "relu", "gelu",  "silu"};

Expression binary(ExpressionKind kind, Expression left, Expression right) {
  Expression out{kind, 0, {}};
  out.children.push_back(std::move(left));
  out.children.push_back(std::move(right));
  return out;
}

class ExpressionParser {
 public:
  explicit ExpressionParser(Cursor& cursor) : cursor_(cursor) {}

  // expression = product (("+" | "-") product)*
  std::optional<Expression> expression() {
    std::optional<Expression> left = product();
    while (left && (cursor_.at(TokenKind::plus) || cursor_.at(TokenKind::minus))) {
      bool plus = cursor_.take().kind == TokenKind::plus;
      std::optional<Expression> right = product();
      if (!right) return std::nullopt;
      left = binary(plus ? ExpressionKind::add : ExpressionKind::subtract, std::move(*left),
                    std::move(*right));
    }
    return left;
  }

 private:
  // product = unary ("*" unary)*
  std::optional<Expression> product() {
    std::optional<Expression> left = unary();
    while (left && (cursor_.at(TokenKind::star) || cursor_.at(TokenKind::slash))) {
      if (cursor_.at(TokenKind::slash)) {
        cursor_.fault_here(Fault::division, "an epilogue does not divide",
                           "multiply by the reciprocal, for instance 0.5 in place of / 2");
        return std::nullopt;
      }
      cursor_.take();
      std::optional<Expression> right = unary();
      if (!right) return std::nullopt;
      left = binary(ExpressionKind::multiply, std::move(*left), std::move(*right));
    }
    return left;
  }

  // unary = "-" unary | primary
  std::optional<Expression> unary() {
    if (!cursor_.at(TokenKind::minus)) return primary();
    if (!descend()) return std::nullopt;
    cursor_.take();
    std::optional<Expression> operand = unary();
    --depth_;
    if (!operand) return std::nullopt;
    Expression out{ExpressionKind::negate, 0, {}};
    out.children.push_back(std::move(*operand));
    return out;
  }

  // primary = number | "(" expression ")" | name | activation "(" expression ")"
  std::optional<Expression> primary() {
    if (++operands_ > kLongest) {
      cursor_.fault_here(Fault::expression_too_long,
                         fmt::format("an epilogue has at most {} operands", kLongest));
      return std::nullopt;
    }
    if (cursor_.at(TokenKind::number)) return number();
    if (cursor_.at(TokenKind::open_parenthesis)) return parenthesised();
    if (cursor_.at(TokenKind::word) && !find_clause_here()) return name();
    cursor_.fault_here(Fault::expected_operand,
                       fmt::format("an operand has to stand here, found {}", cursor_.found()),
                       "operands are numbers, acc, c, alpha, beta and ( ... )");
    return std::nullopt;
  }

  std::optional<Expression> number() {
    const Token& token = cursor_.take();
    double value = 0;
    const char* begin = token.text.data();
    auto result = std::from_chars(begin, begin + token.text.size(), value);
    bool underflow = result.ec == std::errc::result_out_of_range && std::abs(value) < 1;
    if ((result.ec != std::errc() && !underflow) || std::abs(value) > kLargestF32) {
      cursor_.fault(Fault::constant_too_large, token.span,
                    quoted(token.text) + " does not fit f32, which ends at 3.4028235e38");
      return std::nullopt;
    }
    return Expression{ExpressionKind::number, value, {}};
  }

  std::optional<Expression> parenthesised() {
    if (!descend()) return std::nullopt;
    Span opened = cursor_.take().span;
    std::optional<Expression> inner = expression();
    --depth_;
    if (!inner) return std::nullopt;
    if (!cursor_.take_if(TokenKind::close_parenthesis)) {
      cursor_.fault(Fault::unclosed_parenthesis, opened,
                    fmt::format("this `(` is not closed; found {}", cursor_.found()));
      return std::nullopt;
    }
    return inner;
  }

  std::optional<Expression> name() {
    Token token = cursor_.take();
    for (const NamedOperand& operand : kOperands) {
      if (token.text == operand.word) return Expression{operand.kind, 0, {}};
    }
    if (token.text == "bias") {
      cursor_.fault(Fault::bias_not_built, token.span, "`bias` is understood, but not built yet",
                    "leave it out of the epilogue");
      return Expression{};
    }
    for (std::string_view activation : kActivations) {
      if (token.text == activation) return call(token);
    }
    std::optional<std::string> near = nearest_word(token.text, kNames);
    cursor_.fault(Fault::unknown_operand, token.span,
                  fmt::format("an epilogue knows no {}", quoted(token.text)),
                  near ? fmt::format("did you mean `{}`?", *near)
                       : "operands are numbers, acc, c, alpha, beta and ( ... )");
    return std::nullopt;
  }

  std::optional<Expression> call(const Token& function) {
    cursor_.fault(Fault::activation_not_built, function.span,
                  fmt::format("`{}` is understood, but not built yet", function.text),
                  "leave it out of the epilogue");
    if (!cursor_.at(TokenKind::open_parenthesis)) {
      cursor_.fault_here(Fault::expected_operand,
                         fmt::format("`{}` takes its operand in parentheses", function.text));
      return std::nullopt;
    }
    return parenthesised();
  }

  bool find_clause_here() const { return find_clause(cursor_.peek().text).has_value(); }

  bool descend() {
    if (++depth_ <= kDeepest) return true;
    cursor_.fault_here(Fault::expression_too_deep,
                       fmt::format("an epilogue nests at most {} levels deep", kDeepest));
    return false;
  }

  Cursor& cursor_;
  int depth_ = 0;
  int operands_ = 0;
};

}  // namespace

std::optional<Expression> parse_expression(Cursor& cursor) {
  return ExpressionParser(cursor).expression();
}

}  // namespace tilec::dsl
