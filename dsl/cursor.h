// Where a parser stands among the tokens, and how it speaks of what it finds there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/diagnostics.h"
#include "dsl/lexer.h"

namespace tilec::dsl {

class Cursor {
 public:
  /// `tokens` ends with TokenKind::end; both must outlive the cursor.
  Cursor(std::span<const Token> tokens, std::vector<Diagnostic>& faults)
      : tokens_(tokens), faults_(faults) {}

  const Token& peek(size_t ahead = 0) const;
  const Token& take();  // stays on the last token
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool at_word(std::string_view word, size_t ahead = 0) const;
  bool take_if(TokenKind kind);
  bool take_word(std::string_view word);
  uint32_t last_end() const;  // where the token taken last ended

  /// What stands here, for a message: "`stages`", "the end".
  std::string found() const;

  /// Reports a fault at the next token, unless the lexer has complained about that one.
  void fault_here(Fault fault, std::string message, std::string help = "");
  void fault(Fault fault, Span span, std::string message, std::string help = "");
  size_t fault_count() const { return faults_.size(); }

 private:
  std::span<const Token> tokens_;
  std::vector<Diagnostic>& faults_;
  size_t at_ = 0;
};

}  // namespace tilec::dsl
