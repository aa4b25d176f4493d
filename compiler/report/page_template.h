// Files that are built into the program: page_template.cpp.in is filled in by CMake.
#pragma once

#include <string_view>

namespace tilec {

extern const std::string_view kPageTemplate;   // page.html
extern const std::string_view kLadderResults;  // examples/results/ladder_h200.json

}  // namespace tilec
