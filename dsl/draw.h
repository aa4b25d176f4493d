// Small pictures in text: which lane has which part of the tile, and which element which bank.
#pragma once

#include <string>

#include "dsl/spec.h"

namespace tilec::dsl {

/// The lane grid of a warp (without `warp`: the threads of the block), m down and n across. Grids
/// of more than 8 x 16 are cut.
std::string draw_lanes(const Spec& spec);

/// The first rows of a slice in shared memory: under each fourth bank the m or n (or k) of the
/// element that lies there first.
std::string draw_slice(const Spec& spec, bool operand_a);

}  // namespace tilec::dsl
