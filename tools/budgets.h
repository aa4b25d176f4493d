// Budgets of `tilec check`: those on the report (compiler/report/check.h), and those on what the
// CPU counts in a run.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/check.h"
#include "compiler/report/figures.h"
#include "runtime/run.h"

namespace tilec {

/// Everything that a budget may be set on, without values.
std::vector<Figure> budget_figures();

/// Errors: those of parse_budgets.
dsl::Result<std::vector<Budget>> read_budgets(const std::string& text, const Report& report);

/// Whether a budget is set on what only a run can count.
bool needs_run(const std::vector<Budget>& budgets);

ExtraFigures counted_figures(const RunResult& result);

}  // namespace tilec
