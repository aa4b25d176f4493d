#include "compiler/ir/tokens.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

namespace tilec::ir {

void Tokens::next() {
  const std::string& text = source_.text;
  begin_ = end_;
  while (begin_ < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[begin_]))) {
      ++begin_;
    } else if (text.compare(begin_, 2, "//") == 0) {
      while (begin_ < text.size() && text[begin_] != '\n') ++begin_;
    } else {
      break;
    }
  }
  end_ = begin_;
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (end_ < text.size()) {
    if (word(text[end_])) {
      const bool digits = std::isdigit(static_cast<unsigned char>(text[end_]));
      while (end_ < text.size() && word(text[end_]) &&
             (!digits || std::isdigit(static_cast<unsigned char>(text[end_]))))
        ++end_;
    } else {
      end_ += text.compare(end_, 2, "+=") == 0 ? 2 : 1;
    }
  }
  token_ = std::string_view(text).substr(begin_, end_ - begin_);
}

void Tokens::fail(const std::string& code, const std::string& message, dsl::Span span) const {
  throw Fault{{dsl::Road::user, {{code, span, message, ""}}, source_}};
}

void Tokens::expected(const std::string& what) const {
  const std::string found = token_.empty() ? "the end of the text" : fmt::format("`{}`", token_);
  fail("tile-ir-syntax", fmt::format("expected {}, found {}", what, found), {begin_, end_});
}

bool Tokens::accept(std::string_view text) {
  if (!is(text)) return false;
  next();
  return true;
}

void Tokens::expect(std::string_view text) {
  if (!accept(text)) expected(fmt::format("`{}`", text));
}

bool Tokens::at_name() const {
  return !token_.empty() &&
         (std::isalpha(static_cast<unsigned char>(token_[0])) || token_[0] == '_');
}

std::string Tokens::name(const std::string& what) {
  if (!at_name()) expected(what);
  std::string text(token_);
  next();
  return text;
}

int Tokens::number(const std::string& what) {
  int value = 0;
  const auto [end, error] = std::from_chars(token_.data(), token_.data() + token_.size(), value);
  if (error != std::errc() || end != token_.data() + token_.size()) expected(what);
  next();
  return value;
}

// INT "x" INT: the tokenizer ends a number at the `x` and takes the `x…` as a name.
dsl::Extent Tokens::extent() {
  dsl::Extent out;
  out.m = number("an extent MxN");
  if (!at_cross()) expected("`x` and a number");
  skip_cross();
  out.n = number("a number after `x`");
  return out;
}

void Tokens::skip_to(uint32_t offset) {
  end_ = offset;
  next();
}

void Tokens::skip_cross() {
  skip_to(begin_ + 1);
}

}  // namespace tilec::ir
