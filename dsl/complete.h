// The language's front door: from what was written to a whole spec.
//
//   text ─ lexer ─► tokens ─ parser ─► SpecAst ─ request ─► Request ─ defaults ─► Spec ─ validate
//   ─►
//
// Each step knows one thing. The lexer and the parser know the grammar and the places; an AST has
// places but no meaning, and may be a space, whose members space.h deals out. A Request is typed
// but partial: what was asked for, and nothing else. `fill_defaults` is the table of defaults of
// the manual (README.md) as one pure function, so that a Spec has no holes; `validate` is the table
// of rules, which look at the whole Spec and at what was asked for in so many words. Where a rule
// does not hold, `nearest_legal` searches Requests for the nearest that keeps them all: the same
// functions that refuse a spec find the way out.
//
// No step stops at its first fault. A clause with a fault is marked broken, and no rule about it is
// checked, so one run reports all faults and no fault twice. `format` prints a Spec in a form that
// comes back through all this as the same Spec, and `derive` works out what follows from it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dsl/ast.h"
#include "dsl/error.h"
#include "dsl/limits.h"
#include "dsl/spec.h"

namespace tilec::dsl {

/// Errors: every fault of the spec at once, each with its place and the rule in numbers; the last
/// rule that does not hold also carries the nearest legal spec, in backquotes, in its help.
/// `targets`: the machines there are. `default_target`: the one meant without `target`.
Result<Spec> complete(const SpecAst& ast, std::span<const Limits> targets,
                      std::string_view default_target);

/// Parses and completes a source: one anonymous spec or several kernels. Faults of grammar and
/// broken rules are reported together; a rule about a clause that did not parse is not checked.
Result<std::vector<Spec>> read_specs(const Source& source, std::span<const Limits> targets,
                                     std::string_view default_target);

/// The limits of `name`; null if there is no such target.
const Limits* find_limits(std::span<const Limits> targets, std::string_view name);

}  // namespace tilec::dsl
