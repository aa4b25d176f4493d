#include "runtime/ptx/lexer.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>

namespace tilec::ptx {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '.';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

constexpr std::array<std::string_view, 8> kLongMarks = {
    "<<", ">>", "==", "!=", "<=", ">=", "&&", "||"};

class Lexer {
 public:
  Lexer(std::string_view text, Faults& faults) : text_(text), faults_(faults) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 5);
    while (skip_blank()) {
      const char c = text_[at_];
      if (is_letter(c) || c == '.') {
        tokens.push_back(take(TokenKind::word, word_end()));
      } else if (is_digit(c)) {
        tokens.push_back(take(TokenKind::number, number_end()));
      } else if (c == '"') {
        const size_t close = text_.find_first_of("\"\n", at_ + 1);
        if (close == std::string_view::npos || text_[close] == '\n') {
          fault("ptx-truncated", "this string has no end");
          at_ = close == std::string_view::npos ? text_.size() : close;
          continue;
        }
        tokens.push_back(take(TokenKind::string, close + 1));
      } else if (std::string_view("@!,;:[]{}()<>+-*/=|&~^?").find(c) != std::string_view::npos) {
        tokens.push_back(take(TokenKind::mark, mark_end()));
      } else {
        fault("ptx-not-text",
              fmt::format("byte {:#04x} has no place in PTX text", static_cast<unsigned char>(c)));
        if (faults_.full()) break;
        ++at_;
      }
    }
    at_ = text_.size();
    tokens.push_back(take(TokenKind::end, at_));
    return tokens;
  }

 private:
  // To the next byte of a token; false at the end of the text.
  bool skip_blank() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (is_space(rest[0])) {
        line_ += rest[0] == '\n';
        ++at_;
      } else if (rest.starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest.starts_with("/*")) {
        const size_t close = text_.find("*/", at_ + 2);
        if (close == std::string_view::npos) {
          fault("ptx-truncated", "this comment has no end");
          at_ = text_.size();
          return false;
        }
        for (; at_ < close + 2; ++at_) line_ += text_[at_] == '\n';
      } else {
        return true;
      }
    }
    return false;
  }

  // `::` joins the parts of a modifier such as .L1::no_allocate; a single `:` ends a label.
  size_t word_end() const {
    size_t end = at_ + 1;
    while (end < text_.size()) {
      if (is_word(text_[end])) {
        ++end;
      } else if (text_.substr(end, 2) == "::" && end + 2 < text_.size() &&
                 is_word(text_[end + 2])) {
        end += 2;
      } else {
        break;
      }
    }
    return end;
  }

  size_t number_end() const {
    size_t end = at_ + 1;
    const bool hexadecimal =
        end < text_.size() && (text_[end] == 'x' || text_[end] == 'X' || text_[end] == 'f' ||
                               text_[end] == 'F' || text_[end] == 'd' || text_[end] == 'D');
    while (end < text_.size()) {
      const char c = text_[end];
      const char before = text_[end - 1];
      const bool exponent =
          !hexadecimal && (c == '+' || c == '-') && (before == 'e' || before == 'E');
      if (!is_word(c) && !exponent) break;
      ++end;
    }
    return end;
  }

  size_t mark_end() const {
    for (std::string_view mark : kLongMarks)
      if (text_.substr(at_, 2) == mark) return at_ + 2;
    return at_ + 1;
  }

  Token take(TokenKind kind, size_t end) {
    Token token{kind, text_.substr(at_, end - at_), static_cast<uint32_t>(at_), line_};
    at_ = end;
    return token;
  }

  void fault(std::string_view code, std::string message) {
    faults_.add(code, {static_cast<uint32_t>(at_), static_cast<uint32_t>(at_ + 1)},
                std::move(message));
  }

  std::string_view text_;
  Faults& faults_;
  size_t at_ = 0;
  int line_ = 1;
};

NumberValue integer(std::string_view digits, int base) {
  if (digits.ends_with('U') || digits.ends_with('u')) digits.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, fault] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (digits.empty() || fault != std::errc() || end != digits.data() + digits.size()) return {};
  return {NumberValue::Form::integer, value};
}

}  // namespace

std::vector<Token> tokenize(std::string_view text, Faults& faults) {
  return Lexer(text, faults).run();
}

NumberValue read_number(std::string_view text) {
  using Form = NumberValue::Form;
  const char second = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (second == 'x' || second == 'X') return integer(text.substr(2), 16);
  if (second == 'b' || second == 'B') return integer(text.substr(2), 2);
  if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
    const bool wide = second == 'd' || second == 'D';
    NumberValue bits = integer(text.substr(2), 16);
    if (bits.form != Form::integer || text.size() != (wide ? 18u : 10u)) return {};
    return {wide ? Form::real64 : Form::real32, bits.bits};
  }
  if (text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc() || end != text.data() + text.size()) return {};
    return {Form::real64, std::bit_cast<uint64_t>(value)};
  }
  if (second >= '0' && second <= '9') return integer(text.substr(1), 8);
  return integer(text, 10);
}

}  // namespace tilec::ptx
