#include "dsl/defaults.h"

#include <algorithm>

#include "dsl/banks.h"
#include "dsl/derive.h"

namespace tilec::dsl {
namespace {

constexpr int kMostChosenPadding = 32;  // elements; wider rows repeat the banks of narrower ones
constexpr int kPaddingStep = 4;         // keeps 16-byte accesses aligned
constexpr int kSamples = 4;             // warps and passes looked at for each padding

int quotient(int whole, int part) {
  return part > 0 ? whole / part : 0;
}

Extent lane_grid(const Spec& spec) {
  const Extent& over = spec.warp ? *spec.warp : spec.tile;
  return {quotient(over.m, spec.thread.m), quotient(over.n, spec.thread.n)};
}

// Along the fragment's axis a row is contiguous wherever more than one element is taken at a time.
bool default_transposed(const Spec& spec, bool operand_a) {
  bool rows_along_k = operand_a ? !spec.layout.a_transposed : spec.layout.b_transposed;
  int extent = operand_a ? spec.thread.m : spec.thread.n;
  bool wants_fragments_contiguous = spec.vector_shared > 1 || extent > 1;
  return wants_fragments_contiguous && rows_along_k;
}

void fill_shared(Spec& spec, const SharedRequest& request, bool operand_a) {
  SharedLayout& layout = operand_a ? spec.shared_a : spec.shared_b;
  layout.transposed = request.transposed.value_or(default_transposed(spec, operand_a));
  layout.padding = request.padding.value_or(0);
  layout.swizzled = request.swizzled;
}

// An orientation alone means the bare layout; only where nothing is said of padding or swizzle is
// the padding ours to choose.
bool padding_is_open(const SharedRequest& request) {
  return !request.any();
}

// The widest access that any operand, or C, makes under the bound.
int usable_global_vector(const Spec& spec) {
  Derived derived = derive(spec, Limits{});
  return std::max({derived.copy_a.vector, derived.copy_b.vector, derived.vector_c, 1});
}

double conflicts(const Spec& spec, bool operand_a) {
  Derived derived = derive(spec, Limits{});
  Traffic stores = copy_stores(spec, derived, operand_a, kSamples);
  Traffic loads = fragment_loads(spec, derived, operand_a, kSamples);
  return static_cast<double>(stores.wavefronts - stores.least + loads.wavefronts - loads.least);
}

void choose_padding(Spec& spec, bool operand_a) {
  SharedLayout& layout = operand_a ? spec.shared_a : spec.shared_b;
  int best = 0;
  double fewest = conflicts(spec, operand_a);
  for (int padding = kPaddingStep; padding <= kMostChosenPadding && fewest > 0;
       padding += kPaddingStep) {
    layout.padding = padding;
    double found = conflicts(spec, operand_a);
    if (found < fewest) {
      fewest = found;
      best = padding;
    }
  }
  layout.padding = best;
}

void choose_paddings(Spec& spec, const Request& request, const Limits& limits) {
  Spec bare = spec;
  if (padding_is_open(request.shared_a)) choose_padding(spec, true);
  if (padding_is_open(request.shared_b)) choose_padding(spec, false);
  if (derive(spec, limits).shared_bytes > limits.shared_bytes_per_block) spec = bare;
}

// What no clause may say without shared memory; `copy none` settles it.
void fill_without_shared(Spec& spec) {
  spec.vector_shared = 1;
  spec.fragment = FragmentShape::whole;
  spec.shared_a = {};
  spec.shared_b = {};
}

// Where our own back end was measured to gain, on an H200: large tiles of a thread, whose
// multiply-adds outnumber its loads, with slices copied well ahead. Smaller ones need two sets of
// fragments that their share of the registers does not hold.
bool sass_gains(const Spec& spec) {
  constexpr int kLeastTile = 128;  // elements of C a thread
  return spec.target == "sm_90a" && spec.warp && spec.thread.m * spec.thread.n >= kLeastTile &&
         spec.copy == CopyMode::async && spec.stages >= 3;
}

}  // namespace

int widest_fragment_vector(const Extent& thread, int bound) {
  return std::max(widest_vector(bound, thread.m), widest_vector(bound, thread.n));
}

Spec fill_defaults(const Request& request, const Limits& limits, LayoutSearch search) {
  Spec spec;
  spec.name = request.name;
  spec.tile = request.tile.value_or(Extent{1, 1});
  spec.tile_k = request.tile_k.value_or(kDefaultTileK);
  spec.warp = request.warp;
  spec.thread = request.thread.value_or(Extent{1, 1});
  spec.stages = request.stages.value_or(1);
  spec.copy =
      request.copy.value_or(spec.stages <= 2 ? CopyMode::through_registers : CopyMode::async);
  spec.lanes = request.lanes.value_or(LaneOrder::columns);
  spec.lane_grid = lane_grid(spec);
  spec.blocks_per_sm = request.blocks_per_sm.value_or(0);
  spec.registers = request.registers.value_or(0);
  spec.raster = request.raster.value_or(Raster{});
  spec.cluster = request.cluster.value_or(1);
  spec.split_k = request.split_k.value_or(spec.cluster);
  spec.stream_k = request.stream_k.value_or(false);
  spec.persistent = request.persistent.value_or(false);
  spec.staged_store = request.staged_store.value_or(false);
  spec.layout = request.layout.value_or(OperandLayout{});
  spec.epilogue = request.epilogue ? *request.epilogue : default_epilogue();
  spec.edges = request.edges.value_or(Edges::guard);
  spec.target = limits.target;
  spec.sass = request.sass.value_or(sass_gains(spec));

  VectorRequest shared = request.vector_shared.value_or(VectorRequest{kWidestVector, false});
  spec.vector_shared =
      shared.exact ? shared.width : widest_fragment_vector(spec.thread, shared.width);
  spec.fragment = request.fragment.value_or(spec.vector_shared > 1 ? FragmentShape::split
                                                                   : FragmentShape::whole);
  bool uses_shared = spec.copy != CopyMode::none;
  if (uses_shared) {
    fill_shared(spec, request.shared_a, true);
    fill_shared(spec, request.shared_b, false);
  } else {
    fill_without_shared(spec);
  }
  VectorRequest global = request.vector_global.value_or(VectorRequest{kWidestVector, false});
  spec.vector_global = global.width;
  if (!global.exact) spec.vector_global = usable_global_vector(spec);
  if (uses_shared && search == LayoutSearch::thorough) choose_paddings(spec, request, limits);
  return spec;
}

}  // namespace tilec::dsl
