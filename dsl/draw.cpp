#include "dsl/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "dsl/banks.h"
#include "dsl/derive.h"

namespace tilec::dsl {
namespace {

constexpr int kMostRows = 8;
constexpr int kMostColumns = 16;
constexpr int kBankStep = 4;  // a picture of all 32 banks would be too wide

// The coordinate along the row of the first element of row `row` in bank `bank`; -1 if there is
// none.
int first_in_bank(const SliceMap& map, int row, int bank) {
  for (int column = 0; column < map.row_length; ++column) {
    int64_t offset = map.rows_are_k ? map.offset(row, column) : map.offset(column, row);
    if (offset % kBanks == bank) return column;
  }
  return -1;
}

}  // namespace

std::string draw_lanes(const Spec& spec) {
  const Extent& grid = spec.lane_grid;
  std::string out = fmt::format("{} (m down, n across)\n",
                                spec.warp ? "lanes of a warp" : "threads of the block");
  std::vector<int> numbers(static_cast<size_t>(grid.m) * static_cast<size_t>(grid.n));
  for (int lane = 0; lane < grid.m * grid.n; ++lane) {
    const Extent at = lane_position(spec.lanes, grid, lane);
    numbers[static_cast<size_t>(at.m * grid.n + at.n)] = lane;
  }
  for (int m = 0; m < std::min(grid.m, kMostRows); ++m) {
    out += "   ";
    for (int n = 0; n < std::min(grid.n, kMostColumns); ++n) {
      out += fmt::format(" {:>4}", numbers[static_cast<size_t>(m * grid.n + n)]);
    }
    out += grid.n > kMostColumns ? " ...\n" : "\n";
  }
  if (grid.m > kMostRows) out += "     ...\n";
  return out;
}

std::string draw_slice(const Spec& spec, bool operand_a) {
  SliceMap map = slice_map(spec, operand_a);
  char x = operand_a ? 'm' : 'n';
  char across = map.rows_are_k ? x : 'k';
  char down = map.rows_are_k ? 'k' : x;
  std::string out =
      fmt::format("slice of {} in shared memory: {} by bank\n", operand_a ? 'A' : 'B', across);
  out += "    bank   ";
  for (int bank = 0; bank < kBanks; bank += kBankStep) out += fmt::format(" {:>4}", bank);
  out += "\n";
  for (int row = 0; row < std::min(map.rows, kMostRows); ++row) {
    out += fmt::format("    {} {:<5}", down, row);
    for (int bank = 0; bank < kBanks; bank += kBankStep) {
      int column = first_in_bank(map, row, bank);
      out += column < 0 ? "    -" : fmt::format(" {:>4}", column);
    }
    out += "\n";
  }
  if (map.rows > kMostRows) out += "     ...\n";
  return out;
}

}  // namespace tilec::dsl
