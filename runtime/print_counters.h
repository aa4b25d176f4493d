// What the PTX machine counted, for people and for programs: in the whole, and line by line of the
// text that the instructions came from (tile IR, a CUDA file, or the PTX itself).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "runtime/ptx/counters.h"

namespace tilec {

/// Several lines: instructions and their classes, global and shared memory, the rest.
std::string counts_text(const ptx::Counts& counts);

/// A table under `title`, a row a line in the order of the text, at most the `most` busiest.
/// `source` is the text that the lines count in; empty: not at hand.
std::string lines_text(std::string_view title, std::span<const ptx::LineCounts> lines,
                       std::string_view source, size_t most);

/// All counts. Ratios of nothing are null. `brief` leaves out groups that are all zero.
nlohmann::ordered_json counts_json(const ptx::Counts& counts, bool brief);

/// An array of objects `line`, `file` if there is one, `text` if `source` has it, and the counts.
nlohmann::ordered_json lines_json(std::span<const ptx::LineCounts> lines, std::string_view source);

}  // namespace tilec
