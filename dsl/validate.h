// The rules a spec has to keep, one row each. A rule looks at the filled-in spec; the request
// beside it tells what was asked for in so many words, the places where.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsl/derive.h"
#include "dsl/diagnostics.h"
#include "dsl/limits.h"
#include "dsl/request.h"
#include "dsl/spec.h"

namespace tilec::dsl {

/// What a rule may look at.
struct Subject {
  const Request& request;
  const Spec& spec;
  const Derived& derived;
  const Limits& limits;
};

/// Why a rule does not hold.
struct Finding {
  ClauseKind clause;    // whose place to show
  std::string message;  // the rule, in numbers
  std::string help;     // a way out that this rule alone can name; may be empty
};

struct Rule {
  Fault fault;
  bool counts_threads;  // not checked where tiles do not divide: there is no thread count then
  std::initializer_list<ClauseKind> about;  // not checked where one of these has a fault already
  std::optional<Finding> (*check)(const Subject&);
};
std::span<const Rule> rules();

/// Every rule that does not hold, in the order of the table.
std::vector<Diagnostic> validate(const Subject& subject, const Places& places, ClauseSet broken);

/// Whether all rules hold.
bool is_legal(const Subject& subject);

/// Whether every access may be as wide as the bound says, so that `vector global N` may be demanded
/// and not only allowed. Otherwise the completed spec reads `vector global at_most N`.
bool global_vector_fits(const Spec& spec);
bool shared_vector_fits(const Spec& spec);

/// Multiply-adds and copied elements of one thread in one slice of K, fully unrolled.
int64_t unrolled_size(const Spec& spec, const Derived& derived);
inline constexpr int64_t kUnrollBudget = 16384;

}  // namespace tilec::dsl
