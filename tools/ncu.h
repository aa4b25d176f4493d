// Nsight Compute's counters of one launch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/error.h"

namespace tilec {

/// Where ncu is: $TILEC_NCU, $PATH, /usr/local/cuda/bin. None if nowhere.
std::optional<std::string> find_ncu();

/// Runs `command` (words, the first a program) under `tool` and reads `metrics` of the first launch
/// of `kernel`. A metric that this ncu or chip lacks is left out.
/// Errors (machine): ncu-refused, where the driver keeps counters from users, with the way out;
/// ncu-failed, with its words.
dsl::Result<std::map<std::string, double>> profile_launch(const std::string& tool,
                                                          const std::vector<std::string>& metrics,
                                                          const std::string& kernel,
                                                          const std::vector<std::string>& command);

/// Reads `ncu --csv --page raw`: a row of names, a row of units, a row a launch.
std::map<std::string, double> parse_raw_page(std::string_view csv);

}  // namespace tilec
