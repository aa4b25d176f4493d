#include "compiler/report/loss.h"

namespace tilec {
namespace {

struct Row {
  std::string_view figure;
  std::string_view title;
  std::string_view clause;
};

constexpr std::array<Row, kLosses> kRows = {{
    {"loss_fragment_loads", "fragment loads", "a larger `thread` tile; `shared` free of conflicts"},
    {"loss_register_banks", "register banks", "`sass on`, or another `thread` tile"},
    {"loss_slice_copies", "slice copies",
     "a larger `tile`, a wider `vector global`, more `stages`"},
    {"loss_addresses", "addresses", "a deeper slice: `tile MxNxK`"},
    {"loss_barriers", "barriers and waits",
     "a deeper slice; `stages`; a second block: `blocks_per_sm`"},
    {"loss_other", "moves, control, spills",
     "a deeper slice; a smaller `thread` tile where it spills"},
    {"loss_idle_issue", "idle issue", "more warps an SM: `blocks_per_sm`, a smaller `tile`"},
    {"loss_block_ends", "start and end of blocks", "fewer blocks: a larger `tile`, or a larger K"},
    {"loss_last_wave", "last wave", "a `tile` that makes whole waves at this shape"},
    {"loss_edges", "edges", "a `tile` that divides M and N, a slice that divides K"},
    {"loss_memory", "DRAM", "a larger `tile`, or `raster swizzle N`"},
}};

}  // namespace

std::string_view loss_name(Loss kind) {
  return loss_figure(kind).substr(5);
}
std::string_view loss_figure(Loss kind) {
  return kRows[static_cast<size_t>(kind)].figure;
}
std::string_view loss_title(Loss kind) {
  return kRows[static_cast<size_t>(kind)].title;
}
std::string_view loss_clause(Loss kind) {
  return kRows[static_cast<size_t>(kind)].clause;
}

}  // namespace tilec
