// Two kernels side by side: what differs in the spec and in the figures, the cause first.
//
// Works on the JSON that `report` and `run` print, so that two specs, or two results kept from
// earlier, compare alike, and no figure is another one than in the report.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/error.h"

namespace tilec {

struct ClauseChange {
  std::string clause;
  std::string before;  // its words; empty: not there
  std::string after;
};

struct FigureChange {
  std::string figure;  // "steady_loop.fma_share": the path in the JSON
  std::optional<double> before;
  std::optional<double> after;
};

struct Diff {
  std::string cause;  // one sentence or more
  std::vector<ClauseChange> clauses;
  std::vector<FigureChange> losses;   // points; the largest change first; those that differ
  std::vector<FigureChange> figures;  // that differ, in the order of the report
};

/// Errors (user): not-a-report, if a text is no JSON of the schemas tilec.report/1 or tilec.run/1.
dsl::Result<Diff> diff_reports(std::string_view before, std::string_view after);

std::string diff_text(const Diff& diff);
std::string diff_json(const Diff& diff);  // schema "tilec.diff/1"

}  // namespace tilec
