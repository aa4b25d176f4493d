#include "dsl/cursor.h"

#include <algorithm>

#include "dsl/text.h"

namespace tilec::dsl {

const Token& Cursor::peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& Cursor::take() {
  const Token& token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Cursor::at_word(std::string_view word, size_t ahead) const {
  return peek(ahead).kind == TokenKind::word && peek(ahead).text == word;
}

bool Cursor::take_if(TokenKind kind) {
  if (!at(kind)) return false;
  take();
  return true;
}

bool Cursor::take_word(std::string_view word) {
  if (!at_word(word)) return false;
  take();
  return true;
}

uint32_t Cursor::last_end() const {
  return at_ == 0 ? 0 : tokens_[at_ - 1].span.end;
}

std::string Cursor::found() const {
  return at(TokenKind::end) ? "the end" : quoted(peek().text);
}

void Cursor::fault_here(Fault fault, std::string message, std::string help) {
  if (at(TokenKind::broken)) return;
  this->fault(fault, peek().span, std::move(message), std::move(help));
}

void Cursor::fault(Fault fault, Span span, std::string message, std::string help) {
  faults_.push_back(diagnose(fault, span, std::move(message), std::move(help)));
}

}  // namespace tilec::dsl
