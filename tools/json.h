// The JSON of commands whose results are made here; runtime and report print their own.
#pragma once

#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "tools/budget.h"
#include "tools/files.h"

namespace tilec {

/// Schema "tilec.compile/1". `stages`: the text of each file if `embed`, else its name.
std::string compile_json(const Artifact& artifact, const std::vector<OutputFile>& files,
                         bool embed);

/// One budget and what was measured.
struct BudgetOutcome {
  Budget budget;
  double value = 0;  // NaN: could not be measured
  bool held = false;
};

/// Schema "tilec.check/1".
std::string check_json(const Artifact& artifact, const std::vector<BudgetOutcome>& outcomes);

}  // namespace tilec
