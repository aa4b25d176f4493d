// Which general registers hold values that are still needed.
#pragma once

#include <bitset>
#include <span>

#include "compiler/sass/flow.h"

namespace tilec::sass {

using Registers = std::bitset<256>;

/// For each block of `flow`, the registers whose values at its top are read later. An instruction
/// whose operands are not known reads all of them.
std::vector<Registers> live_at_tops(std::span<const Instruction> instructions, const Flow& flow);

}  // namespace tilec::sass
