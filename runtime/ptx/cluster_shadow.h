// What is known of a block's shared memory in a cluster of several: who of which block wrote each
// grain last, and which blocks have read it since. It looks for clashes between blocks; those
// within one are SharedShadow's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/ptx/findings.h"
#include "runtime/ptx/program.h"

namespace tilec::ptx {

class ClusterRun;

/// A thread that makes an access, or made one, before its arrival number `epoch`.
struct Visitor {
  uint32_t op = kNone;
  uint32_t rank = 0;
  uint32_t thread = 0;  // of its block
  uint32_t epoch = 0;
  uint32_t waits = 0;  // phases that it has waited for
};

struct VisitorClash {
  FindingKind kind{};
  Visitor with;  // op kNone: nobody (never written)
};

class ClusterShadow {
 public:
  ClusterShadow(const ClusterRun& cluster, uint64_t cells);

  void reset();
  std::optional<VisitorClash> read(size_t cell, const Visitor& by);
  std::optional<VisitorClash> write(size_t cell, const Visitor& by, bool pending = false);

 private:
  struct Cell {
    Visitor writer;
    bool pending = false;  // a cp.async that has not landed
  };

  const ClusterRun& cluster_;
  std::vector<Cell> cells_;
  std::vector<Visitor> reads_;  // [cell][rank]: the last
};

}  // namespace tilec::ptx
