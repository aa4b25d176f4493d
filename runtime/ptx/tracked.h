// Registers that some path reads before it writes them, watched lane by lane.
//
// Reading what was never written is not yet a fault: a value that no one looks at may flow through
// shuffles and sums, as compilers let it. It is one where it comes to matter: as an address, a
// guard, a branch, what is stored. So arithmetic passes on which lanes hold nothing, with the place
// where that was read, and the other instructions report it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/program.h"

namespace tilec::ptx {

struct Op;
struct Warp;

/// Lanes of the tracked registers of one warp.
struct Tracked {
  struct Origin {
    uint32_t op = kNone;  // that read a register never written
    uint32_t reg = kNone;
  };
  std::vector<uint32_t> written;  // by index into Code::tracked: lanes that hold something
  std::vector<Origin> origins;    // why the others do not; none: nothing was ever written there

  void reset(const Code& code);
};

/// Before `op` runs for the lanes of `mask`: what it looks at and was never written is found.
/// `guards`: its guard alone, for the lanes that ask for it; or all but the guard.
void check_reads(const Op& op, Warp& warp, uint32_t mask, bool guards);

/// Before it runs: the lanes in which all that goes into its results holds something.
uint32_t held_by_sources(const Op& op, const Warp& warp);

/// After it has run: its results hold something in those lanes of `mask`.
void note_writes(const Op& op, Warp& warp, uint32_t mask, uint32_t held);

}  // namespace tilec::ptx
