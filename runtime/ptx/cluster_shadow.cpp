#include "runtime/ptx/cluster_shadow.h"

#include <algorithm>

#include "runtime/ptx/cluster.h"

namespace tilec::ptx {

ClusterShadow::ClusterShadow(const ClusterRun& cluster, uint64_t cells)
    : cluster_(cluster), cells_(cells), reads_(cells * cluster.size()) {}

void ClusterShadow::reset() {
  std::fill(cells_.begin(), cells_.end(), Cell{});
  std::fill(reads_.begin(), reads_.end(), Visitor{});
}

std::optional<VisitorClash> ClusterShadow::read(size_t cell, const Visitor& by) {
  const Cell& at = cells_[cell];
  Visitor& last = reads_[cell * cluster_.size() + by.rank];
  if (last.op == kNone || last.epoch <= by.epoch) last = by;
  if (at.writer.op == kNone) return VisitorClash{FindingKind::unwritten_memory, {}};
  if (at.writer.rank == by.rank) return std::nullopt;
  if (at.pending) return VisitorClash{FindingKind::not_waited_for, at.writer};
  if (cluster_.ordered(at.writer.rank, at.writer.epoch, by.waits)) return std::nullopt;
  return VisitorClash{FindingKind::shared_race, at.writer};
}

std::optional<VisitorClash> ClusterShadow::write(size_t cell, const Visitor& by, bool pending) {
  Cell& at = cells_[cell];
  std::optional<VisitorClash> clash;
  const auto look_at = [&](const Visitor& other) {
    if (other.op == kNone || other.rank == by.rank ||
        cluster_.ordered(other.rank, other.epoch, by.waits))
      return;
    clash = VisitorClash{FindingKind::shared_race, other};
  };
  look_at(at.writer);
  for (uint32_t rank = 0; rank < cluster_.size(); ++rank) {
    Visitor& read = reads_[cell * cluster_.size() + rank];
    look_at(read);
    read = {};
  }
  at = {.writer = by, .pending = pending};
  return clash;
}

}  // namespace tilec::ptx
