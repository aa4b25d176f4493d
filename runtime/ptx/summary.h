// From what host threads collected to what a caller sees.
#pragma once

#include "runtime/ptx/block.h"

namespace tilec::ptx {

Counters summarise(const Program& program, const Code& code, const RawCounts& raw);

/// Findings with lines, coordinates and names, in the order of the program text.
std::vector<Finding> describe_all(const Launch& launch, const FoundList& found);

}  // namespace tilec::ptx
