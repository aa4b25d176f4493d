// R1 to R4: what can be seen without running the kernel. R5 to R9 stand in rehearse.cpp.
#include "compiler/ir/verify.h"

#include <fmt/format.h>

#include <set>

#include "compiler/ir/rehearse.h"
#include "compiler/ir/text.h"

namespace tilec::ir {
namespace {

constexpr int kMaxExtent = 4096;   // R4: elements along one axis of a tile
constexpr int kMaxStages = 64;     // R4
constexpr int kMaxThreads = 1024;  // R4

using Complaint = std::string;  // empty: fine

Complaint check_sizes(const Kernel& kernel) {
  const ThreadMap& map = kernel.map;
  for (int size : {kernel.tile.m, kernel.tile.n, kernel.tile_k, map.warps.m, map.warps.n,
                   map.lanes.m, map.lanes.n, map.each.m, map.each.n, map.pieces.m, map.pieces.n,
                   kernel.raster.width, kernel.split_k})
    if (size < 1 || size > kMaxExtent)
      return fmt::format("R4: a size of {} in the head; 1 to {} are allowed", size, kMaxExtent);
  constexpr int kMostCluster = 8;  // blocks, on every device
  if (kernel.cluster && (kernel.split_k < 2 || kernel.split_k > kMostCluster || kernel.persistent))
    return fmt::format("R4: a cluster of {}{} blocks; 2 to {} are allowed, of one tile",
                       kernel.split_k, kernel.persistent ? " persistent" : "", kMostCluster);
  if (int64_t{map.warps.m} * map.warps.n * map.lanes.m * map.lanes.n > kMaxThreads)
    return fmt::format("R4: {} threads; at most {} are allowed", map.threads(), kMaxThreads);
  if (const StreamK& stream = kernel.stream; kernel.streams())
    for (int size : {stream.tile.m, stream.tile.n, stream.tile_k, stream.starts.m, stream.starts.n})
      if (size < 1 || size > kMaxExtent || kernel.split_k > 1 || kernel.persistent)
        return fmt::format("R4: stream_k of {}x{}x{}: 1 to {} are allowed, and it stands alone",
                           stream.tile.m, stream.tile.n, stream.tile_k, kMaxExtent);
  for (const Storage& s : kernel.storage) {
    const bool vector = s.vector == 1 || s.vector == 2 || s.vector == 4;
    const bool extents = s.rows >= 1 && s.columns >= 1 && s.rows <= kMaxExtent &&
                         s.columns <= kMaxExtent && s.stages >= 1 && s.stages <= kMaxStages &&
                         s.stride <= 2 * kMaxExtent;
    const bool parts = s.parts >= 1 && s.parts <= kMaxExtent && (s.parts == 1 || !s.stretches);
    if (!vector || !parts || (s.space != Space::global && !extents))
      return fmt::format("R4: storage `{}` has a size out of bounds", s.name);
  }
  return "";
}

// The axes of global operands and rings: one of them k, or m and n for C.
bool is_slice_axes(Axis row, Axis column) {
  return (row == Axis::k) != (column == Axis::k) && row != Axis::none && column != Axis::none;
}

Complaint check_ring(const Kernel& kernel, const Storage& s) {
  if (!is_slice_axes(s.row_axis, s.column_axis))
    return fmt::format("R3: ring `{}` needs k and one of m and n as its axes", s.name);
  const bool k_is_row = s.row_axis == Axis::k;
  const Axis other = k_is_row ? s.column_axis : s.row_axis;
  const int depth = k_is_row ? s.rows : s.columns;
  const int width = k_is_row ? s.columns : s.rows;
  const int tile = other == Axis::m ? kernel.tile.m : kernel.tile.n;
  if (depth != kernel.tile_k || width != tile)
    return fmt::format("R3: ring `{}` holds {} x {}; a slice is {} deep and {} wide", s.name, depth,
                       width, kernel.tile_k, tile);
  if (s.stride < s.columns)
    return fmt::format("R3: ring `{}`: stride {} is less than a row of {}", s.name, s.stride,
                       s.columns);
  if (s.swizzle > 0 &&
      (s.columns % s.swizzle != 0 || ((s.columns / s.swizzle) & (s.columns / s.swizzle - 1)) != 0))
    return fmt::format("R3: ring `{}`: a row of {} in groups of {} is not a power of two of groups",
                       s.name, s.columns, s.swizzle);
  return "";
}

// One of each block of a cluster, for all of its tile, in pieces that lie next to each other in C.
Complaint check_exchange(const Kernel& kernel, const Storage& s) {
  if (!kernel.cluster)
    return fmt::format("R3: exchange `{}` of blocks that are no cluster", s.name);
  if (s.row_axis == Axis::m && s.column_axis == Axis::n && s.rows == kernel.tile.m &&
      s.columns == kernel.tile.n && kernel.map.pieces.n % s.vector == 0)
    return "";
  return fmt::format(
      "R3: exchange `{}` holds {} x {} in vectors of {}; a tile is {} x {} in pieces "
      "of {}",
      s.name, s.rows, s.columns, s.vector, kernel.tile.m, kernel.tile.n, kernel.map.pieces.n);
}

Complaint check_axis(const char* axis, int tile, int warps, int lanes, int each, int pieces) {
  if (int64_t{warps} * lanes * each != tile)
    return fmt::format("R3: along {}: {} warps x {} lanes x {} elements are not the tile's {}",
                       axis, warps, lanes, each, tile);
  if (each % pieces != 0)
    return fmt::format("R3: along {}: pieces of {} do not divide {} elements", axis, pieces, each);
  return "";
}

Complaint check_storage(const Kernel& kernel) {
  const ThreadMap& map = kernel.map;
  if (const StreamK& stream = kernel.stream;
      kernel.streams() &&
      (stream.tile.m % kernel.tile.m != 0 || stream.tile.n % kernel.tile.n != 0))
    return fmt::format("R3: blocks of {}x{} do not fill tiles of {}x{}", kernel.tile.m,
                       kernel.tile.n, stream.tile.m, stream.tile.n);
  Complaint bad =
      check_axis("m", kernel.tile.m, map.warps.m, map.lanes.m, map.each.m, map.pieces.m);
  if (bad.empty())
    bad = check_axis("n", kernel.tile.n, map.warps.n, map.lanes.n, map.each.n, map.pieces.n);
  std::set<std::string> names;
  for (const Storage& s : kernel.storage) {
    if (!bad.empty()) return bad;
    if (!names.insert(s.name).second) return fmt::format("R1: two storages named `{}`", s.name);
    if (s.space == Space::shared) bad = check_ring(kernel, s);
    if (s.space == Space::exchange) bad = check_exchange(kernel, s);
    if (s.space == Space::registers && s.row_axis != Axis::none) {
      const bool accumulators = s.column_axis != Axis::none;
      const int rows = s.row_axis == Axis::m ? map.each.m : map.each.n;
      if (s.rows != rows || (accumulators && s.columns != map.each.n))
        bad = fmt::format("R3: register `{}` is {}x{}; a thread has {}x{} elements", s.name, s.rows,
                          s.columns, map.each.m, map.each.n);
    }
  }
  return bad;
}

// What an op wants of the storages it names.
enum class Want {
  staging,
  fragment_m,
  fragment_n,
  fragment,
  accumulators,
  ring,
  exchange,
  operand,
  c
};

bool satisfies(const Storage& s, Want want) {
  const bool registers = s.space == Space::registers;
  const bool fragment = registers && s.row_axis != Axis::none && s.column_axis == Axis::none;
  switch (want) {
    case Want::staging:
      return registers && s.row_axis == Axis::none;
    case Want::fragment:
      return fragment && s.row_axis != Axis::k;
    case Want::fragment_m:
      return fragment && s.row_axis == Axis::m;
    case Want::fragment_n:
      return fragment && s.row_axis == Axis::n;
    case Want::accumulators:
      return registers && s.row_axis == Axis::m && s.column_axis == Axis::n;
    case Want::ring:
      return s.space == Space::shared;
    case Want::exchange:
      return s.space == Space::exchange;
    case Want::operand:
      return s.space == Space::global && is_slice_axes(s.row_axis, s.column_axis);
    case Want::c:
      return s.space == Space::global && s.row_axis == Axis::m && s.column_axis == Axis::n;
  }
  return false;
}

class Structure {
 public:
  explicit Structure(const Kernel& kernel) : kernel_(kernel) {}

  Complaint block(const Block& ops) {
    for (const Op& op : ops) {
      Complaint bad = check(op);
      if (!bad.empty()) return bad;
    }
    return "";
  }

 private:
  Complaint want(const Op& op, Id id, Want wanted) const {
    if (id >= 0 && id < static_cast<Id>(kernel_.storage.size()) &&
        satisfies(kernel_.at(id), wanted))
      return "";
    return fmt::format("R1: `{}`: a storage of the wrong space or axes", describe(op));
  }

  std::string describe(const Op& op) const {
    const auto valid = [&](Id id) {
      return id >= -1 && id < static_cast<Id>(kernel_.storage.size());
    };
    return valid(op.to) && valid(op.from) && valid(op.from_n) && valid(op.via)
               ? to_text(kernel_, op)
               : "op";
  }

  Complaint scope(const Op& op, const Index& index) const {
    if (index.offset < 0 || index.offset > kMaxExtent)
      return fmt::format("R4: `{}`: an index of {}", describe(op), index.offset);
    if (index.variable.empty() || variables_.count(index.variable) > 0) return "";
    return fmt::format("R2: `{}`: no loop variable `{}` in scope", describe(op), index.variable);
  }

  // The other axis of the two places agree: a fragment along m comes from A's slice.
  Complaint same_operand(const Op& op, const Storage& a, const Storage& b) const {
    const auto outer = [](const Storage& s) {
      return s.row_axis == Axis::k ? s.column_axis : s.row_axis;
    };
    if (outer(a) == outer(b)) return "";
    return fmt::format("R1: `{}`: the two sides lie along different axes", describe(op));
  }

  Complaint staging_size(const Op& op) const {
    const dsl::CopyMap map = copy_map(kernel_, kernel_.at(op.from));
    if (kernel_.at(op.to).rows == map.passes * map.vector) return "";
    return fmt::format("R3: `{}`: {} registers for {} accesses of {}", describe(op),
                       kernel_.at(op.to).rows, map.passes, map.vector);
  }

  // What only a part of K went into must not be taken for C; a cluster's sum is C.
  Complaint parts_of_split(const Op& op) const {
    if (op.kind == OpKind::reduce && kernel_.at(op.to).parts == 1) return "";
    if (kernel_.at(op.to).parts == kernel_.split_k &&
        (kernel_.streams() || !kernel_.at(op.to).stretches))
      return "";
    return fmt::format("R3: `{}`: {} parts for {} blocks that share K", describe(op),
                       kernel_.at(op.to).parts, kernel_.split_k);
  }

  static Complaint first(std::initializer_list<Complaint> complaints) {
    for (const Complaint& c : complaints)
      if (!c.empty()) return c;
    return "";
  }

  Complaint check_fragment(const Op& op) const {
    const bool ring = op.from >= 0 && op.from < static_cast<Id>(kernel_.storage.size()) &&
                      kernel_.at(op.from).space == Space::shared;
    Complaint bad = first({want(op, op.to, Want::fragment),
                           want(op, op.from, ring ? Want::ring : Want::operand),
                           scope(op, op.from_index), scope(op, op.k), scope(op, op.when.left)});
    return bad.empty() ? same_operand(op, kernel_.at(op.to), kernel_.at(op.from)) : bad;
  }

  Complaint check(const Op& op) {
    Complaint bad;
    const auto all = [&](std::initializer_list<Complaint> complaints) {
      if (bad.empty()) bad = first(complaints);
      return bad.empty();
    };
    switch (op.kind) {
      case OpKind::zero:
        all({want(op, op.to, Want::accumulators)});
        break;
      case OpKind::copy:
      case OpKind::async:
        if (op.via >= 0) all({want(op, op.via, Want::staging)});
        if (all({want(op, op.to, Want::ring), want(op, op.from, Want::operand),
                 scope(op, op.to_index), scope(op, op.from_index), scope(op, op.when.left)}))
          all({same_operand(op, kernel_.at(op.to), kernel_.at(op.from))});
        break;
      case OpKind::load:
        if (all({want(op, op.to, Want::staging), want(op, op.from, Want::operand),
                 scope(op, op.from_index), scope(op, op.when.left)}))
          all({staging_size(op)});
        break;
      case OpKind::put:
        all({want(op, op.to, Want::ring), want(op, op.from, Want::staging),
             scope(op, op.to_index)});
        break;
      case OpKind::fragment:
        return check_fragment(op);
      case OpKind::outer:
        all({want(op, op.to, Want::accumulators), want(op, op.from, Want::fragment_m),
             want(op, op.from_n, Want::fragment_n)});
        break;
      case OpKind::sum:
        all({want(op, op.to, Want::accumulators), want(op, op.from, Want::c)});
        break;
      case OpKind::store:
        if (all({want(op, op.to, Want::c), want(op, op.from, Want::accumulators)}))
          all({parts_of_split(op)});
        break;
      case OpKind::share:
        all({want(op, op.to, Want::exchange), want(op, op.from, Want::accumulators)});
        break;
      case OpKind::reduce:
        if (all({want(op, op.to, Want::c), want(op, op.from, Want::exchange)}))
          all({parts_of_split(op)});
        break;
      case OpKind::cluster_barrier:
      case OpKind::depart:
        if (!kernel_.cluster)
          bad = fmt::format("R3: `{}` of blocks that are no cluster", describe(op));
        break;
      case OpKind::loop:
        return check_loop(op);
      case OpKind::branch:
        all({scope(op, op.when.left), block(op.body), block(op.otherwise)});
        break;
      case OpKind::wait:
        if (op.count < 0 || op.count > kMaxStages) bad = "R4: `wait` of a count out of bounds";
        break;
      case OpKind::commit:
      case OpKind::barrier:
        break;
    }
    return bad;
  }

  Complaint check_loop(const Op& op) {
    if (op.count < 1 || op.count > kMaxExtent || op.lower.number > kMaxExtent ||
        op.upper.number > kMaxExtent)
      return fmt::format("R4: `{}`: a bound or a step out of bounds", describe(op));
    if (!variables_.insert(op.variable).second)
      return fmt::format("R2: `{}`: the variable is already in use", describe(op));
    Complaint bad = block(op.body);
    variables_.erase(op.variable);
    return bad;
  }

  const Kernel& kernel_;
  std::set<std::string> variables_;
};

}  // namespace

dsl::Result<void> verify(const Kernel& kernel) {
  Complaint bad = check_sizes(kernel);
  if (bad.empty()) bad = check_storage(kernel);
  if (bad.empty()) bad = Structure(kernel).block(kernel.ops);
  if (bad.empty()) bad = rehearse(kernel);
  if (bad.empty()) return {};
  const size_t colon = bad.find(':');
  return tl::unexpected(dsl::Error::user("tile-ir-" + bad.substr(0, colon), bad.substr(colon + 2)));
}

}  // namespace tilec::ir
