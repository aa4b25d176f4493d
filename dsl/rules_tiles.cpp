// How tiles, threads and lanes fit each other.
#include <algorithm>

#include "dsl/rules.h"

namespace tilec::dsl {
namespace {

using enum ClauseKind;

// The divisors of `whole` next to `part` from below and from above.
std::pair<int, int> divisors_near(int part, int whole) {
  int below = std::clamp(part, 1, whole), above = below;
  while (whole % below != 0) --below;
  while (whole % above != 0) ++above;
  return {below, above};
}

// "48 does not divide 128; 64x32 and 64x64 do"
std::string why_not_divide(const Extent& inner, const Extent& outer) {
  bool m_fails = outer.m % inner.m != 0, n_fails = outer.n % inner.n != 0;
  std::string out;
  if (m_fails) out += fmt::format("{} does not divide {}", inner.m, outer.m);
  if (m_fails && n_fails) out += " and ";
  if (n_fails) out += fmt::format("{} does not divide {}", inner.n, outer.n);
  auto [m_below, m_above] = divisors_near(inner.m, outer.m);
  auto [n_below, n_above] = divisors_near(inner.n, outer.n);
  Extent below{m_below, n_below}, above{m_above, n_above};
  if (below == above) return out + fmt::format("; {} does", text(below));
  return out + fmt::format("; {} and {} do", text(below), text(above));
}

bool divides(const Extent& inner, const Extent& outer) {
  return outer.m % inner.m == 0 && outer.n % inner.n == 0;
}

}  // namespace

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

Found interleaved_lanes_have_a_warp(const Subject& s) {
  if (s.spec.lanes != LaneOrder::interleaved || s.spec.warp) return {};
  return Finding{lanes,
                 "lanes interleaved needs a warp tile: it deals the bits of a lane's number to m "
                 "and n by turns, and without `warp` the threads form one grid of any extent",
                 "`lanes columns`, or name a `warp` tile"};
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

Found stream_k_stands_alone(const Subject& s) {
  if (!s.spec.stream_k || (s.spec.split_k == 1 && !s.spec.persistent)) return {};
  std::string other = "persistent";
  if (s.spec.split_k > 1) other = fmt::format("split_k {}", s.spec.split_k);
  if (s.spec.cluster > 1) other = fmt::format("cluster 1x1x{}", s.spec.cluster);
  return Finding{
      stream_k,
      fmt::format("stream_k and {} both say which block takes what: stream_k deals whole "
                  "tiles first and shares out the slices of K of the rest",
                  other),
      fmt::format("leave out one of `stream_k` and `{}`", other)};
}

}  // namespace tilec::dsl
