#include "dsl/parse_clause.h"

#include <fmt/format.h>

#include <array>

#include "dsl/parse_expression.h"
#include "dsl/parse_slot.h"
#include "dsl/text.h"

namespace tilec::dsl {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kCopies[] = {"none", "register", "async", "tma"};
constexpr std::string_view kOrders[] = {"rows", "columns", "interleaved"};
constexpr std::string_view kFragments[] = {"whole", "split"};
constexpr std::string_view kOrientations[] = {"plain", "transposed"};
constexpr std::string_view kForms[] = {"plain", "transposed", "padded", "swizzled"};
constexpr std::string_view kSharedWords[] = {"plain", "transposed", "padded", "swizzled", "a", "b"};
constexpr std::string_view kVectorWords[] = {"at_most", "global"};
constexpr std::string_view kRasters[] = {"rows", "columns", "swizzle"};
constexpr std::string_view kTypes[] = {"f32",    "f16",    "bf16", "tf32",
                                       "f8e4m3", "f8e5m2", "s8",   "f64"};
constexpr std::string_view kLayouts[] = {"nn", "nt", "tn", "tt"};
constexpr std::string_view kEdges[] = {"guard", "exact"};
constexpr std::string_view kSwitches[] = {"on", "off"};
constexpr std::string_view kRoles[] = {"producer", "consumer"};
constexpr std::string_view kEpilogue[] = {"acc",  "c",    "alpha", "beta",
                                          "bias", "relu", "gelu",  "silu"};

// extents = slot "x" slot ["x" slot]
bool extents(Cursor& cursor, Clause& clause, int fewest, int most) {
  static constexpr Role kRole[] = {Role::m, Role::n, Role::k};
  for (int i = 0; i < most; ++i) {
    if (i > 0 && !cursor.take_if(TokenKind::cross)) {
      if (i >= fewest) return true;
      const ClauseRow& row = row_of(clause.kind);
      cursor.fault_here(Fault::expected_cross,
                        fmt::format("`{}` takes {}; found {} where an `x` has to stand", row.word,
                                    row.syntax, cursor.found()),
                        fmt::format("for instance `{}`", row.example));
      return false;
    }
    if (!number_slot(cursor, clause, kRole[i])) return false;
  }
  return true;
}

// vector = bound | "global" bound ["shared" bound] | "shared" bound ["global" bound]
// bound = ["at_most"] slot
bool vector_clause(Cursor& cursor, Clause& clause) {
  auto bound = [&](Role role, bool labelled = true) {
    bool at_most = cursor.take_word("at_most");
    if (!number_slot(cursor, clause, role)) return false;
    clause.slots.back().at_most = at_most;
    clause.slots.back().labelled = labelled;
    return true;
  };
  // `shared` is also a clause: here it is an argument only where a number follows.
  auto shared_follows = [&] {
    return cursor.at_word("shared") &&
           (cursor.at_word("at_most", 1) || number_slot_follows(cursor, 1));
  };
  if (shared_follows()) {
    cursor.take();
    if (!bound(Role::shared)) return false;
    return !cursor.take_word("global") || bound(Role::global);
  }
  if (!cursor.take_word("global")) return bound(Role::global, false);
  if (!bound(Role::global)) return false;
  if (!shared_follows()) return true;
  cursor.take();
  return bound(Role::shared);
}

// lanes = order [grid] | grid [order];  grid = slot "x" slot;  order = "rows" | "columns" |
// "interleaved"
bool lanes_clause(Cursor& cursor, Clause& clause) {
  auto grid = [&] { return extents(cursor, clause, 2, 2); };
  auto order = [&] { return word_slot(cursor, clause, Role::order, kOrders); };
  if (number_slot_follows(cursor)) {
    if (!grid()) return false;
    return !word_slot_follows(cursor, kOrders) || order();
  }
  if (!order()) return false;
  return !number_slot_follows(cursor) || grid();
}

// shared = [operand] form+ (operand form+)*
// operand = "a" | "b";  form = "plain" | "transposed" | "padded" slot | "swizzled"
bool shared_clause(Cursor& cursor, Clause& clause) {
  Operand operand = Operand::both;
  bool form_since_operand = false;
  while (true) {
    Span span = cursor.peek().span;
    if (cursor.at_word("a") || cursor.at_word("b")) {
      if (operand != Operand::both && !form_since_operand) break;
      operand = cursor.take().text == "a" ? Operand::a : Operand::b;
      form_since_operand = false;
      continue;
    }
    if (cursor.take_word("padded")) {
      if (!number_slot(cursor, clause, Role::padding)) return false;
    } else if (cursor.at_word("swizzled")) {
      cursor.take();
      clause.slots.push_back({Role::swizzled, span, {{span, 0, "swizzled"}}});
    } else if (word_slot_follows(cursor, kOrientations)) {
      if (!word_slot(cursor, clause, Role::orientation, kOrientations)) return false;
    } else {
      break;
    }
    clause.slots.back().operand = operand;
    form_since_operand = true;
  }
  if (form_since_operand) return true;
  if (cursor.at_word("a") || cursor.at_word("b")) {
    cursor.fault_here(Fault::expected_word,
                      fmt::format("`shared` needs a layout here, found {}", cursor.found()),
                      "for instance `shared a transposed b plain`");
    return false;
  }
  // None of the forms stands here, so this complains and suggests.
  return word_slot(cursor, clause, Role::orientation, kForms);
}

// raster = ("rows" | "columns") | "swizzle" slot
bool raster_clause(Cursor& cursor, Clause& clause) {
  if (!word_slot(cursor, clause, Role::order, kRasters)) return false;
  const Slot& order = clause.slots.back();
  bool swizzle = false;
  for (const Atom& atom : order.choices) swizzle = swizzle || atom.word == "swizzle";
  if (!swizzle) return true;
  if (order.choices.size() > 1) {
    cursor.fault(Fault::malformed_set, order.span,
                 "`swizzle` takes a number, so it cannot stand in a set of words");
    return false;
  }
  return number_slot(cursor, clause, Role::width);
}

// roles = "producer" slot "consumer" slot
bool roles_clause(Cursor& cursor, Clause& clause) {
  static constexpr Role kRole[] = {Role::producer, Role::consumer};
  for (size_t i = 0; i < 2; ++i) {
    if (!cursor.take_word(kRoles[i])) {
      cursor.fault_here(Fault::expected_word, fmt::format("`roles` needs `{}` here, found {}",
                                                          kRoles[i], cursor.found()));
      return false;
    }
    if (!number_slot(cursor, clause, kRole[i])) return false;
  }
  return true;
}

// target = slot of any words
bool target_clause(Cursor& cursor, Clause& clause) {
  return word_slot(cursor, clause, Role::value, {});
}

// epilogue = expression
bool epilogue_clause(Cursor& cursor, Clause& clause) {
  std::optional<Expression> expression = parse_expression(cursor);
  if (!expression) return false;
  clause.expression = std::move(*expression);
  return true;
}

bool arguments(Cursor& cursor, Clause& clause) {
  using enum ClauseKind;
  switch (clause.kind) {
    case tile:
    case cluster:
      return extents(cursor, clause, 2, 3);
    case warp:
    case thread:
      return extents(cursor, clause, 2, 2);
    case mma:
      return extents(cursor, clause, 3, 3);
    case stages:
    case blocks_per_sm:
    case registers:
    case split_k:
      return number_slot(cursor, clause, Role::value);
    case copy:
    case fragment:
    case type:
    case accumulate:
    case output:
    case layout:
    case edges:
    case sass:
      return word_slot(cursor, clause, Role::value, argument_words(clause.kind));
    case vector:
      return vector_clause(cursor, clause);
    case lanes:
      return lanes_clause(cursor, clause);
    case shared:
      return shared_clause(cursor, clause);
    case raster:
      return raster_clause(cursor, clause);
    case roles:
      return roles_clause(cursor, clause);
    case target:
      return target_clause(cursor, clause);
    case epilogue:
      return epilogue_clause(cursor, clause);
    case stream_k:
    case persistent:
    case staged_store:
      return true;
  }
  return false;
}

}  // namespace

// clause = word arguments
bool parse_clause(Cursor& cursor, Clause& clause) {
  clause.span.begin = cursor.take().span.begin;
  bool fine = arguments(cursor, clause);
  clause.span.end = cursor.last_end();
  return fine;
}

Words argument_words(ClauseKind kind) {
  using enum ClauseKind;
  switch (kind) {
    case copy:
      return kCopies;
    case vector:
      return kVectorWords;
    case lanes:
      return kOrders;
    case fragment:
      return kFragments;
    case shared:
      return kSharedWords;
    case raster:
      return kRasters;
    case roles:
      return kRoles;
    case type:
    case accumulate:
    case output:
      return kTypes;
    case layout:
      return kLayouts;
    case epilogue:
      return kEpilogue;
    case edges:
      return kEdges;
    case sass:
      return kSwitches;
    default:
      return {};
  }
}

std::optional<ClauseKind> clause_of_argument(std::string_view word) {
  std::optional<ClauseKind> owner;
  for (const ClauseRow& row : clause_rows()) {
    for (std::string_view argument : argument_words(row.kind)) {
      if (argument != word) continue;
      if (owner) return std::nullopt;
      owner = row.kind;
    }
  }
  return owner;
}

}  // namespace tilec::dsl
