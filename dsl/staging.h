// `staged_store`: how a warp lays rows of C down in the slices' shared memory, to store them from
// there 32 elements side by side.
//
//   slot of a row      r * lanes.m + lane's place along m, for row r of the lane's piece
//   element of a slot  its column in the warp's tile
//   stride of slots    so that eight lanes with 16 bytes each write to different banks
#pragma once

#include <cstdint>

#include "dsl/spec.h"

namespace tilec::dsl {

/// Whose rows, and where: extents in warps, lanes and elements of C, `room` in elements.
struct StagedTile {
  Extent warps, lanes, each, pieces;
  int64_t room = 0;  // of the slices
};

struct Staging {
  int rows = 0;        // of a lane's piece at once; 0: they cannot be laid down
  int width = 0;       // elements of a row of the warp's tile
  int stride = 0;      // elements from slot to slot
  int64_t region = 0;  // elements of a warp
};

/// No rows where a warp has not 32 lanes, where a lane's neighbour has the neighbouring element
/// anyway, where rows of the warp's tile and 32 lanes do not divide each other, and where the
/// slices leave too little room for one row of each lane.
Staging plan_staging(const StagedTile& tile);

/// Elements of C that a lane lays down in one access.
int staged_vector(const StagedTile& tile);

}  // namespace tilec::dsl
