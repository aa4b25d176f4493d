// Budgets of `tilec check`: NAME OP NUMBER, with commas between.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/error.h"

namespace tilec {

enum class Comparison { less, at_most, equal, not_equal, at_least, greater };

struct Budget {
  std::string name;
  Comparison comparison = Comparison::equal;
  double number = 0;
  std::string text;  // as written, blanks normalised: "fma_share >= 0.85"
};

/// What a budget may be set on.
struct Measure {
  std::string_view name;
  std::string_view meaning;
  bool needs_run = false;  // counted by running on the CPU
};
std::span<const Measure> measures();

/// Errors: user, with a caret: bad-budget (the grammar), unknown-measure (with the nearest).
dsl::Result<std::vector<Budget>> parse_budgets(const std::string& text);

/// False for a NaN, whatever the comparison.
bool holds(const Budget& budget, double value);

}  // namespace tilec
