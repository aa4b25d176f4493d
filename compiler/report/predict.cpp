#include "compiler/report/predict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "compiler/report/deal.h"
#include "compiler/report/simulate.h"

namespace tilec {
namespace {

constexpr int kFewTrips = 6;  // enough that blocks that started together are apart
constexpr int kLeastTrips = 12;
constexpr int kMostTrips = 30;
constexpr size_t kTraceSteps = 20000;  // instructions of a warp that are worth simulating
constexpr double kTakenUp = 0.93;      // a part this busy is what the loop waits for
enum BlockKind { kWhole = 0, kEdge = 1, kStretch = 2 };

/// What one block costs on an SM that holds `resident` of them, per slice of K and besides.
struct BlockCost {
  double slice_cycles = 0;  // of the SM
  double other_cycles = 0;
  double slice_useful = 0;  // scheduler cycles of one block
  double other_lost = 0;
  Losses slice_lost;      // scheduler cycles of one block
  double issue_rate = 0;  // of the loop
  Utilisation use;
  std::vector<double> unit_cost;  // by step of the unit: scheduler cycles an issue
};

// `full`: as many blocks as fit; fewer of them count at a kernel's end only, and get fewer trips.
BlockCost measure(const Trace& trace, const Target& target, int resident, int warps, bool full) {
  const auto fit = static_cast<int>(kTraceSteps / std::max<size_t>(1, trace.unit.size()));
  const int most = full ? std::clamp(fit, kLeastTrips, kMostTrips) : kLeastTrips;
  const SmRun few = simulate_sm(trace, target, resident, warps, kFewTrips);
  const SmRun more = simulate_sm(trace, target, resident, warps, most);
  const double slices = (most - kFewTrips) * trace.unit_slices;
  const double first = kFewTrips * trace.unit_slices;
  const double window = more.cycles - few.cycles;
  BlockCost cost;
  cost.slice_cycles = window / slices;
  cost.slice_useful = (more.useful - few.useful) / slices / resident;
  cost.other_cycles = std::max(0.0, few.cycles - first * cost.slice_cycles);
  const double other_useful = std::max(0.0, few.useful / resident - first * cost.slice_useful);
  cost.other_lost = cost.other_cycles * target.schedulers / resident - other_useful;
  for (size_t l = 0; l < kLosses; ++l)
    cost.slice_lost.of[l] = (more.lost.of[l] - few.lost.of[l]) / slices / resident;
  cost.issue_rate = (more.issued - few.issued) / window / target.schedulers;
  cost.use = {.issue = cost.issue_rate,
              .fma = (more.useful - few.useful) / window / target.schedulers,
              .banks = (more.banks - few.banks) / window / target.schedulers,
              .shared = (more.shared - few.shared) / window,
              .road = (more.road - few.road) / window};
  for (const double cycles : more.unit_cost)
    cost.unit_cost.push_back(cycles / (static_cast<double>(most) * resident * warps));
  return cost;
}

/// Costs by residency, measured when first asked for.
class Costs {
 public:
  Costs(Trace trace, const Target& target, int warps, int full)
      : trace_(std::move(trace)), target_(target), warps_(warps), full_(full) {}
  const BlockCost& at(int resident) {
    const auto found = known_.find(resident);
    if (found != known_.end()) return found->second;
    return known_.emplace(resident, measure(trace_, target_, resident, warps_, resident == full_))
        .first->second;
  }
  const Trace& trace() const { return trace_; }

 private:
  Trace trace_;
  const Target& target_;
  int warps_;
  int full_;  // blocks that fit
  std::map<int, BlockCost> known_;
};

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// The tiles of C, which of them reach over its edges, and the blocks that they are dealt to.
struct Grid {
  int64_t rows = 0;
  int64_t columns = 0;
  bool ragged_m = false;
  bool ragged_n = false;
  bool by_columns = false;
  int64_t shares = 1;  // blocks of a tile, with split_k
  dsl::Stream stream;

  int64_t tiles() const { return rows * columns; }
  int64_t blocks() const { return stream.blocks + (tiles() - stream.tiles) * shares; }
  /// Starts and ends: a stretch has those of two tiles.
  int64_t ends() const { return blocks() + stream.blocks; }
  int64_t whole_tiles() const {
    return (rows - (ragged_m ? 1 : 0)) * (columns - (ragged_n ? 1 : 0));
  }
  /// Tiles that begin inside C, for each block that has all or a share of one.
  int64_t whole() const { return whole_tiles() * shares; }
  int kind_of(int64_t number) const {
    if (number < stream.blocks) return kStretch;
    const int64_t block = (number - stream.blocks + stream.tiles) / shares;
    const int64_t row = by_columns ? block % rows : block / columns;
    const int64_t column = by_columns ? block / rows : block % columns;
    const bool edge = (ragged_m && row == rows - 1) || (ragged_n && column == columns - 1);
    return edge ? kEdge : kWhole;
  }
};

Grid grid_of(const dsl::Spec& spec, const dsl::GemmShape& shape, int64_t at_once) {
  return {.rows = ceil_div(shape.m, spec.tile.m),
          .columns = ceil_div(shape.n, spec.tile.n),
          .ragged_m = shape.m % spec.tile.m != 0,
          .ragged_n = shape.n % spec.tile.n != 0,
          .by_columns = spec.raster.order == dsl::RasterOrder::columns,
          .shares = spec.split_k,
          .stream = dsl::stream_of(spec, shape, at_once)};
}

double multiply_adds(const dsl::GemmShape& shape) {
  return static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

/// Bytes that DRAM must deliver or take: operands and C once each, as blocks of a wave share them.
double dram_bytes(const dsl::GemmShape& shape) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  return 4 * (m * k + k * n + m * n);
}

std::string critical_part(const Utilisation& use) {
  const std::array<std::pair<double, const char*>, 6> parts = {{{use.issue, "issue slots"},
                                                                {use.banks, "register banks"},
                                                                {use.shared, "shared memory"},
                                                                {use.road, "second-level cache"},
                                                                {use.fma, "multiply-adds"},
                                                                {use.dram, "DRAM"}}};
  const auto* most = std::ranges::max_element(parts, {}, [](const auto& p) { return p.first; });
  return most->first >= kTakenUp ? most->second : "latency";
}

/// Microseconds of the kernel that adds up what blocks left of shared tiles; 0 without one. It
/// starts while the one before it ends. What split_k has left is still in the second-level cache;
/// the first parts of stream_k have been there all the time, and come from DRAM.
double sum_us(const dsl::Spec& spec, const dsl::GemmShape& shape, const Grid& grid,
              const Target& target) {
  const auto parts =
      static_cast<double>(spec.split_k > 1 ? dsl::workspace_bytes(spec, shape)
                                           : dsl::stream_workspace_bytes(spec, grid.stream));
  if (parts == 0) return 0;
  const double bytes = parts * (1 + 1.0 / static_cast<double>(std::max<int64_t>(2, grid.shares)));
  const Rates& rates = target.rates;
  const double per_us =
      spec.split_k > 1 ? rates.l2_bytes * rates.sms * rates.clock_mhz : rates.dram_gb_per_s * 1e3;
  return rates.launch_us + bytes / per_us;
}

/// All that the pieces below share.
struct Model {
  const Target& target;
  const dsl::Spec& spec;
  Way way;
  Grid grid;
  double slices = 0;  // of a block's share of K, begun ones whole
  Costs whole;
  Costs edge;

  double cycles_of(int kind, int resident) {
    const BlockCost& cost = whole.at(resident);
    if (kind == kStretch)
      return 2 * cost.other_cycles + slices * static_cast<double>(grid.stream.tiles) /
                                         static_cast<double>(grid.stream.blocks) *
                                         cost.slice_cycles;
    if (kind == kEdge) return cost.other_cycles + slices * edge.at(resident).slice_cycles;
    double cycles = cost.other_cycles + way.slices * cost.slice_cycles;
    if (way.rest_slices > 0) cycles += way.rest_slices * edge.at(resident).slice_cycles;
    return cycles;
  }
};

/// Scheduler cycles of the whole run, by loss; they and the useful ones add up to `all`.
Losses losses_of(Model& model, const Prediction& out, double all, double useful, double launch,
                 double waits_for_dram) {
  const BlockCost& cost = model.whole.at(out.blocks_per_sm);
  const double schedulers = model.target.schedulers;
  const double a_block = schedulers / out.blocks_per_sm;  // SM cycles to scheduler cycles
  const auto whole = static_cast<double>(model.grid.whole());
  const double edge = static_cast<double>(model.grid.tiles() * model.grid.shares) - whole;
  const dsl::Spec& spec = model.spec;
  const double slice_useful = static_cast<double>(spec.tile.m) * spec.tile.n * spec.tile_k *
                              schedulers / model.target.lanes_per_sm;
  const double ideal_slices =
      static_cast<double>(out.shape.k) / spec.tile_k / static_cast<double>(model.grid.shares);
  Losses lost;
  for (size_t l = 0; l < kLosses; ++l)
    lost.of[l] = cost.slice_lost.of[l] * model.way.slices * whole;
  lost[Loss::block_ends] +=
      cost.other_lost * static_cast<double>(model.grid.ends()) + launch * out.sms * schedulers;
  const double begun = ideal_slices - std::floor(ideal_slices);  // of the last slice
  if (model.way.rest_slices > 0) {
    const double rest = model.edge.at(out.blocks_per_sm).slice_cycles * a_block;
    lost[Loss::edges] += whole * (rest - slice_useful * begun);
  } else if (begun > 0) {
    lost[Loss::edges] += whole * slice_useful * (1 - begun);
  }
  if (edge > 0) {
    const double slots = model.cycles_of(kEdge, out.blocks_per_sm) * a_block - cost.other_lost;
    lost[Loss::edges] += edge * slots - (useful - whole * ideal_slices * slice_useful);
  }
  lost[Loss::memory] += waits_for_dram * out.sms * schedulers;
  lost[Loss::last_wave] += all - useful - lost.total();
  return lost;
}

void add_costs(Prediction& out, const Trace& trace, const BlockCost& cost) {
  std::map<uint32_t, std::pair<double, int>> by_index;
  for (size_t s = 0; s < trace.unit.size(); ++s) {
    auto& [cycles, times] = by_index[trace.unit[s].index];
    cycles += cost.unit_cost[s];
    ++times;
  }
  for (const auto& [index, sum] : by_index) out.costs.push_back({index, sum.first / sum.second});
}

}  // namespace

std::optional<Prediction> predict(const PredictionInput& input, dsl::GemmShape shape) {
  const Target& target = input.target;
  const dsl::Spec& spec = input.artifact.spec;
  const int resident = input.blocks_per_sm;
  const int64_t share_of_k =
      spec.split_k == 1 ? shape.k : dsl::slices_a_block(spec, shape) * spec.tile_k;
  const std::optional<Way> way = find_way(input.instructions, input.flow, input.work, share_of_k);
  if (!way || resident <= 0 || shape.m <= 0 || shape.n <= 0 || shape.k <= 0) return std::nullopt;
  const auto costs = [&](bool at_edges) {
    return Costs(trace_of(input, *way, at_edges), target, std::max(1, input.artifact.derived.warps),
                 resident);
  };
  Model model{target,
              spec,
              *way,
              grid_of(spec, shape, int64_t{target.rates.sms} * resident),
              static_cast<double>(ceil_div(share_of_k, spec.tile_k)),
              costs(false),
              costs(true)};

  Prediction out{.shape = shape,
                 .device = target.rates.device,
                 .sms = target.rates.sms,
                 .clock_mhz = target.rates.clock_mhz,
                 .blocks_per_sm = resident,
                 .blocks = model.grid.blocks()};
  out.waves = static_cast<double>(out.blocks) / (static_cast<double>(out.sms) * resident);
  const double run =
      deal_blocks({.blocks = out.blocks,
                   .sms = out.sms,
                   .resident = resident,
                   .kind_of = [&](int64_t block) { return model.grid.kind_of(block); },
                   .cycles_of = [&](int kind, int r) { return model.cycles_of(kind, r); }});
  const double launch =
      (target.rates.launch_us + sum_us(spec, shape, model.grid, target)) * out.clock_mhz;
  const double dram = dram_bytes(shape) / (target.rates.dram_gb_per_s * 1e3) * out.clock_mhz;
  out.cycles = std::max(run, dram) + launch;
  out.kernel_us = out.cycles / out.clock_mhz;
  const double all = out.cycles * out.sms * target.schedulers;
  const double useful = multiply_adds(shape) * target.schedulers / target.lanes_per_sm;
  out.share_of_peak = useful / all;

  const BlockCost& cost = model.whole.at(resident);
  out.cycles_per_slice = cost.slice_cycles;
  out.cycles_per_block = cost.other_cycles;
  out.loop_share = cost.use.fma;
  out.issue_rate = cost.issue_rate;
  out.use = cost.use;
  out.use.dram = dram / out.cycles;
  out.critical = critical_part(out.use);
  const Losses lost = losses_of(model, out, all, useful, launch, std::max(0.0, dram - run));
  for (size_t l = 0; l < kLosses; ++l)
    out.losses.push_back({static_cast<Loss>(l), 100 * lost.of[l] / all});
  std::ranges::sort(out.losses, {},
                    [](const LossRow& row) { return std::pair(-row.points, row.kind); });
  add_costs(out, model.whole.trace(), cost);
  return out;
}

}  // namespace tilec
