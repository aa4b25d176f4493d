#include "dsl/nearest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <unordered_set>
#include <vector>

#include "dsl/defaults.h"
#include "dsl/derive.h"
#include "dsl/validate.h"

namespace tilec::dsl {
namespace {

// The numbers of a request that the search turns, 0 where the clause is not written.
enum Knob {
  kTileM,
  kTileN,
  kTileK,
  kWarpM,
  kWarpN,
  kThreadM,
  kThreadN,
  kStages,
  kGlobalVector,
  kSharedVector,
  kBlocks,
  kRegisters,
  kPaddingA,
  kPaddingB,
  // The rest are switches: 1 where the request's clause is kept.
  kLanesKept,
  kSharedKept,
  kFragmentKept,
  kCopyKept,
  kDivisionKept,  // `split_k`, `persistent` and `cluster`
  kClusterKept,
  kStagedKept,
  kKnobs
};
using Knobs = std::array<int16_t, kKnobs>;

constexpr int kMostLooks = 6000;  // requests looked at; each takes a few us
constexpr int kMostSpread = 120;  // requests whose neighbours are put into the queue

// Prices, in doublings of one number.
constexpr double kStepPrice = 0.25;     // of any change at all
constexpr double kDropPrice = 2.0;      // of leaving a clause out
constexpr double kAddPrice = 2.0;       // of `warp`, where there was none
constexpr double kTileWeight = 3.0;     // the tile is what was wanted most
constexpr double kDefaultWeight = 0.5;  // of what was never written
constexpr double kSkewWeight = 0.3;     // of turning one extent more than the other

Knobs knobs_of(const Request& request) {
  Knobs knobs{};
  auto set = [&](Knob knob, int value) { knobs[knob] = static_cast<int16_t>(value); };
  Extent tile = request.tile.value_or(Extent{1, 1});
  set(kTileM, tile.m);
  set(kTileN, tile.n);
  set(kTileK, request.tile_k.value_or(0));
  set(kWarpM, request.warp ? request.warp->m : 0);
  set(kWarpN, request.warp ? request.warp->n : 0);
  set(kThreadM, request.thread ? request.thread->m : 0);
  set(kThreadN, request.thread ? request.thread->n : 0);
  set(kStages, request.stages.value_or(0));
  set(kGlobalVector, request.vector_global ? request.vector_global->width : 0);
  set(kSharedVector, request.vector_shared ? request.vector_shared->width : 0);
  set(kBlocks, request.blocks_per_sm.value_or(0));
  set(kRegisters, request.registers.value_or(0));
  set(kPaddingA, request.shared_a.padding.value_or(0));
  set(kPaddingB, request.shared_b.padding.value_or(0));
  set(kLanesKept, request.lane_grid ? 1 : 0);
  set(kSharedKept, request.shared_a.any() || request.shared_b.any() ? 1 : 0);
  set(kFragmentKept, request.fragment ? 1 : 0);
  set(kCopyKept, request.copy ? 1 : 0);
  set(kDivisionKept,
      request.stream_k && (request.split_k || request.persistent || request.cluster) ? 1 : 0);
  set(kClusterKept, request.cluster ? 1 : 0);
  set(kStagedKept, request.staged_store ? 1 : 0);
  return knobs;
}

template <class Value>
void keep(std::optional<Value>& into, int knob) {
  if (knob > 0) {
    into = knob;
  } else {
    into.reset();
  }
}

Request with_knobs(const Knobs& knobs, Request request) {
  request.tile = Extent{knobs[kTileM], knobs[kTileN]};
  keep(request.tile_k, knobs[kTileK]);
  request.warp.reset();
  if (knobs[kWarpM] > 0) request.warp = Extent{knobs[kWarpM], knobs[kWarpN]};
  request.thread.reset();
  if (knobs[kThreadM] > 0) request.thread = Extent{knobs[kThreadM], knobs[kThreadN]};
  keep(request.stages, knobs[kStages]);
  keep(request.blocks_per_sm, knobs[kBlocks]);
  keep(request.registers, knobs[kRegisters]);
  auto vector = [](std::optional<VectorRequest>& of, int knob) {
    if (knob == 0) of.reset();
    if (of) of->width = knob;
  };
  vector(request.vector_global, knobs[kGlobalVector]);
  vector(request.vector_shared, knobs[kSharedVector]);
  if (request.shared_a.padding) request.shared_a.padding = knobs[kPaddingA];
  if (request.shared_b.padding) request.shared_b.padding = knobs[kPaddingB];
  if (knobs[kLanesKept] == 0) request.lane_grid.reset();
  if (knobs[kSharedKept] == 0) request.shared_a = request.shared_b = {};
  if (knobs[kFragmentKept] == 0) request.fragment.reset();
  if (knobs[kCopyKept] == 0) request.copy.reset();
  if (knobs[kStagedKept] == 0) request.staged_store.reset();
  if (request.cluster && knobs[kClusterKept] == 0) {
    // K is shared all the same.
    if (!request.split_k) request.split_k = request.cluster;
    request.cluster.reset();
  }
  if (request.stream_k && knobs[kDivisionKept] == 0) {
    request.split_k.reset();
    request.persistent.reset();
    request.cluster.reset();
  }
  return request;
}

bool legal(const Request& request, const Limits& limits, LayoutSearch search) {
  Spec spec = fill_defaults(request, limits, search);
  Derived derived = derive(spec, limits);
  return is_legal({request, spec, derived, limits});
}

class Search {
 public:
  /// Looks at requests that cost at most `bound`.
  Search(const Request& request, const Limits& limits, double bound)
      : request_(request), limits_(limits), bound_(bound) {}

  std::optional<Request> run() {
    offer(knobs_of(request_), 0);
    int looks = 0, spread = 0;
    while (!queue_.empty() && looks < kMostLooks) {
      auto [price, knobs] = queue_.top();
      queue_.pop();
      ++looks;
      Request candidate = with_knobs(knobs, request_);
      if (legal(candidate, limits_, LayoutSearch::none) &&
          legal(candidate, limits_, LayoutSearch::thorough)) {
        return candidate;
      }
      if (spread++ < kMostSpread) spread_from(knobs, price);
    }
    return std::nullopt;
  }

 private:
  struct Entry {
    double price;
    Knobs knobs;
    bool operator<(const Entry& other) const {  // the queue's top is its greatest
      return price != other.price ? price > other.price : knobs > other.knobs;
    }
  };

  // Two requests of one hash would cost one of them its place in the search, and nothing else.
  void offer(const Knobs& knobs, double price) {
    if (price > bound_) return;
    uint64_t hash = 0xcbf29ce484222325u;
    for (int16_t knob : knobs) hash = (hash ^ static_cast<uint16_t>(knob)) * 0x100000001b3u;
    if (seen_.insert(hash).second) queue_.push({price, knobs});
  }

  static double doublings(int from, int to) {
    return std::log2(static_cast<double>(to) / std::max(1, from));
  }

  // Values worth trying for an extent that was `from`: powers of two, and divisors of `whole`.
  static std::vector<int> extents(int from, int whole, int most) {
    std::vector<int> out;
    for (int value = 1; value <= most; value *= 2) out.push_back(value);
    for (int value = 1; value <= std::min(whole, most); ++value) {
      bool near = value * 2 >= from && value <= from * 2;
      if (near && whole % value == 0) out.push_back(value);
    }
    if (from > 0) out.push_back(from);
    return out;
  }

  // Both extents of a tile at once: few tiles become legal by one of them alone.
  void turn_pair(const Knobs& knobs, double price, Knob m, Knob n, int whole_m, int whole_n,
                 int most) {
    double weight = m == kTileM ? kTileWeight : knobs[m] == 0 ? kDefaultWeight : 1;
    std::vector<int> to_n = extents(knobs[n], whole_n, most);
    std::vector<double> ratio_n;
    ratio_n.reserve(to_n.size());
    for (int value : to_n) ratio_n.push_back(doublings(knobs[n], value));
    for (int to_m : extents(knobs[m], whole_m, most)) {
      double ratio_m = doublings(knobs[m], to_m);
      for (size_t i = 0; i < to_n.size(); ++i) {
        double step =
            std::abs(ratio_m) + std::abs(ratio_n[i]) + kSkewWeight * std::abs(ratio_m - ratio_n[i]);
        if (price + weight * step + kStepPrice > bound_) continue;
        Knobs next = knobs;
        next[m] = static_cast<int16_t>(to_m);
        next[n] = static_cast<int16_t>(to_n[i]);
        offer(next, price + weight * step + kStepPrice);
      }
    }
  }

  void turn(const Knobs& knobs, double price, Knob knob, int to) {
    Knobs next = knobs;
    next[knob] = static_cast<int16_t>(to);
    double step = to == 0 ? kDropPrice : std::abs(doublings(knobs[knob], to));
    offer(next, price + step + kStepPrice);
  }

  void spread_from(const Knobs& knobs, double price) {
    turn_pair(knobs, price, kThreadM, kThreadN, knobs[kTileM], knobs[kTileN], 32);
    if (knobs[kWarpM] > 0) {
      turn_pair(knobs, price, kWarpM, kWarpN, knobs[kTileM], knobs[kTileN], kMostTile);
      Knobs next = knobs;
      next[kWarpM] = next[kWarpN] = 0;
      offer(next, price + kDropPrice + kStepPrice);
    } else if (request_.lane_grid && knobs[kLanesKept] != 0) {
      Knobs next = knobs;
      int warp_m = request_.lane_grid->m * std::max<int>(1, knobs[kThreadM]);
      int warp_n = request_.lane_grid->n * std::max<int>(1, knobs[kThreadN]);
      next[kWarpM] = static_cast<int16_t>(warp_m);
      next[kWarpN] = static_cast<int16_t>(warp_n);
      if (std::max(warp_m, warp_n) <= kMostTile) offer(next, price + kAddPrice);
    }
    turn_pair(knobs, price, kTileM, kTileN, 0, 0, kMostTile);
    int k = knobs[kTileK] > 0 ? knobs[kTileK] : kDefaultTileK;
    for (int to : {k / 2, k * 2, (k + 3) / 4 * 4, k / 4 * 4}) {
      if (to > 0 && to <= kMostTileK) turn(knobs, price, kTileK, to);
    }
    if (knobs[kStages] > 1) turn(knobs, price, kStages, knobs[kStages] - 1);
    for (Knob vector : {kGlobalVector, kSharedVector}) {
      if (knobs[vector] > 1) turn(knobs, price, vector, knobs[vector] / 2);
    }
    if (knobs[kBlocks] > 1) turn(knobs, price, kBlocks, knobs[kBlocks] - 1);
    Extent thread{std::max<int>(1, knobs[kThreadM]), std::max<int>(1, knobs[kThreadN])};
    int needed = (registers_needed(thread) + 7) / 8 * 8;
    if (knobs[kRegisters] > 0 && needed > knobs[kRegisters] && needed <= kMostRegisters) {
      turn(knobs, price, kRegisters, needed);
    }
    for (Knob padding : {kPaddingA, kPaddingB}) {
      Knobs next = knobs;
      next[padding] = static_cast<int16_t>((knobs[padding] + 3) / 4 * 4);
      offer(next, price + kStepPrice);
    }
    for (Knob knob : {kBlocks, kRegisters, kLanesKept, kSharedKept, kFragmentKept, kCopyKept,
                      kDivisionKept, kClusterKept, kStagedKept}) {
      if (knobs[knob] > 0) turn(knobs, price, knob, 0);
    }
  }

  const Request& request_;
  const Limits& limits_;
  double bound_;
  std::priority_queue<Entry> queue_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace

Request nearest_legal(const Request& request, const Limits& limits) {
  // Most ways out are short, and a search that may go far has far more to keep in mind.
  Request bare = request;
  bare.epilogue = Expression{};  // no rule looks at it, and it is dear to copy
  for (double bound : {2.5, 6.0, 20.0}) {
    if (std::optional<Request> found = Search(bare, limits, bound).run()) {
      found->epilogue = request.epilogue;
      return *found;
    }
  }
  Request plain;
  plain.name = request.name;
  plain.layout = request.layout;
  plain.epilogue = request.epilogue;
  plain.raster = request.raster;
  plain.edges = request.edges;
  plain.sass = request.sass;
  plain.target = request.target;
  plain.tile = Extent{64, 64};
  plain.thread = Extent{4, 4};
  return plain;
}

}  // namespace tilec::dsl
