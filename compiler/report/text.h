// The report for people.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/report.h"

namespace tilec {

struct TextStyle {
  int width = 100;       // columns
  size_t most_ops = 12;  // ops of the tile IR listed, those with most instructions
};

std::string to_text(const Report& report, const TextStyle& style = {});

/// The prediction: one line of what, then the way from 100 % to the share of peak.
std::string prediction_text(const Prediction& prediction);

/// What follows from the numbers, each with the clause that would move it; most costly first.
std::vector<std::string> advice(const Report& report);

/// `values` rounded to one decimal so that they add up to the rounded `sum` exactly (largest
/// remainders first). `sum` is what they add up to.
std::vector<double> rounded_parts(const std::vector<double>& values, double sum);

}  // namespace tilec
