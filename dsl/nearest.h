// The nearest spec that keeps every rule: what a refusal shows as the way out.
#pragma once

#include <optional>

#include "dsl/limits.h"
#include "dsl/request.h"

namespace tilec::dsl {

/// Searches outwards from `request`: numbers change by factors, clauses are dropped or added, each
/// at a price, and the cheapest legal request found is returned, always one that `complete` takes
/// for the same target. Everything that no rule speaks of (layout, epilogue, raster, edges, name)
/// is kept. Bounded in time (some tens of ms at worst); if nothing near is legal, a
/// small plain kernel.
Request nearest_legal(const Request& request, const Limits& limits);

}  // namespace tilec::dsl
