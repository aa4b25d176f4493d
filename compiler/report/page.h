// The explorer: one self-contained HTML page, made of page.html and one JSON.
//
// The JSON holds the report as to_json prints it, so that the page shows the same figures as text
// and JSON do, and beside it the texts of the stages, the SASS view, the layouts that the pictures
// are drawn from, and other kernels' results for the roofline. Nothing is fetched.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/view.h"

namespace tilec {

/// Another kernel's result, for the roofline.
struct Neighbour {
  std::string name;
  std::string spec;  // as written
  double share_of_peak = 0;
};

struct PageInput {
  const Artifact& artifact;
  const Report& report;
  const Target& target;
  const SassView* view = nullptr;     // null without a cubin
  std::string counters;               // JSON: what the CPU machine counted; empty: not run
  std::string counters_note;          // of what run they are
  std::vector<Neighbour> neighbours;  // measured
  std::string neighbours_note;        // on what
};

std::string page_html(const PageInput& input);

/// Rows of a file of tools/measure_gpu at the 4096 cube, each name once. None if it is none such.
std::vector<Neighbour> neighbours_of(std::string_view results);

/// examples/results/ladder_h200.json as it was when this was built.
std::string_view ladder_results();

}  // namespace tilec
