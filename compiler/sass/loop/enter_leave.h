// The way into a rewritten loop and out of it: moves between the registers that the assembled code
// around it knows and those that the new loop uses.
#pragma once

#include "compiler/sass/loop/place_registers.h"

namespace tilec::sass {

/// Words that wait for the scoreboards of `wait_mask` and `cycles` more, and then move every `from`
/// to its `to` at once, cycles and all. Results can be read by the first instruction behind them.
/// `spare`: a register that holds nothing; -1 if there is none, then cycles are an error.
OrWhyNot<std::vector<Word>> move_registers(std::span<const Rename> renames, int spare,
                                           int wait_mask, int cycles);

/// The same renames the other way round.
std::vector<Rename> inverse(std::span<const Rename> renames);

}  // namespace tilec::sass
