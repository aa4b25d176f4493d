// A completed spec as text. `complete(parse(format(spec)))` is `spec`, whatever the spec.
#pragma once

#include <string>

#include "dsl/spec.h"

namespace tilec::dsl {

/// Every clause on one line, in the order of the manual; inside `kernel NAME { }` unless the name
/// is the anonymous one. A pure function of the spec: equal specs print alike.
std::string format(const Spec& spec);

/// The same with one clause a line, without a newline at the end.
std::string format_lines(const Spec& spec);

}  // namespace tilec::dsl
