// What Checks::all looks for in accesses: memory never written, data not waited for, races.
#pragma once

#include "runtime/ptx/block.h"

namespace tilec::ptx {

/// A load or store of the lanes of `good`, whose places are good; the pattern of a shared access
/// is the one that was just counted.
void check_access(const Op& op, Lanes& lanes, const Access& access, Space space,
                  const Places& places, uint32_t good);

/// After a store: lanes that wrote one place with different values.
void check_contested(const Op& op, Lanes& lanes, const Access& access, Space space,
                     const Places& places, const Places& hosts, uint32_t good);

/// A cp.async of the lanes `good_to`; those of `good_from` read global memory.
void check_copy(const Op& op, Lanes& lanes, const Access& access, const Places& to,
                uint32_t good_to, const Places& from, uint32_t good_from, const PendingCopy& copy);

}  // namespace tilec::ptx
