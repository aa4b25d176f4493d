// Clusters: the blocks that share the slices of K of one tile, and add up their parts through each
// other's shared memory.
#include "dsl/limits.h"
#include "dsl/request.h"
#include "dsl/rules.h"

namespace tilec::dsl {
namespace {

using enum ClauseKind;

std::string cluster_text(int blocks) {
  return fmt::format("cluster 1x1x{}", blocks);
}

}  // namespace

Found target_has_clusters(const Subject& s) {
  constexpr int kFirst = 90;  // sm_90
  if (s.spec.cluster == 1 || machine_number(s.spec.target) >= kFirst) return {};
  return Finding{cluster,
                 fmt::format("{} needs blocks that read each other's shared memory, and {} has "
                             "none: clusters came with sm_90",
                             cluster_text(s.spec.cluster), s.spec.target),
                 fmt::format("`split_k {}` adds up the parts in a second kernel, on every target",
                             s.spec.split_k)};
}

Found cluster_shares_k(const Subject& s) {
  const int blocks = s.spec.cluster;
  if (blocks == 1 || s.spec.split_k == blocks) return {};
  std::string help = fmt::format("`split_k {}`", blocks);
  if (s.spec.split_k > 1 && s.spec.split_k <= kMostCluster)
    help += fmt::format(", or `{}`", cluster_text(s.spec.split_k));
  return Finding{
      cluster,
      fmt::format("{} holds the {} blocks that share K of one tile, and split_k {} makes "
                  "{} of them",
                  cluster_text(blocks), blocks, s.spec.split_k, s.spec.split_k),
      help};
}

Found cluster_computes_one_tile(const Subject& s) {
  if (s.spec.cluster == 1 || !s.spec.persistent) return {};
  return Finding{
      cluster,
      fmt::format("{} and persistent both say how long a block stays: those of a cluster "
                  "compute one tile together, and end with it",
                  cluster_text(s.spec.cluster)),
      fmt::format("leave out one of `persistent` and `{}`", cluster_text(s.spec.cluster))};
}

}  // namespace tilec::dsl
