// The report as JSON, schema "tilec.report/1".
#pragma once

#include <string>

#include "compiler/report/check.h"
#include "compiler/report/report.h"

namespace tilec {

/// Keys that a later version adds stand beside these; none changes its meaning within /1.
/// `steady_loop`, `kernel`, `executed` and `executed_fma_share` are left out where the report has
/// no such part; `predicted_share_of_peak`, `loss_table` and `prediction` without a steady loop.
/// `spills` is in bytes, stores and loads together. Ends with a line end.
std::string to_json(const Report& report);

/// {"schema": "tilec.check/1", "passed": …, "budgets": […]}. Ends with a line end.
std::string to_json(const std::vector<Judgement>& judgements);

}  // namespace tilec
