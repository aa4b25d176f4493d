// Instructions that lanes of a warp carry out together.
#pragma once

#include "runtime/ptx/block.h"

namespace tilec::ptx {

/// The handler of a collective; Lanes::mask holds the lanes that take part.
Handler collective_handler(const Collective& collective);

/// The lane that each lane of a shuffle reads.
std::array<uint8_t, kLanes> shuffle_sources(const Op& op, const Lanes& lanes);

}  // namespace tilec::ptx
