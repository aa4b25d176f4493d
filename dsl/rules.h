// The checks behind the table of validate.cpp. Each looks at a subject and says why its rule does
// not hold, or nothing. They are total: a subject may break any other rule at the same time.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "dsl/validate.h"

namespace tilec::dsl {

using Found = std::optional<Finding>;

inline constexpr int kLanes = 32;  // of a warp

inline std::string text(const Extent& extent) {
  return fmt::format("{}x{}", extent.m, extent.n);
}

// rules_tiles.cpp: how tiles, threads and lanes fit each other.
Found warp_divides_tile(const Subject& subject);
Found thread_divides_warp(const Subject& subject);
Found thread_divides_tile(const Subject& subject);
Found warp_has_32_lanes(const Subject& subject);
Found interleaved_lanes_have_a_warp(const Subject& subject);
Found lanes_agree(const Subject& subject);
Found threads_fit(const Subject& subject);
Found stream_k_stands_alone(const Subject& subject);

// rules_clusters.cpp: what blocks of a cluster share.
Found target_has_clusters(const Subject& subject);
Found cluster_shares_k(const Subject& subject);
Found cluster_computes_one_tile(const Subject& subject);

// rules_copies.cpp: vectors and the layout of slices.
Found vector_divides(const Subject& subject);
Found shared_vector_narrow_enough(const Subject& subject);
Found padding_keeps_vector(const Subject& subject);
Found swizzle_has_power_of_two(const Subject& subject);
Found copy_none_has_one_stage(const Subject& subject);
Found copy_none_says_nothing_of_shared(const Subject& subject);

// rules_resources.cpp: what the machine has.
Found shared_fits(const Subject& subject);
Found parts_fit(const Subject& subject);
Found thread_tile_fits_registers(const Subject& subject);
Found registers_suffice(const Subject& subject);
Found blocks_fit_one_sm(const Subject& subject);
Found body_fits_budget(const Subject& subject);
Found staged_store_has_room(const Subject& subject);

}  // namespace tilec::dsl
