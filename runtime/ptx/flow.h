// From a list of ops to code that runs: basic blocks, their order, and slots for registers.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/program.h"

namespace tilec::ptx {

/// All of what follows, in this order. Branch targets are op indices before, blocks after.
void finish_code(Code& code);

/// Blocks that may follow block `index`. With `through_calls` a call goes to the function and a
/// return to all blocks that follow a call of it; without, a call goes on behind itself.
std::vector<uint32_t> successors(const Code& code, uint32_t index, bool through_calls);

/// Cuts the ops into basic blocks; a control op ends its block.
void cut_blocks(Code& code);

/// Numbers the blocks so that, of lanes that have parted, letting those in the block of the least
/// number go first brings them together again where their paths meet: a weak topological order
/// (Bourdoncle 1993), in which a loop's blocks stand together and before whatever follows it.
void order_blocks(Code& code);

/// Marks the registers that some path reads before it writes them.
void find_unwritten(Code& code);

/// Lists their uses by op, and finds the grain of shared accesses.
void note_tracked(Code& code);

/// Gives registers their slots; registers never live together share one, so that a warp's working
/// set fits the host's caches. Patches the slots into ops, accesses and controls.
void allocate_slots(Code& code);

}  // namespace tilec::ptx
