#include "compiler/passes/passes.h"

#include <array>

#include "compiler/passes/passes_list.h"

namespace tilec::passes {

std::span<const PassInfo> all() {
  static constexpr std::array<PassInfo, 7> table = {{
      {"split_edges", "gives whole tiles a path without guards", split_edges},
      {"lower_copies", "copies become loads and puts, or async copies", lower_copies},
      {"pipeline_slices", "copies of later slices overlap the products of this one",
       pipeline_slices},
      {"split_epilogue", "where beta is 0, C is not read", split_epilogue},
      {"unroll_slices", "writes out the products of a slice", unroll_slices},
      {"lead_fragments", "fragments of the next step are read while this one multiplies",
       lead_fragments},
      {"insert_barriers", "a barrier before each access that would race", insert_barriers},
  }};
  return table;
}

const PassInfo* find(std::string_view name) {
  for (const PassInfo& pass : all())
    if (pass.name == name) return &pass;
  return nullptr;
}

}  // namespace tilec::passes
