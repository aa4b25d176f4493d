// What is meant where nothing is said: the defaults of the language, as one pure function.
#pragma once

#include "dsl/limits.h"
#include "dsl/request.h"
#include "dsl/spec.h"

namespace tilec::dsl {

/// How hard to look for the padding that is freest of bank conflicts.
enum class LayoutSearch { thorough, none };

/// Fills in every default. Total: a request that breaks rules gives a Spec that breaks them, which
/// is what validate.h looks at. `limits` are those of the target: the request's, or the default.
/// A padding chosen here never makes a slice outgrow shared memory that it would fit without.
Spec fill_defaults(const Request& request, const Limits& limits,
                   LayoutSearch search = LayoutSearch::thorough);

/// The widest shared vector of at most `bound` that some axis of the thread's tile can use.
int widest_fragment_vector(const Extent& thread, int bound);

inline constexpr int kDefaultTileK = 8;
inline constexpr int kWidestVector = 4;  // elements of f32: 16 bytes

}  // namespace tilec::dsl
