#include "dsl/lexer.h"

#include <fmt/format.h>

#include "dsl/diagnostics.h"
#include "dsl/text.h"

namespace tilec::dsl {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

class Lexer {
 public:
  Lexer(std::string_view text, std::vector<Diagnostic>& faults) : text_(text), faults_(faults) {}

  std::vector<Token> run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark, which some editors write
    while (true) {
      skip_space_and_comments();
      if (at_ == text_.size()) break;
      next_token();
    }
    // The end stands right behind the last token, where a complaint about it is best shown.
    if (!tokens_.empty()) at_ = tokens_.back().span.end;
    emit(TokenKind::end, at_);
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void emit(TokenKind kind, size_t begin) {
    Span span{static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)};
    tokens_.push_back({kind, span, text_.substr(begin, at_ - begin)});
  }

  void skip_space_and_comments() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  void next_token() {
    if (at_cross()) {
      ++at_;
      emit(TokenKind::cross, at_ - 1);
    } else if (is_digit(peek())) {
      number();
    } else if (is_letter(peek())) {
      size_t begin = at_;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      emit(TokenKind::word, begin);
    } else {
      punctuation();
    }
  }

  // After a number or a set, an `x` that no letter follows.
  bool at_cross() const {
    if (peek() != 'x' || tokens_.empty() || is_letter(peek(1))) return false;
    TokenKind last = tokens_.back().kind;
    return last == TokenKind::number || last == TokenKind::close_brace;
  }

  // number = digit+ ["." digit+] [("e" | "E") ["+" | "-"] digit+]
  // followed by no letter but the x of a cross.
  void number() {
    size_t begin = at_;
    digits();
    if (peek() == '.' && is_digit(peek(1))) {
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        at_ += 1 + sign;
        digits();
      }
    }
    bool cross_follows = peek() == 'x' && !is_letter(peek(1));
    if (!is_letter(peek()) || cross_follows) return emit(TokenKind::number, begin);
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    std::string_view word = text_.substr(begin, at_ - begin);
    std::string help = word.find('X') != std::string_view::npos
                           ? "extents are joined by a small `x`, as in 64x32"
                           : "leave a space between a number and a word";
    emit(TokenKind::broken, begin);
    faults_.push_back(diagnose(Fault::malformed_number, tokens_.back().span,
                               quoted(word) + " is neither a number nor a word", help));
  }

  void digits() {
    while (is_digit(peek())) ++at_;
  }

  void punctuation() {
    struct Mark {
      std::string_view text;
      TokenKind kind;
    };
    static constexpr Mark kMarks[] = {
        {"..", TokenKind::range},
        {"{", TokenKind::open_brace},
        {"}", TokenKind::close_brace},
        {"(", TokenKind::open_parenthesis},
        {")", TokenKind::close_parenthesis},
        {",", TokenKind::comma},
        {"+", TokenKind::plus},
        {"-", TokenKind::minus},
        {"*", TokenKind::star},
        {"/", TokenKind::slash},
    };
    size_t begin = at_;
    for (const Mark& mark : kMarks) {
      if (text_.substr(at_).starts_with(mark.text)) {
        at_ += mark.text.size();
        return emit(mark.kind, begin);
      }
    }
    unexpected(begin);
  }

  // A run of characters that begin no token is one fault.
  void unexpected(size_t begin) {
    static constexpr std::string_view kKnown = "{}(),+-*/#";
    while (at_ < text_.size() && !is_letter(peek()) && !is_digit(peek()) && !is_space(peek()) &&
           kKnown.find(peek()) == std::string_view::npos) {
      at_ += static_cast<size_t>(character_bytes(peek()));
    }
    emit(TokenKind::broken, begin);
    faults_.push_back(diagnose(Fault::unexpected_character, tokens_.back().span,
                               quoted(tokens_.back().text) + " means nothing here",
                               "comments begin with `#`"));
  }

  std::string_view text_;
  std::vector<Diagnostic>& faults_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace

std::vector<Token> lex(const Source& source, std::vector<Diagnostic>& faults) {
  return Lexer(source.text, faults).run();
}

}  // namespace tilec::dsl
