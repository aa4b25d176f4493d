#include "compiler/sass/verify_terms.h"

#include <algorithm>
#include <array>

namespace tilec::sass::verify {
namespace {

constexpr Term kNone = UINT32_MAX;

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

}  // namespace

Terms::Terms() : table_(1 << 14, kNone) {
  zero_ = make(TermKind::zero, {}, {});
}

Term Terms::select(Term guard, bool negated, Term then, Term otherwise) {
  if (then == otherwise) return then;
  const std::array<Term, 3> operands = {guard, then, otherwise};
  return make(TermKind::select, {negated ? 1U : 0U, 0}, operands);
}

Term Terms::make(TermKind kind, Word key, std::span<const Term> operands) {
  uint64_t hash = mixed(mixed(mixed(0, static_cast<uint64_t>(kind)), key.lo), key.hi);
  for (const Term operand : operands) hash = mixed(hash, operand);
  const size_t mask = table_.size() - 1;
  size_t at = hash & mask;
  for (; table_[at] != kNone; at = (at + 1) & mask) {
    const Node& node = nodes_[table_[at]];
    if (node.hash == hash && node.kind == kind && node.key == key &&
        std::ranges::equal(operands_of(node), operands))
      return table_[at];
  }
  const auto term = static_cast<Term>(nodes_.size());
  table_[at] = term;
  nodes_.push_back({key, hash, static_cast<uint32_t>(operands_.size()),
                    static_cast<uint16_t>(operands.size()), kind});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  if (nodes_.size() * 2 > table_.size()) grow();
  return term;
}

void Terms::grow() {
  table_.assign(table_.size() * 2, kNone);
  const size_t mask = table_.size() - 1;
  for (Term term = 0; term < nodes_.size(); ++term) {
    size_t at = nodes_[term].hash & mask;
    while (table_[at] != kNone) at = (at + 1) & mask;
    table_[at] = term;
  }
}

Term Terms::replace_symbols(Term term, std::span<const Term> values) {
  if (replaced_.size() < nodes_.size()) replaced_.resize(nodes_.size(), kNone);
  if (replaced_[term] != kNone) return replaced_[term];
  const Node node = nodes_[term];
  Term out = term;
  if (node.kind == TermKind::symbol) {
    out = values[node.key.lo];
  } else if (node.count > 0) {
    std::vector<Term> operands(operands_of(node).begin(), operands_of(node).end());
    for (Term& operand : operands) operand = replace_symbols(operand, values);
    out = make(node.kind, node.key, operands);
  }
  if (replaced_.size() <= term) replaced_.resize(term + 1, kNone);
  return replaced_[term] = out;
}

}  // namespace tilec::sass::verify
