#include "dsl/staging.h"

#include <algorithm>

#include "dsl/defaults.h"
#include "dsl/derive.h"

namespace tilec::dsl {
namespace {

constexpr int kLanes = 32;
constexpr int kBanks = 32;

}  // namespace

int staged_vector(const StagedTile& tile) {
  return widest_vector(kWidestVector, tile.pieces.n);
}

Staging plan_staging(const StagedTile& tile) {
  Staging out;
  out.width = tile.lanes.n * tile.each.n;
  if (tile.lanes.m * tile.lanes.n != kLanes || tile.pieces.n == 1) return out;
  if (out.width % kLanes != 0 && kLanes % out.width != 0) return out;
  out.stride = out.width;
  const int vector = staged_vector(tile);
  const int side_by_side = std::min(tile.lanes.n * vector, kBanks);
  while (out.stride % kBanks != side_by_side % kBanks) out.stride += vector;
  const int warps = tile.warps.m * tile.warps.n;
  for (int rows = tile.pieces.m; rows > 0; --rows) {
    const int64_t region = int64_t{rows} * tile.lanes.m * out.stride;
    if (tile.pieces.m % rows != 0 || region * warps > tile.room) continue;
    out.rows = rows;
    out.region = region;
    break;
  }
  return out;
}

}  // namespace tilec::dsl
