// Values as terms: an operation on terms, each built once, so that equal terms have equal numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "compiler/sass/word.h"

namespace tilec::sass::verify {

using Term = uint32_t;

enum class TermKind : uint8_t {
  symbol,     // what a register held, or the state of memory, as the old loop began its trip
  undefined,  // of a register that nothing is known of
  zero,
  operation,  // an instruction's word without registers, on its operands
  result,     // one of an operation's registers
  select,     // guard, value if it holds, value if not
};

class Terms {
 public:
  Terms();

  Term zero() const { return zero_; }
  Term symbol(uint64_t which) { return make(TermKind::symbol, {which, 0}, {}); }
  Term undefined(uint64_t which) { return make(TermKind::undefined, {which, 0}, {}); }
  Term operation(Word key, std::span<const Term> operands) {
    return make(TermKind::operation, key, operands);
  }
  Term result(Term operation, uint64_t index) {
    return make(TermKind::result, {index, 0}, {&operation, 1});
  }
  Term select(Term guard, bool negated, Term then, Term otherwise);

  /// `term` with every symbol s replaced by `values[s]`.
  Term replace_symbols(Term term, std::span<const Term> values);

 private:
  struct Node {
    Word key;
    uint64_t hash = 0;
    uint32_t first = 0;  // of its operands
    uint16_t count = 0;
    TermKind kind = TermKind::zero;
  };

  Term make(TermKind kind, Word key, std::span<const Term> operands);
  std::span<const Term> operands_of(const Node& node) const {
    return std::span(operands_).subspan(node.first, node.count);
  }
  void grow();

  std::vector<Node> nodes_;
  std::vector<Term> operands_;
  std::vector<Term> table_;     // by hash, open addressing; kNone where empty
  std::vector<Term> replaced_;  // memory of replace_symbols, by term; kNone where not yet known
  Term zero_ = 0;
};

}  // namespace tilec::sass::verify
