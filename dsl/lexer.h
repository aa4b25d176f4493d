// Text to tokens. The one knot: in `128x128` the `x` is a token of its own, so after a number or a
// `}` an `x` that is not the start of a longer word is the cross between two extents.
#pragma once

#include <string_view>
#include <vector>

#include "dsl/error.h"
#include "dsl/source.h"

namespace tilec::dsl {

enum class TokenKind {
  word,    // [A-Za-z_][A-Za-z0-9_]*
  number,  // digits, or a decimal such as 0.5 or 1e-3
  cross,   // the x of 64x32
  open_brace,
  close_brace,
  open_parenthesis,
  close_parenthesis,
  comma,
  range,  // ..
  plus,
  minus,
  star,
  slash,
  broken,  // reported by the lexer already
  end,     // always last, an empty span behind the last token
};

struct Token {
  TokenKind kind = TokenKind::end;
  Span span;
  std::string_view text;  // points into the source
};

/// Appends what it cannot read to `faults`, once each, and goes on behind it.
/// The source must outlive the tokens and be valid UTF-8.
std::vector<Token> lex(const Source& source, std::vector<Diagnostic>& faults);

}  // namespace tilec::dsl
