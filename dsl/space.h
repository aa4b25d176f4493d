// Spaces: specs in which a number or a word may be a set. `tile {64,128}x128 stages {2..4}` stands
// for six specs, which is what the tuner searches.
#pragma once

#include <cstdint>
#include <vector>

#include "dsl/ast.h"
#include "dsl/error.h"

namespace tilec::dsl {

inline constexpr int64_t kMostMembers = 100000;

/// Whether some slot holds a set of more than one choice.
bool is_space(const SpecAst& ast);

/// Members of the space: the product of its sets' sizes, at most `cap` + 1.
int64_t count_members(const SpecAst& ast, int64_t cap = kMostMembers);

/// Every member, the slot written last changing fastest. A spec is its own only member. Members
/// need not be legal: `complete` says which are.
/// Errors: space-too-large if there are more than `most`.
Result<std::vector<SpecAst>> expand(const SpecAst& ast, int64_t most = kMostMembers);

}  // namespace tilec::dsl
