// The named figures of a report: what budgets may ask for.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/report/report.h"

namespace tilec {

struct Figure {
  std::string_view name;
  std::string_view meaning;     // with its unit
  std::optional<double> value;  // none where this report lacks it: no cubin, no shape
};

/// All figures, in the order of the report. Names are stable.
std::vector<Figure> figures(const Report& report);

}  // namespace tilec
