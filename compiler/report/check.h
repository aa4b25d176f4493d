// Budgets: `fma_share>=0.85, spills==0, conflicts==0`.
//
//   budgets = budget (',' budget)*
//   budget  = figure operator number
//   operator = '==' | '!=' | '<' | '<=' | '>' | '>='
//   number  = decimal, or decimal '%'
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/report/figures.h"
#include "compiler/report/report.h"
#include "dsl/error.h"

namespace tilec {

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal };

struct Budget {
  std::string figure;
  Comparison comparison = Comparison::equal;
  double bound = 0;
  std::string text;  // as written
};

struct Judgement {
  Budget budget;
  std::optional<double> value;  // none where the figure is missing; then it did not pass
  bool passed = false;
  std::string missing;  // why there is no value; empty if there is one
};

/// Figures of other origin that budgets may ask for as well: counters of a run, say.
using ExtraFigures = std::map<std::string, double, std::less<>>;

/// Errors (user): budget-empty, budget-figure (with the nearest name), budget-operator,
/// budget-number, budget-separator; all faults at once, with their places.
dsl::Result<std::vector<Budget>> parse_budgets(std::string_view text, const Report& report,
                                               const ExtraFigures& extra = {});

/// One judgement a budget, in order. A figure of `extra` stands before one of the report.
std::vector<Judgement> judge(const std::vector<Budget>& budgets, const Report& report,
                             const ExtraFigures& extra = {});

bool all_passed(const std::vector<Judgement>& judgements);

/// A line a budget: `failed  fma_share >= 0.9: 0.861`.
std::string format_judgements(const std::vector<Judgement>& judgements);

}  // namespace tilec
