// Which registers a loop's trips hand to each other.
#pragma once

#include <vector>

#include "compiler/ir/kernel.h"

namespace tilec::codegen {

/// Register storages that `body` reads before it has written them, and writes: those need a phi.
std::vector<ir::Id> carried_by(const ir::Block& body);

}  // namespace tilec::codegen
