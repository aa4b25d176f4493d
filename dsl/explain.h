// A spec in words: what it says when every default is filled in, and everything that follows.
#pragma once

#include <optional>
#include <string>

#include "dsl/derive.h"
#include "dsl/limits.h"
#include "dsl/shape.h"
#include "dsl/spec.h"

namespace tilec::dsl {

/// `derived` and `limits` are those of `spec`. With a shape: blocks, waves and slices too, on
/// `sms` SMs, or where that is 0 on a well-known device of the target. Several lines, ending in a
/// newline. Figures that only the assembler or a run can settle are marked as predicted.
std::string explain(const Spec& spec, const Derived& derived, const Limits& limits,
                    std::optional<GemmShape> shape = std::nullopt, int sms = 0);

}  // namespace tilec::dsl
