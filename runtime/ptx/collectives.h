// Instructions that lanes of a warp carry out together.
#pragma once

#include "runtime/ptx/block.h"

namespace tilec::ptx {

/// The handler of a collective; Lanes::mask holds the lanes that take part.
Handler collective_handler(const Collective& collective);

}  // namespace tilec::ptx
