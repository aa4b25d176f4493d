// The expression of an `epilogue` clause.
#pragma once

#include <optional>

#include "dsl/cursor.h"
#include "dsl/expression.h"

namespace tilec::dsl {

/// Reads the longest expression that stands at the cursor. None after a fault, which is reported.
/// Nesting and length are bounded, so that no input can exhaust the stack.
std::optional<Expression> parse_expression(Cursor& cursor);

}  // namespace tilec::dsl
