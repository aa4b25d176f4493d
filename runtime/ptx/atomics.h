// Atomic operations of a warp.
#pragma once

#include "runtime/ptx/block.h"

namespace tilec::ptx {

/// What memory holds after an atomic on `old`, and operands `b` and (for cas) `c`: bits of `type`.
uint64_t combine(AtomicKind kind, Type type, uint64_t old, uint64_t b, uint64_t c);

/// The handler of an access of kind atomic.
Handler atomic_handler(const LaunchConfig& config);

}  // namespace tilec::ptx
