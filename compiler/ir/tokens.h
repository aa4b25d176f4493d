// The words of tile IR: names, numbers, and single characters, but for `+=`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dsl/error.h"
#include "dsl/spec.h"

namespace tilec::ir {

/// What ends a parse; never leaves ir::parse.
struct Fault {
  dsl::Error error;
};

class Tokens {
 public:
  explicit Tokens(const dsl::Source& source) : source_(source) { next(); }

  const dsl::Source& source() const { return source_; }
  dsl::Span here() const { return {begin_, end_}; }  // of the token that is next
  bool is(std::string_view text) const { return token_ == text; }
  bool at_end() const { return token_.empty(); }
  bool at_name() const;
  bool at_cross() const { return !token_.empty() && token_[0] == 'x'; }

  void next();
  void skip_to(uint32_t offset);
  void skip_cross();  // the `x` of 64x32, which is read as the start of a name
  bool accept(std::string_view text);
  void expect(std::string_view text);
  std::string name(const std::string& what);
  int number(const std::string& what);
  dsl::Extent extent();

  [[noreturn]] void fail(const std::string& code, const std::string& message, dsl::Span span) const;
  [[noreturn]] void expected(const std::string& what) const;

 private:
  const dsl::Source& source_;
  std::string_view token_;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
};

}  // namespace tilec::ir
