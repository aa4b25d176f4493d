#include "compiler/ir/kernel.h"

#include <algorithm>

#include "dsl/limits.h"

namespace tilec::ir {

namespace {

bool contains_sum(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Op& op) {
    return op.kind == OpKind::sum || contains_sum(op.body) || contains_sum(op.otherwise);
  });
}

// `griddepcontrol` is of sm_90 and all that came after it.
bool launches_overlap(const Kernel& kernel) {
  const bool parts = std::any_of(kernel.storage.begin(), kernel.storage.end(),
                                 [](const Storage& s) { return s.is_workspace(); });
  return parts && dsl::machine_number(kernel.target) >= 90;
}

}  // namespace

bool sums(const Kernel& kernel) {
  return contains_sum(kernel.ops);
}

bool lets_next_start(const Kernel& kernel) {
  return launches_overlap(kernel) && !sums(kernel);
}

bool awaits_launch_before(const Kernel& kernel) {
  return launches_overlap(kernel) && sums(kernel);
}

Id Kernel::find(const std::string& storage_name) const {
  const auto found = std::find_if(storage.begin(), storage.end(),
                                  [&](const Storage& s) { return s.name == storage_name; });
  return found == storage.end() ? -1 : static_cast<Id>(found - storage.begin());
}

int shared_offset(const Storage& ring, int k, int x) {
  const bool k_is_row = ring.row_axis == Axis::k;
  const int row = k_is_row ? k : x;
  int column = k_is_row ? x : k;
  if (ring.swizzle > 0) {
    const int groups = ring.columns / ring.swizzle;
    column ^= row % groups * ring.swizzle;
  }
  return row * ring.stride + column;
}

int slot_elements(const Storage& ring) {
  constexpr int kAlignment = 4;  // elements in 16 bytes
  return (ring.rows * ring.stride + kAlignment - 1) / kAlignment * kAlignment;
}

int64_t shared_elements(const Kernel& kernel) {
  int64_t rings = 0;
  int64_t exchange = 0;
  for (const Storage& s : kernel.storage) {
    if (s.space == Space::shared) rings += int64_t{s.stages} * slot_elements(s);
    if (s.space == Space::exchange) exchange = std::max(exchange, int64_t{s.rows} * s.columns);
  }
  return std::max(rings, exchange);
}

dsl::CopyMap copy_map(const Kernel& kernel, const Storage& operand) {
  const auto extent = [&](Axis axis) {
    return axis == Axis::k ? kernel.tile_k : axis == Axis::m ? kernel.tile.m : kernel.tile.n;
  };
  dsl::CopyMap map{.rows = extent(operand.row_axis),
                   .columns = extent(operand.column_axis),
                   .vector = operand.vector};
  const int accesses = map.rows * map.columns / map.vector;
  map.passes = (accesses + kernel.map.threads() - 1) / kernel.map.threads();
  return map;
}

}  // namespace tilec::ir
