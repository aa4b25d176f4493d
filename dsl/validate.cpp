#include "dsl/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dsl/defaults.h"

namespace tilec::dsl {
namespace {

using Found = std::optional<Finding>;
using enum ClauseKind;

constexpr int kLanes = 32;

std::string text(const Extent& extent) {
  return fmt::format("{}x{}", extent.m, extent.n);
}

// The divisors of `whole` next to `part` from below and from above.
std::pair<int, int> divisors_near(int part, int whole) {
  int below = std::clamp(part, 1, whole), above = below;
  while (whole % below != 0) --below;
  while (whole % above != 0) ++above;
  return {below, above};
}

// "48 does not divide 128; 64x32 and 64x64 do"
std::string why_not_divide(const Extent& inner, const Extent& outer) {
  std::vector<std::string> failing;
  if (outer.m % inner.m != 0) failing.push_back(fmt::format("{}", inner.m));
  if (outer.n % inner.n != 0) failing.push_back(fmt::format("{}", inner.n));
  std::string out;
  if (outer.m % inner.m != 0) out += fmt::format("{} does not divide {}", inner.m, outer.m);
  if (failing.size() == 2) out += " and ";
  if (outer.n % inner.n != 0) out += fmt::format("{} does not divide {}", inner.n, outer.n);
  auto [m_below, m_above] = divisors_near(inner.m, outer.m);
  auto [n_below, n_above] = divisors_near(inner.n, outer.n);
  Extent below{m_below, n_below}, above{m_above, n_above};
  if (below == above) return out + fmt::format("; {} does", text(below));
  return out + fmt::format("; {} and {} do", text(below), text(above));
}

bool divides(const Extent& inner, const Extent& outer) {
  return outer.m % inner.m == 0 && outer.n % inner.n == 0;
}

Found warp_divides_tile(const Subject& s) {
  if (!s.spec.warp || divides(*s.spec.warp, s.spec.tile)) return {};
  return Finding{warp,
                 fmt::format("warp tile {} does not divide block tile {}: {}", text(*s.spec.warp),
                             text(s.spec.tile), why_not_divide(*s.spec.warp, s.spec.tile)),
                 ""};
}

Found thread_divides_warp(const Subject& s) {
  if (!s.spec.warp || divides(s.spec.thread, *s.spec.warp)) return {};
  return Finding{thread,
                 fmt::format("thread tile {} does not divide warp tile {}: {}", text(s.spec.thread),
                             text(*s.spec.warp), why_not_divide(s.spec.thread, *s.spec.warp)),
                 ""};
}

Found thread_divides_tile(const Subject& s) {
  if (s.spec.warp || divides(s.spec.thread, s.spec.tile)) return {};
  return Finding{
      thread,
      fmt::format("thread tile {} does not divide block tile {}: {}", text(s.spec.thread),
                  text(s.spec.tile), why_not_divide(s.spec.thread, s.spec.tile)),
      ""};
}

Found warp_has_32_lanes(const Subject& s) {
  if (!s.spec.warp || !divides(s.spec.thread, *s.spec.warp)) return {};
  const Extent& grid = s.spec.lane_grid;
  if (grid.m * grid.n == kLanes) return {};
  int elements = s.spec.warp->m * s.spec.warp->n;
  std::string share = elements % kLanes == 0 ? fmt::format("are {} a lane", elements / kLanes)
                                             : std::string("cannot be dealt out evenly");
  return Finding{thread,
                 fmt::format("warp tile {} of thread tiles {} makes {} = {} lanes, and a warp has "
                             "32: its {} elements {}",
                             text(*s.spec.warp), text(s.spec.thread), text(grid), grid.m * grid.n,
                             elements, share),
                 ""};
}

Found lanes_agree(const Subject& s) {
  if (!s.request.lane_grid || *s.request.lane_grid == s.spec.lane_grid) return {};
  const Extent& asked = *s.request.lane_grid;
  if (s.spec.warp) {
    return Finding{
        lanes,
        fmt::format("lanes {} disagrees with the tiles: warp {} / thread {} is {}", text(asked),
                    text(*s.spec.warp), text(s.spec.thread), text(s.spec.lane_grid)),
        ""};
  }
  Extent implied{asked.m * s.spec.thread.m, asked.n * s.spec.thread.n};
  return Finding{
      lanes,
      fmt::format("lanes {} needs a warp tile: without `warp` the threads of the block "
                  "form one grid, tile {} / thread {} = {}",
                  text(asked), text(s.spec.tile), text(s.spec.thread), text(s.spec.lane_grid)),
      asked.m * asked.n == kLanes ? fmt::format("`warp {}` has these lanes", text(implied)) : ""};
}

Found threads_fit(const Subject& s) {
  if (s.derived.threads <= s.limits.threads_per_block) return {};
  double least = static_cast<double>(s.spec.tile.m) * s.spec.tile.n / s.limits.threads_per_block;
  return Finding{s.request.thread ? thread : tile,
                 fmt::format("tile {} of thread tiles {} makes {} threads, and a block has at most "
                             "{}: a thread has to take {:g} elements or more",
                             text(s.spec.tile), text(s.spec.thread), s.derived.threads,
                             s.limits.threads_per_block, least),
                 ""};
}

// "A, whose slice is stored 128x6"
std::string operand_text(const Spec& spec, bool operand_a) {
  int length = global_row_length(spec, operand_a);
  int x = operand_a ? spec.tile.m : spec.tile.n;
  bool along_k = operand_a ? !spec.layout.a_transposed : spec.layout.b_transposed;
  return fmt::format("{}, whose slice is stored as {} rows of {} elements", operand_a ? "A" : "B",
                     along_k ? x : spec.tile_k, length);
}

Found vector_divides(const Subject& s) {
  if (!s.request.vector_global || !s.request.vector_global->exact) return {};
  int width = s.request.vector_global->width;
  if (s.spec.copy == CopyMode::none) {
    if (s.spec.thread.n % width == 0) return {};
    return Finding{vector,
                   fmt::format("vector {} does not fit C: without shared memory only C is accessed "
                               "in vectors, and a thread has {} of its elements in a row",
                               width, s.spec.thread.n),
                   fmt::format("`vector {}` fits", widest_vector(width, s.spec.thread.n))};
  }
  for (bool operand_a : {true, false}) {
    int length = global_row_length(s.spec, operand_a);
    if (length % width == 0) continue;
    int fits = std::min(widest_vector(width, global_row_length(s.spec, true)),
                        widest_vector(width, global_row_length(s.spec, false)));
    return Finding{vector,
                   fmt::format("vector {} does not fit {}: {} does not divide {}", width,
                               operand_text(s.spec, operand_a), width, length),
                   fmt::format("`vector {}` fits both operands; `vector at_most {}` takes for each "
                               "what fits it",
                               fits, width)};
  }
  return {};
}

Found shared_vector_narrow_enough(const Subject& s) {
  if (!s.request.vector_shared || !s.request.vector_shared->exact) return {};
  int width = s.request.vector_shared->width;
  int widest = widest_fragment_vector(s.spec.thread, kWidestVector);
  if (width <= widest || s.spec.copy == CopyMode::none) return {};
  return Finding{vector,
                 fmt::format("vector shared {} is wider than any fragment: thread tile {} is made "
                             "of vectors of at most {}",
                             width, text(s.spec.thread), widest),
                 fmt::format("`vector shared {}` fits", widest)};
}

// The width that padded rows of the operand must be a multiple of, as far as it was demanded.
int demanded_vector(const Subject& s, bool operand_a) {
  const Spec& spec = s.spec;
  bool turned = operand_a ? spec.shared_a.transposed : spec.shared_b.transposed;
  int demanded = 1;
  if (s.request.vector_global && s.request.vector_global->exact && !turned) {
    demanded = spec.vector_global;
  }
  if (s.request.vector_shared && s.request.vector_shared->exact &&
      slice_map(spec, operand_a).rows_are_k) {
    const FragmentAxis& axis = operand_a ? s.derived.m : s.derived.n;
    demanded = std::max(demanded, widest_vector(spec.vector_shared, axis.piece));
  }
  return demanded;
}

Found padding_keeps_vector(const Subject& s) {
  if (s.spec.copy == CopyMode::none) return {};
  for (bool operand_a : {true, false}) {
    int padding = operand_a ? s.spec.shared_a.padding : s.spec.shared_b.padding;
    int vector_width = demanded_vector(s, operand_a);
    if (padding % vector_width == 0) continue;
    int length = slice_map(s.spec, operand_a).row_length;
    int nearest = (padding + vector_width - 1) / vector_width * vector_width;
    return Finding{shared,
                   fmt::format("padded {} makes rows of {} = {} + {} elements of {}, and accesses "
                               "of {} elements need a multiple of {}",
                               padding, length + padding, length, padding, operand_a ? "A" : "B",
                               vector_width, vector_width),
                   fmt::format("`padded {}` does", nearest)};
  }
  return {};
}

Found swizzle_has_power_of_two(const Subject& s) {
  if (s.spec.copy == CopyMode::none) return {};
  for (bool operand_a : {true, false}) {
    SliceMap map = slice_map(s.spec, operand_a);
    bool swizzled = operand_a ? s.spec.shared_a.swizzled : s.spec.shared_b.swizzled;
    if (!swizzled || std::has_single_bit(static_cast<unsigned>(map.groups))) continue;
    return Finding{shared,
                   fmt::format("a swizzled row is a power of two of vectors: a row of {} is {} "
                               "elements = {} vectors of {}",
                               operand_a ? "A" : "B", map.row_length, map.groups, map.group),
                   "`padded 4` takes rows of any length"};
  }
  return {};
}

Found copy_none_has_one_stage(const Subject& s) {
  if (s.spec.copy != CopyMode::none || s.spec.stages == 1) return {};
  return Finding{stages,
                 fmt::format("copy none keeps nothing in shared memory, so there are no {} stages",
                             s.spec.stages),
                 "`stages 1`, or another `copy`"};
}

Found copy_none_says_nothing_of_shared(const Subject& s) {
  if (s.spec.copy != CopyMode::none) return {};
  auto finding = [](ClauseKind clause, std::string_view what) {
    return Finding{
        clause, fmt::format("copy none keeps nothing in shared memory, so `{}` says nothing", what),
        "leave it out, or take another `copy`"};
  };
  if (s.request.shared_a.any() || s.request.shared_b.any()) return finding(shared, "shared");
  if (s.request.fragment == FragmentShape::split) return finding(fragment, "fragment split");
  const auto& width = s.request.vector_shared;
  if (width && width->exact && width->width > 1) return finding(vector, "vector shared");
  return {};
}

// The largest value of stages, or of K, whose slices still fit; 0 if none does.
int most_that_fit(int from, int64_t bytes, int64_t limit) {
  return static_cast<int>(std::min<int64_t>(from, limit / std::max<int64_t>(1, bytes)));
}

Found shared_fits(const Subject& s) {
  int64_t limit = s.limits.shared_bytes_per_block;
  int64_t slice = s.derived.shared_bytes_a + s.derived.shared_bytes_b;
  if (s.derived.shared_bytes <= limit) return {};
  int fewer_stages = most_that_fit(s.spec.stages, slice, limit);
  int smaller_k = most_that_fit(s.spec.tile_k, s.derived.shared_bytes / s.spec.tile_k, limit);
  std::string help;
  if (fewer_stages > 0) help = fmt::format("`stages {}` fits", fewer_stages);
  if (smaller_k > 0) {
    smaller_k = static_cast<int>(std::bit_floor(static_cast<unsigned>(smaller_k)));
    help += fmt::format("{}`tile {}x{}` fits", help.empty() ? "" : ", or ", text(s.spec.tile),
                        smaller_k);
  }
  return Finding{s.request.stages ? stages : tile,
                 fmt::format("{} stages of {} + {} bytes for A and B need {} bytes of shared "
                             "memory, and a block of {} has at most {}",
                             s.spec.stages, s.derived.shared_bytes_a, s.derived.shared_bytes_b,
                             s.derived.shared_bytes, s.limits.target, limit),
                 help};
}

// Why a thread cannot have more than `allowed` registers.
std::string why_registers(const Subject& s, int allowed) {
  if (s.spec.registers > 0 && allowed == s.spec.registers) {
    return fmt::format("`registers {}` was asked for", allowed);
  }
  if (allowed == s.limits.registers_per_thread) {
    return fmt::format("a thread has at most {}", allowed);
  }
  int blocks = std::max(1, s.spec.blocks_per_sm);
  return fmt::format("{} block{} of {} threads leave{} a thread {} of the SM's {}", blocks,
                     blocks == 1 ? "" : "s", s.derived.threads, blocks == 1 ? "s" : "", allowed,
                     s.limits.registers_per_sm);
}

std::string need_text(const Spec& spec) {
  int accumulators = spec.thread.m * spec.thread.n;
  return fmt::format(
      "thread tile {} needs at least {} registers ({} accumulators, {} for "
      "fragments, 16 for the rest)",
      text(spec.thread), registers_needed(spec.thread), accumulators,
      spec.thread.m + spec.thread.n);
}

Found thread_tile_fits_registers(const Subject& s) {
  int allowed = s.limits.registers_per_thread;
  if (registers_needed(s.spec.thread) <= allowed) return {};
  return Finding{thread, fmt::format("{}, and {}", need_text(s.spec), why_registers(s, allowed)),
                 ""};
}

Found registers_suffice(const Subject& s) {
  int allowed = registers_allowed(s.spec, s.derived.threads, s.limits);
  int needed = registers_needed(s.spec.thread);
  if (needed <= allowed || needed > s.limits.registers_per_thread) return {};
  // Blocks that do not fit by their threads are another rule's concern.
  if (s.spec.blocks_per_sm > residency(s.derived, s.spec, s.limits).by_threads) return {};
  ClauseKind place = thread;
  if (s.spec.registers == allowed) {
    place = registers;
  } else if (s.spec.blocks_per_sm > 1) {
    place = blocks_per_sm;
  }
  return Finding{place, fmt::format("{}, and {}", need_text(s.spec), why_registers(s, allowed)),
                 ""};
}

Found blocks_fit_one_sm(const Subject& s) {
  int blocks = s.spec.blocks_per_sm;
  if (blocks == 0) return {};
  Residency fit = residency(s.derived, s.spec, s.limits);
  std::string why;
  int most = s.limits.blocks_per_sm;
  if (blocks > fit.by_limit) {
    why = fmt::format("an SM of {} holds at most {}", s.limits.target, fit.by_limit);
    most = std::min({most, fit.by_threads, fit.by_shared});
  } else if (blocks > fit.by_threads) {
    why = fmt::format("{} x {} threads are more than the {} of an SM of {}", blocks,
                      s.derived.warps * kLanes, s.limits.threads_per_sm, s.limits.target);
    most = std::min(fit.by_threads, fit.by_shared);
  } else if (blocks > fit.by_shared) {
    why = fmt::format(
        "{} x ({} + {} reserved) bytes of shared memory are more than the {} of an "
        "SM of {}",
        blocks, s.derived.shared_bytes, s.limits.shared_bytes_reserved,
        s.limits.shared_bytes_per_sm, s.limits.target);
    most = fit.by_shared;
  } else {
    return {};
  }
  Spec fewer = s.spec;
  for (fewer.blocks_per_sm = most; fewer.blocks_per_sm > 0; --fewer.blocks_per_sm) {
    int allowed = registers_allowed(fewer, s.derived.threads, s.limits);
    if (registers_needed(fewer.thread) <= allowed) break;
  }
  std::string help;
  if (fewer.blocks_per_sm > 0) help = fmt::format("`blocks_per_sm {}` fits", fewer.blocks_per_sm);
  return Finding{blocks_per_sm, fmt::format("{} blocks do not fit one SM: {}", blocks, why), help};
}

Found body_fits_budget(const Subject& s) {
  int64_t size = unrolled_size(s.spec, s.derived);
  if (size <= kUnrollBudget) return {};
  return Finding{s.request.thread ? thread : tile,
                 fmt::format("a thread's part of one slice is {} steps ({} x {} x {} multiply-adds "
                             "and the copies), and the budget of the unrolled loop is {}",
                             size, s.spec.tile_k, s.spec.thread.m, s.spec.thread.n, kUnrollBudget),
                 "a smaller K of the tile, or more threads"};
}

constexpr bool kCountsThreads = true;

const Rule kRules[] = {
    {Fault::warp_does_not_divide_tile, {tile, warp}, false, warp_divides_tile},
    {Fault::thread_does_not_divide_warp, {warp, thread}, false, thread_divides_warp},
    {Fault::thread_does_not_divide_tile, {tile, thread, warp}, false, thread_divides_tile},
    {Fault::warp_not_32_lanes, {warp, thread}, false, warp_has_32_lanes},
    {Fault::lanes_disagree, {tile, warp, thread, lanes}, kCountsThreads, lanes_agree},
    {Fault::too_many_threads, {tile, warp, thread}, kCountsThreads, threads_fit},
    {Fault::vector_does_not_divide, {tile, thread, copy, layout, vector}, false, vector_divides},
    {Fault::shared_vector_too_wide, {thread, copy, vector}, false, shared_vector_narrow_enough},
    {Fault::padding_breaks_vector,
     {tile, thread, copy, layout, vector, shared},
     false,
     padding_keeps_vector},
    {Fault::swizzle_not_power_of_two,
     {tile, thread, copy, layout, vector, shared},
     false,
     swizzle_has_power_of_two},
    {Fault::copy_none_stages, {copy, stages}, false, copy_none_has_one_stage},
    {Fault::copy_none_shared,
     {copy, shared, fragment, vector},
     false,
     copy_none_says_nothing_of_shared},
    {Fault::shared_over_limit, {tile, stages, copy, shared, layout, target}, false, shared_fits},
    {Fault::registers_impossible, {thread}, false, thread_tile_fits_registers},
    {Fault::registers_impossible,
     {tile, warp, thread, registers, blocks_per_sm, target},
     kCountsThreads,
     registers_suffice},
    {Fault::blocks_per_sm_impossible,
     {tile, warp, thread, stages, copy, shared, blocks_per_sm, target},
     kCountsThreads,
     blocks_fit_one_sm},
    {Fault::unroll_over_budget, {tile, warp, thread}, kCountsThreads, body_fits_budget},
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
