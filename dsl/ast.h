// A spec as written: its clauses in order, each a list of slots with their places in the text.
// Nothing is filled in and nothing is checked but the grammar. In a space (space.h) a slot may
// hold several choices; in a spec each holds one.
#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/expression.h"
#include "dsl/source.h"

namespace tilec::dsl {

enum class ClauseKind {
  tile,
  warp,
  thread,
  mma,
  stages,
  copy,
  vector,
  lanes,
  fragment,
  shared,
  blocks_per_sm,
  registers,
  raster,
  split_k,
  stream_k,
  persistent,
  staged_store,
  cluster,
  roles,
  type,
  accumulate,
  output,
  layout,
  epilogue,
  edges,
  sass,
  target,
};
inline constexpr size_t kClauseCount = 27;
using ClauseSet = std::bitset<kClauseCount>;

struct ClauseRow {
  ClauseKind kind;
  std::string_view word;     // how the clause begins
  std::string_view syntax;   // its grammar, in the words of the manual
  std::string_view example;  // one that parses
};
std::span<const ClauseRow> clause_rows();
const ClauseRow& row_of(ClauseKind kind);
std::span<const std::string_view> clause_words();
std::optional<ClauseKind> find_clause(std::string_view word);

/// What a slot says. Each clause uses the roles that its row's syntax names.
enum class Role {
  m,
  n,
  k,
  value,        // the only number or word of a clause
  global,       // `vector global N`, and the N of `vector N`
  shared,       // `vector shared N`
  order,        // `lanes rows`
  orientation,  // `shared transposed`
  padding,      // `shared padded N`
  swizzled,     // `shared swizzled`
  width,        // `raster swizzle N`
  producer,
  consumer,
};

/// Whose layout a slot of `shared` speaks of.
enum class Operand { both, a, b };

/// One number or word.
struct Atom {
  Span span;
  int64_t number = 0;
  std::string word;  // empty: a number
};

struct Slot {
  Role role = Role::value;
  Span span;
  std::vector<Atom> choices;  // at least one
  Operand operand = Operand::both;
  bool at_most = false;   // of `vector`: a bound for each operand, not a demand
  bool labelled = false;  // of `vector`: `global N` or `shared N`, not plain `N`
};

struct Clause {
  ClauseKind kind = ClauseKind::tile;
  Span span;  // from its word to its last token
  std::vector<Slot> slots;
  Expression expression;  // of `epilogue`

  const Slot* find(Role role) const;  // null if not written
};

struct SpecAst {
  std::shared_ptr<const Source> source;
  std::string name = "gemm";
  Span span;  // the kernel's name and block, or the whole text
  std::vector<Clause> clauses;
  ClauseSet broken;  // written, but with a fault that was reported

  const Clause* find(ClauseKind kind) const;
};

}  // namespace tilec::dsl
