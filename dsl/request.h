// What the user asked for, typed: a Spec in which everything may still be missing. Between the
// AST, which has places but no meaning, and the Spec, which has every default filled in.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/spec.h"

namespace tilec::dsl {

struct SharedRequest {
  std::optional<bool> transposed;
  std::optional<int> padding;
  bool swizzled = false;
  bool any() const { return transposed || padding || swizzled; }
  bool operator==(const SharedRequest&) const = default;
};

/// A vector width: a demand, or (`at_most`, and the shared part of plain `vector N`) a bound.
struct VectorRequest {
  int width = 1;
  bool exact = true;
  bool operator==(const VectorRequest&) const = default;
};

struct Request {
  std::string name = "gemm";
  std::optional<Extent> tile;
  std::optional<int> tile_k;
  std::optional<Extent> warp;
  std::optional<Extent> thread;
  std::optional<int> stages;
  std::optional<CopyMode> copy;
  std::optional<VectorRequest> vector_global;
  std::optional<VectorRequest> vector_shared;
  std::optional<LaneOrder> lanes;
  std::optional<Extent> lane_grid;
  std::optional<FragmentShape> fragment;
  SharedRequest shared_a;
  SharedRequest shared_b;
  std::optional<int> blocks_per_sm;
  std::optional<int> registers;
  std::optional<Raster> raster;
  std::optional<int> split_k;
  std::optional<int> cluster;  // blocks along K
  std::optional<bool> stream_k;
  std::optional<bool> persistent;
  std::optional<bool> staged_store;
  std::optional<OperandLayout> layout;
  std::optional<Expression> epilogue;
  std::optional<Edges> edges;
  std::optional<bool> sass;
  std::optional<std::string> target;
};

/// Where each clause stands in the text; where a clause is missing, the point that a complaint
/// about its default should name.
struct Places {
  std::array<std::optional<Span>, kClauseCount> clause;
  Span whole;
  Span of(ClauseKind kind) const;  // the clause, else `tile`, else the whole spec
};

/// Largest values that a clause takes; the smallest is 1 (0 for padding, 16 for registers).
inline constexpr int kMostTile = 1024;  // rows or columns of a tile
inline constexpr int kMostTileK = 256;  // elements of K in a slice
inline constexpr int kMostStages = 16;
inline constexpr int kMostPadding = 64;  // elements
inline constexpr int kMostSwizzle = 64;  // tile rows of a band
inline constexpr int kMostSplit = 256;   // blocks that share K
inline constexpr int kMostCluster = 8;   // blocks of a cluster that every device takes
inline constexpr int kMostBlocksPerSm = 32;
inline constexpr int kFewestRegisters = 16;
inline constexpr int kMostRegisters = 255;

/// Reads an AST. Faults: numbers out of range, clauses that are not built, sets, a missing tile.
/// A clause with a fault is left out of the request and added to `broken`.
Request read_request(const SpecAst& ast, ClauseSet& broken, std::vector<Diagnostic>& faults);
Places places_of(const SpecAst& ast);

/// The request as clauses on one line; parses back to the same request.
std::string to_string(const Request& request);

}  // namespace tilec::dsl
