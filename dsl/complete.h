// From what was written to a whole spec: defaults filled in, every rule checked, and where one
// does not hold, the nearest spec that would do.
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
