#include "dsl/request.h"

#include <fmt/format.h>

#include "dsl/text.h"
#include "dsl/words.h"

namespace tilec::dsl {
namespace {

// Clauses that parse and are refused, and what to say of each.
struct NotBuilt {
  ClauseKind kind;
  Fault fault;
  std::string_view help;
};
constexpr NotBuilt kNotBuilt[] = {
    {ClauseKind::mma, Fault::mma_not_built, "use `thread` for kernels on CUDA cores"},
    {ClauseKind::roles, Fault::roles_not_built, "leave it out: every warp copies and computes"},
};

class Reader {
 public:
  Reader(const SpecAst& ast, ClauseSet& broken, std::vector<Diagnostic>& faults)
      : ast_(ast), broken_(broken), faults_(faults) {}

  Request run() {
    request_.name = ast_.name;
    for (const Clause& clause : ast_.clauses) {
      if (!ast_.broken.test(static_cast<size_t>(clause.kind)) && !has_set(clause)) read(clause);
    }
    if (!ast_.find(ClauseKind::tile) && !is_broken(ClauseKind::tile)) {
      faults_.push_back(diagnose(Fault::missing_tile, {ast_.span.begin, ast_.span.begin},
                                 "every spec says its tile", "add, say, `tile 128x128`"));
      set_broken(ClauseKind::tile);
    }
    return std::move(request_);
  }

 private:
  bool is_broken(ClauseKind kind) const { return broken_.test(static_cast<size_t>(kind)); }
  void set_broken(ClauseKind kind) { broken_.set(static_cast<size_t>(kind)); }

  void fault(const Clause& clause, Fault fault, Span span, std::string message,
             std::string help = "") {
    faults_.push_back(diagnose(fault, span, std::move(message), std::move(help)));
    set_broken(clause.kind);
  }

  bool has_set(const Clause& clause) {
    for (const Slot& slot : clause.slots) {
      if (slot.choices.size() <= 1) continue;
      fault(clause, Fault::set_in_spec, slot.span,
            fmt::format("`{}` has a set of {} values, and a spec takes one",
                        row_of(clause.kind).word, slot.choices.size()),
            "a set makes a space of specs, not one spec: write a single value");
      return true;
    }
    return false;
  }

  // The slot's number if it lies in [least, most].
  std::optional<int> number(const Clause& clause, const Slot& slot, int least, int most,
                            std::string_view what = "") {
    const Atom& atom = slot.choices.front();
    if (atom.number >= least && atom.number <= most) return static_cast<int>(atom.number);
    std::string_view subject = what.empty() ? row_of(clause.kind).word : what;
    int nearest = atom.number < least ? least : most;
    fault(clause, Fault::out_of_range, atom.span,
          fmt::format("{} {} is out of range: it is {} to {}", subject, atom.number, least, most),
          fmt::format("the nearest is {}", nearest));
    return std::nullopt;
  }

  std::optional<Extent> extent(const Clause& clause) {
    std::optional<int> m = number(clause, *clause.find(Role::m), 1, kMostTile);
    std::optional<int> n = number(clause, *clause.find(Role::n), 1, kMostTile);
    if (!m || !n) return std::nullopt;
    return Extent{*m, *n};
  }

  std::optional<int> only_number(const Clause& clause, int least, int most) {
    return number(clause, clause.slots.front(), least, most);
  }

  static const std::string& only_word(const Clause& clause) {
    return clause.slots.front().choices.front().word;
  }

  void read(const Clause& clause) {
    using enum ClauseKind;
    switch (clause.kind) {
      case tile:
        return read_tile(clause);
      case warp:
        request_.warp = extent(clause);
        return;
      case thread:
        request_.thread = extent(clause);
        return;
      case stages:
        request_.stages = only_number(clause, 1, kMostStages);
        return;
      case copy:
        return read_copy(clause);
      case vector:
        return read_vector(clause);
      case lanes:
        return read_lanes(clause);
      case fragment:
        request_.fragment = value_of(kFragmentWords, only_word(clause));
        return;
      case shared:
        return read_shared(clause);
      case blocks_per_sm:
        request_.blocks_per_sm = only_number(clause, 1, kMostBlocksPerSm);
        return;
      case registers:
        request_.registers = only_number(clause, kFewestRegisters, kMostRegisters);
        return;
      case raster:
        return read_raster(clause);
      case split_k:
        request_.split_k = only_number(clause, 1, kMostSplit);
        return;
      case cluster:
        return read_cluster(clause);
      case stream_k:
        request_.stream_k = true;
        return;
      case persistent:
        request_.persistent = true;
        return;
      case staged_store:
        request_.staged_store = true;
        return;
      case layout:
        request_.layout = value_of(kLayoutWords, only_word(clause));
        return;
      case epilogue:
        request_.epilogue = clause.expression;
        return;
      case edges:
        request_.edges = value_of(kEdgesWords, only_word(clause));
        return;
      case target:
        request_.target = only_word(clause);
        return;
      case type:
        return only_f32(clause, Fault::type_not_built);
      case accumulate:
        return only_f32(clause, Fault::accumulate_not_built);
      case output:
        return only_f32(clause, Fault::output_not_built);
      case sass:
        request_.sass = only_word(clause) == "on";
        break;
      default:
        return not_built(clause);
    }
  }

  void read_tile(const Clause& clause) {
    request_.tile = extent(clause);
    if (const Slot* k = clause.find(Role::k)) request_.tile_k = number(clause, *k, 1, kMostTileK);
  }

  void read_cluster(const Clause& clause) {
    const Slot& m = *clause.find(Role::m);
    const Slot& n = *clause.find(Role::n);
    const Slot* k = clause.find(Role::k);
    if (m.choices.front().number == 1 && n.choices.front().number == 1) {
      request_.cluster = k == nullptr ? 1 : number(clause, *k, 1, kMostCluster);
      return;
    }
    fault(clause, Fault::cluster_not_built, clause.span,
          "`cluster` along M and N is understood, but not built yet: the blocks of a cluster share "
          "the slices of K of one tile",
          "`cluster 1x1xP` is built, or leave it out");
  }

  void read_copy(const Clause& clause) {
    request_.copy = value_of(kCopyWords, only_word(clause));
    if (request_.copy) return;
    fault(clause, Fault::tma_not_built, clause.span,
          "`copy tma` is understood, but the bulk copy engine is not built yet",
          "`copy async` is the nearest");
  }

  void read_vector(const Clause& clause) {
    for (const Slot& slot : clause.slots) {
      const Atom& width = slot.choices.front();
      if (width.number != 1 && width.number != 2 && width.number != 4) {
        std::string_view nearest = width.number < 2 ? "1" : width.number < 4 ? "2" : "4";
        fault(clause, Fault::vector_not_a_power, width.span,
              fmt::format("vector {} is no width of an access: f32 takes 1, 2 or 4 elements "
                          "(4, 8 or 16 bytes)",
                          width.number),
              fmt::format("the nearest is {}", nearest));
        continue;
      }
      VectorRequest request{static_cast<int>(width.number), !slot.at_most};
      if (slot.role == Role::shared) request_.vector_shared = request;
      if (slot.role == Role::global) request_.vector_global = request;
    }
    // `vector N` alone speaks of both; of shared memory only as a bound, since a thread's tile of
    // one row takes no vectors along it.
    if (!clause.slots[0].labelled && request_.vector_global) {
      request_.vector_shared = VectorRequest{request_.vector_global->width, false};
    }
  }

  void read_lanes(const Clause& clause) {
    if (const Slot* order = clause.find(Role::order)) {
      request_.lanes = value_of(kLaneWords, order->choices.front().word);
    }
    if (clause.find(Role::m)) request_.lane_grid = extent(clause);
  }

  void read_shared(const Clause& clause) {
    SharedRequest a, b;
    for (const Slot& slot : clause.slots) {
      const Atom& atom = slot.choices.front();
      std::optional<int> padding;
      if (slot.role == Role::padding) {
        padding = number(clause, slot, 0, kMostPadding, "padding");
        if (!padding) continue;
      }
      for (SharedRequest* of : {&a, &b}) {
        if (slot.operand == (of == &a ? Operand::b : Operand::a)) continue;
        if (!set_form(*of, slot, atom, padding)) {
          fault(clause, Fault::shared_twice, slot.span,
                fmt::format("the layout of {} is said twice here", of == &a ? "A" : "B"),
                "an operand is plain or transposed, and padded or swizzled or neither");
          break;
        }
      }
    }
    if (is_broken(ClauseKind::shared)) return;
    request_.shared_a = a;
    request_.shared_b = b;
  }

  // False where the form contradicts or repeats one said before.
  static bool set_form(SharedRequest& of, const Slot& slot, const Atom& atom,
                       std::optional<int> padding) {
    if (slot.role == Role::orientation) {
      if (of.transposed) return false;
      of.transposed = value_of(kOrientationWords, atom.word);
      return true;
    }
    if (of.padding || of.swizzled) return false;
    of.padding = padding;
    of.swizzled = slot.role == Role::swizzled;
    return true;
  }

  void read_raster(const Clause& clause) {
    Raster raster;
    std::string_view order = clause.find(Role::order)->choices.front().word;
    raster.order = value_of(kRasterWords, order).value_or(RasterOrder::rows);
    if (const Slot* width = clause.find(Role::width)) {
      std::optional<int> bands = number(clause, *width, 1, kMostSwizzle, "raster swizzle");
      if (!bands) return;
      raster.width = *bands;
    }
    request_.raster = raster;
  }

  void only_f32(const Clause& clause, Fault not_built) {
    if (only_word(clause) == "f32") return;
    fault(clause, not_built, clause.span,
          fmt::format("`{} {}` is understood, but only f32 is built yet", row_of(clause.kind).word,
                      only_word(clause)),
          fmt::format("`{} f32`, or leave it out", row_of(clause.kind).word));
  }

  void not_built(const Clause& clause) {
    for (const NotBuilt& row : kNotBuilt) {
      if (row.kind != clause.kind) continue;
      fault(clause, row.fault, clause.span,
            fmt::format("`{}` is understood, but not built yet", row_of(clause.kind).word),
            std::string(row.help));
    }
    // `mma` stands in place of `thread`, so nothing is said about a default thread tile.
    if (clause.kind == ClauseKind::mma) set_broken(ClauseKind::thread);
  }

  const SpecAst& ast_;
  ClauseSet& broken_;
  std::vector<Diagnostic>& faults_;
  Request request_;
};

}  // namespace

Span Places::of(ClauseKind kind) const {
  if (const auto& own = clause[static_cast<size_t>(kind)]) return *own;
  const auto& tile = clause[static_cast<size_t>(ClauseKind::tile)];
  return tile ? *tile : whole;
}

Request read_request(const SpecAst& ast, ClauseSet& broken, std::vector<Diagnostic>& faults) {
  return Reader(ast, broken, faults).run();
}

Places places_of(const SpecAst& ast) {
  Places places;
  places.whole = ast.span;
  for (const Clause& clause : ast.clauses) {
    places.clause[static_cast<size_t>(clause.kind)] = clause.span;
  }
  return places;
}

}  // namespace tilec::dsl
