// PTX text to tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dsl/source.h"
#include "runtime/ptx/diagnostics.h"

namespace tilec::ptx {

enum class TokenKind : uint8_t {
  word,    // name, register, opcode with its modifiers, directive with its dot
  number,  // starts with a digit
  string,  // with its quotes
  mark,    // one character, or one of << >> == != <= >= && ||
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  uint32_t begin = 0;  // byte offset
  int line = 1;

  bool is(std::string_view wanted) const { return kind != TokenKind::string && text == wanted; }
  dsl::Span span() const { return {begin, begin + static_cast<uint32_t>(text.size())}; }
};

/// Comments and white space left out; the last token is `end`.
std::vector<Token> tokenize(std::string_view text, Faults& faults);

/// The value of an integer (0x, 0b, octal, decimal, with or without U) or of a real (0f…, 0d…, or
/// decimal, whose bits are those of a double).
struct NumberValue {
  enum class Form : uint8_t { integer, real32, real64, bad } form = Form::bad;
  uint64_t bits = 0;
};
NumberValue read_number(std::string_view text);

}  // namespace tilec::ptx
