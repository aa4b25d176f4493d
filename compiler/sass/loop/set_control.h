// The control fields of a rewritten loop: stalls, scoreboards, waits and reuse, from nothing but
// the instructions and their order.
//
//   stall       from each instruction to the next as few cycles as the fixed latencies of all pairs
//               allow, within a trip and from one trip to the next
//   scoreboards two for fragment loads, by even and odd steps; the others for what else arrives
//               late, in turn; those that count asynchronous copies are left to them
//   waits       the first reader or writer of what a scoreboard guards waits for it
//   reuse       an operand that the next multiply-add reads in the same slot is kept, where no
//               instruction in between reads that slot
#pragma once

#include "compiler/sass/loop/products.h"

namespace tilec::sass {

/// Scoreboards that the loop leaves to the hardware's count of asynchronous copies: a bit each.
int copy_scoreboards(const Body& body);

/// `body`: in its new order, on its new registers. `parity_of_load[i]`: of the step that op i
/// feeds, -1 where op i is no fragment load. Errors: what needs more scoreboards or longer stalls
/// than there are.
OrWhyNot<Body> set_control(const Body& body, std::span<const int> parity_of_load);

}  // namespace tilec::sass
