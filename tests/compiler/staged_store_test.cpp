// Stores of C through shared memory, where its rows are not aligned: right at every border, free of
// races, and few sectors an access.
#include "runtime/ptx/counters.h"
#include "tests/compiler/support.h"

namespace tilec::test {
namespace {

struct Row {
  const char* text;
  double sectors;              // of a global store where N is odd, at most
  bool has_conflicts = false;  // of banks: lanes 32 bytes apart write 16 each
};

// Lane grids and pieces of many kinds.
const Row kStaged[] = {
    {"tile 128x256x8 warp 64x64 thread 16x8 stages 4 layout nt", 6},
    {"tile 64x128x8 warp 64x64 thread 8x16 stages 4", 6},
    {"tile 32x64x8 warp 32x32 thread 8x4 stages 3", 6},
    {"tile 32x64x8 warp 32x32 thread 8x4 stages 2 copy register layout tt", 6},
    {"tile 16x64x8 warp 16x64 thread 4x8 stages 3 fragment whole", 6, true},
    {"tile 32x32x8 warp 32x32 thread 4x8 stages 3 persistent", 6},
    {"tile 32x64x8 warp 32x32 thread 8x4 stages 3 stream_k raster columns", 6},
    {"tile 32x32x16 warp 16x32 thread 2x8 stages 3 epilogue c-acc", 6},
    {"tile 64x16x8 warp 64x16 thread 8x4 stages 3", 6},
    {"tile 32x64x4 warp 32x32 thread 8x4 stages 1", 6},
};

Artifact staged(const Row& row) {
  return artifact_of(std::string(row.text) + " staged_store");
}

GemmProblem problem_of(const Artifact& artifact, dsl::GemmShape shape) {
  GemmProblem problem{.shape = shape};
  problem.layout = artifact.spec.layout;
  return problem;
}

// What the lines of tile IR count that store.
ptx::Counts of_stores(const RunResult& result) {
  const dsl::Source tile{"gemm.tile", result.tile};
  ptx::Counts out;
  for (const ptx::LineCounts& line : result.counted->by_tile_line)
    if (tile.line(line.line).find("store") != std::string_view::npos) out.add(line.counts);
  return out;
}

TEST(StagedStore, IsRightAtEveryBorder) {
  for (const Row& row : kStaged) {
    const Artifact artifact = staged(row);
    const int64_t m = artifact.spec.tile.m, n = artifact.spec.tile.n;
    const dsl::GemmShape shapes[] = {{m, n + 1, 11},    {m - 1, n - 1, 3}, {m + 1, 2 * n + 3, 16},
                                     {2 * m, 2 * n, 9}, {1, n + 5, 8},     {m + 3, 1, 8},
                                     {m, n + 1, 0}};
    int turn = 0;
    for (const dsl::GemmShape& shape : shapes)
      for (const float beta : {0.0F, 1.5F}) {
        GemmProblem problem = problem_of(artifact, shape);
        problem.alpha = 0.75F;
        problem.beta = beta;
        problem.ldc = shape.n + ++turn % 4;
        problem.offset_c = turn % 3 + 1;
        EXPECT_EQ(wrong_with(*cpu(), artifact, problem), "")
            << row.text << " " << describe(problem) << " at " << problem.offset_c;
      }
  }
}

// Rows of an odd number of elements: lanes side by side touch four sectors, or five.
TEST(StagedStore, TouchesFewSectors) {
  for (const Row& row : kStaged) {
    const Artifact artifact = staged(row);
    const GemmProblem problem = problem_of(
        artifact, {2 * artifact.spec.tile.m, 2 * artifact.spec.tile.n + 1, artifact.spec.tile_k});
    const auto device = open_cpu({.counters = true, .threads = 1});
    const auto result = run_gemm(*device, artifact, problem, {.counters = true});
    ASSERT_TRUE(result && result->counted) << row.text;
    const ptx::Counts counts = of_stores(*result);
    ASSERT_GT(counts.global_store.requests, 0U) << row.text;
    EXPECT_LE(static_cast<double>(counts.global_store.sectors) /
                  static_cast<double>(counts.global_store.requests),
              row.sectors)
        << row.text;
    EXPECT_EQ(counts.shared_store.requests > 0, row.sectors < 32) << row.text;
    EXPECT_EQ(counts.shared_store.conflicts > 0, row.has_conflicts) << row.text;
    EXPECT_EQ(counts.shared_load.conflicts, 0U) << row.text;
  }
}

// The machine sees what each of the barriers is for.
TEST(StagedStore, RacesWithoutItsBarriers) {
  const Artifact artifact = staged(kStaged[1]);
  const GemmProblem problem = problem_of(artifact, {64, 129, 16});
  const size_t behind = artifact.ptx.rfind("bar.sync");
  const size_t before = artifact.ptx.rfind("bar.sync", behind - 1);
  const size_t block = artifact.ptx.rfind("bar.sync", before - 1);
  ASSERT_NE(block, std::string::npos);
  for (const size_t at : {block, before, behind}) {
    Artifact planted = artifact;
    planted.ptx.insert(at, "//");
    EXPECT_NE(wrong_with(*cpu(), planted, problem).find("race"), std::string::npos)
        << artifact.ptx.substr(at, 20);
  }
}

}  // namespace
}  // namespace tilec::test
