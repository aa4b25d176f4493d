// What the machine has: shared memory, registers, blocks of an SM, and room for code.
#include <algorithm>
#include <bit>

#include "dsl/rules.h"
#include "dsl/staging.h"

namespace tilec::dsl {
namespace {

constexpr int64_t kElementBytes = 4;

using enum ClauseKind;

// The largest value of stages, or of K, whose slices still fit; 0 if none does.
int most_that_fit(int from, int64_t bytes, int64_t limit) {
  return static_cast<int>(std::min<int64_t>(from, limit / std::max<int64_t>(1, bytes)));
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

}  // namespace

Found shared_fits(const Subject& s) {
  int64_t limit = s.limits.shared_bytes_per_block;
  int64_t slice = s.derived.shared_bytes_a + s.derived.shared_bytes_b;
  const int64_t slices = s.spec.stages * slice;
  if (slices <= limit) return {};
  int fewer_stages = most_that_fit(s.spec.stages, slice, limit);
  int smaller_k = most_that_fit(s.spec.tile_k, slices / s.spec.tile_k, limit);
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
                             slices, s.limits.target, limit),
                 help};
}

Found parts_fit(const Subject& s) {
  const int64_t limit = s.limits.shared_bytes_per_block;
  if (s.derived.shared_bytes_parts <= limit) return {};
  return Finding{
      cluster,
      fmt::format("the blocks of a cluster keep a part of tile {} each: {} bytes of "
                  "shared memory, and a block of {} has at most {}",
                  text(s.spec.tile), s.derived.shared_bytes_parts, s.limits.target, limit),
      fmt::format("a smaller tile, or `split_k {}` without `cluster`", s.spec.split_k)};
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

Found staged_store_has_room(const Subject& s) {
  if (!s.spec.staged_store) return {};
  const std::string help = "leave out `staged_store`";
  if (s.spec.split_k > 1)
    return Finding{staged_store,
                   fmt::format("with split_k {} a block stores a part of C, whose rows are aligned",
                               s.spec.split_k),
                   help};
  const Derived& derived = s.derived;
  const StagedTile tile{derived.warp_grid,
                        {derived.m.lanes, derived.n.lanes},
                        s.spec.thread,
                        {derived.m.piece, derived.n.piece},
                        s.spec.copy == CopyMode::none ? 0 : derived.shared_bytes / kElementBytes};
  if (plan_staging(tile).rows > 0) return {};
  return Finding{
      staged_store,
      fmt::format("rows of {} elements, which {} lanes hold in pieces of {}, do not pass through "
                  "{} bytes of slices 32 elements at a time",
                  tile.lanes.n * tile.each.n, tile.lanes.n, tile.pieces.n,
                  tile.room * kElementBytes),
      help};
}

}  // namespace tilec::dsl
