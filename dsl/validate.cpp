#include "dsl/validate.h"

#include <algorithm>

#include "dsl/defaults.h"
#include "dsl/rules.h"

namespace tilec::dsl {
namespace {

using enum ClauseKind;

constexpr bool kCountsThreads = true;

const Rule kRules[] = {
    {Fault::warp_does_not_divide_tile, false, {tile, warp}, warp_divides_tile},
    {Fault::thread_does_not_divide_warp, false, {warp, thread}, thread_divides_warp},
    {Fault::thread_does_not_divide_tile, false, {tile, thread, warp}, thread_divides_tile},
    {Fault::warp_not_32_lanes, false, {warp, thread}, warp_has_32_lanes},
    {Fault::lanes_need_warp, kCountsThreads, {warp, lanes}, interleaved_lanes_have_a_warp},
    {Fault::lanes_disagree, kCountsThreads, {tile, warp, thread, lanes}, lanes_agree},
    {Fault::too_many_threads, kCountsThreads, {tile, warp, thread}, threads_fit},
    {Fault::stream_k_alone, false, {stream_k, split_k, persistent}, stream_k_stands_alone},
    {Fault::cluster_needs_target, false, {cluster, target}, target_has_clusters},
    {Fault::cluster_shares_k, false, {cluster, split_k}, cluster_shares_k},
    {Fault::cluster_one_tile, false, {cluster, persistent}, cluster_computes_one_tile},
    {Fault::vector_does_not_divide, false, {tile, thread, copy, layout, vector}, vector_divides},
    {Fault::shared_vector_too_wide, false, {thread, copy, vector}, shared_vector_narrow_enough},
    {Fault::padding_breaks_vector,
     false,
     {tile, thread, copy, layout, vector, shared},
     padding_keeps_vector},
    {Fault::swizzle_not_power_of_two,
     false,
     {tile, thread, copy, layout, vector, shared},
     swizzle_has_power_of_two},
    {Fault::copy_none_stages, false, {copy, stages}, copy_none_has_one_stage},
    {Fault::copy_none_shared,
     false,
     {copy, shared, fragment, vector},
     copy_none_says_nothing_of_shared},
    {Fault::staged_store_no_room,
     kCountsThreads,
     {tile, warp, thread, stages, copy, vector, fragment, lanes, shared, split_k, staged_store},
     staged_store_has_room},
    {Fault::shared_over_limit, false, {tile, stages, copy, shared, layout, target}, shared_fits},
    {Fault::parts_over_limit, false, {tile, cluster, target}, parts_fit},
    {Fault::registers_impossible, false, {thread}, thread_tile_fits_registers},
    {Fault::registers_impossible,
     kCountsThreads,
     {tile, warp, thread, registers, blocks_per_sm, target},
     registers_suffice},
    {Fault::blocks_per_sm_impossible,
     kCountsThreads,
     {tile, warp, thread, stages, copy, shared, cluster, blocks_per_sm, target},
     blocks_fit_one_sm},
    {Fault::unroll_over_budget, kCountsThreads, {tile, warp, thread}, body_fits_budget},
};

bool tiles_divide(const Subject& subject) {
  return !warp_divides_tile(subject) && !thread_divides_warp(subject) &&
         !thread_divides_tile(subject);
}

// A block of more threads than there are leaves each thread fewer than any count of registers.
bool threads_are_countable(const Subject& subject, const Rule& rule) {
  return rule.fault == Fault::too_many_threads || rule.fault == Fault::lanes_disagree ||
         !threads_fit(subject);
}

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

std::vector<Diagnostic> validate(const Subject& subject, const Places& places, ClauseSet broken) {
  std::vector<Diagnostic> out;
  bool countable = tiles_divide(subject);
  for (const Rule& rule : kRules) {
    bool about_broken = std::any_of(rule.about.begin(), rule.about.end(), [&](ClauseKind kind) {
      return broken.test(static_cast<size_t>(kind));
    });
    if (about_broken) continue;
    if (rule.counts_threads && !(countable && threads_are_countable(subject, rule))) continue;
    if (Found found = rule.check(subject)) {
      out.push_back(diagnose(rule.fault, places.of(found->clause), std::move(found->message),
                             std::move(found->help)));
    }
  }
  return out;
}

bool is_legal(const Subject& subject) {
  for (const Rule& rule : kRules) {
    if (rule.check(subject)) return false;
  }
  return true;
}

bool global_vector_fits(const Spec& spec) {
  int width = spec.vector_global;
  if (spec.copy == CopyMode::none) return spec.thread.n % width == 0;
  for (bool operand_a : {true, false}) {
    const SharedLayout& layout = operand_a ? spec.shared_a : spec.shared_b;
    if (global_row_length(spec, operand_a) % width != 0) return false;
    if (!layout.transposed && layout.padding % width != 0) return false;
  }
  return true;
}

bool shared_vector_fits(const Spec& spec) {
  if (spec.copy == CopyMode::none) return true;
  if (spec.vector_shared > widest_fragment_vector(spec.thread, kWidestVector)) return false;
  for (bool operand_a : {true, false}) {
    int extent = operand_a ? spec.thread.m : spec.thread.n;
    int padding = operand_a ? spec.shared_a.padding : spec.shared_b.padding;
    bool contiguous = slice_map(spec, operand_a).rows_are_k;
    if (contiguous && padding % widest_vector(spec.vector_shared, extent) != 0) return false;
  }
  return true;
}

int64_t unrolled_size(const Spec& spec, const Derived& derived) {
  return int64_t{spec.tile_k} * spec.thread.m * spec.thread.n +
         int64_t{derived.copy_a.passes} * derived.copy_a.vector +
         int64_t{derived.copy_b.passes} * derived.copy_b.vector;
}

}  // namespace tilec::dsl
