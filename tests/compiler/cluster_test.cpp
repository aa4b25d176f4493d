// Clusters along K, on the CPU: what the blocks of a tile add up through each other's shared
// memory.
#include <algorithm>
#include <bit>

#include "compiler/report/report.h"
#include "runtime/device_operands.h"
#include "runtime/launches.h"
#include "tests/compiler/support.h"

namespace tilec::test {
namespace {

// Pieces of 1, 2 and 4 elements; more pieces than blocks, fewer, and no multiple of them; one trip
// and several; a part that needs more shared memory than the slices, and one that needs less.
const std::vector<std::string>& kinds_of_clusters() {
  static const std::vector<std::string> specs = {
      "tile 16x32x4 thread 2x4 stages 2 cluster 1x1x3",
      "tile 8x16x8 thread 1x4 stages 3 cluster 1x1x8",
      "tile 1x64x4 thread 1x4 copy none cluster 1x1x5",
      "tile 16x16x4 cluster 1x1x2 layout tt",
      "tile 32x16x2 thread 4x2 stages 2 cluster 1x1x7 layout tn",
      "tile 32x64x8 warp 32x32 thread 8x4 stages 3 cluster 1x1x4 raster columns",
      "tile 32x64x8 warp 16x64 thread 16x2 stages 1 cluster 1x1x2 layout nt",
      "tile 16x24x4 thread 4x6 vector 2 stages 3 cluster 1x1x6 raster swizzle 2",
  };
  return specs;
}

TEST(Cluster, IsRightOnAwkwardShapes) {
  const std::unique_ptr<Device> device = cpu();
  for (const std::string& spec : kinds_of_clusters()) expect_right_on_awkward_shapes(*device, spec);
}

TEST(Cluster, TakesUnalignedOperandsAndOtherEpilogues) {
  const std::unique_ptr<Device> device = cpu();
  for (const char* epilogue : {"acc", "c - acc", "2*acc + beta*c + 1"}) {
    const Artifact artifact = artifact_of(
        std::string("tile 16x32x4 thread 2x4 stages 2 cluster 1x1x3 epilogue ") + epilogue);
    const GemmProblem problem{.shape = {20, 37, 41},
                              .lda = 45,
                              .ldb = 39,
                              .ldc = 38,
                              .beta = 0.5F,
                              .offset_a = 1,
                              .offset_b = 2,
                              .offset_c = 3};
    EXPECT_EQ(wrong_with(*device, artifact, problem), "") << epilogue;
  }
}

TEST(Cluster, TakesExactEdges) {
  const std::unique_ptr<Device> device = cpu();
  for (const char* spec : {"tile 16x32x4 thread 2x4 stages 2 cluster 1x1x4 edges exact",
                           "tile 16x32x4 thread 2x4 stages 2 cluster 1x1x3 edges exact"}) {
    const Artifact artifact = artifact_of(spec);
    for (const float beta : {0.0F, 2.0F})
      EXPECT_EQ(wrong_with(*device, artifact, {.shape = {32, 64, 48}, .beta = beta}), "") << spec;
  }
}

TEST(Cluster, TakesBatches) {
  const std::unique_ptr<Device> device = cpu();
  for (const dsl::Batch batch : {dsl::Batch::strided, dsl::Batch::pointers}) {
    const Artifact artifact = artifact_of("tile 16x32x4 thread 2x4 stages 2 cluster 1x1x3", batch);
    const GemmProblem problem{.shape = {17, 33, 29}, .beta = 0.5F, .batch = 3, .batched = batch};
    EXPECT_EQ(wrong_with(*device, artifact, problem), "");
  }
}

// One launch: C's bits.
std::vector<uint32_t> bits_of_run(Device& device, const Artifact& artifact,
                                  const GemmProblem& problem) {
  const GemmProblem completed = *complete(problem);
  const Operands operands = make_operands(completed, true, false);
  const auto placed =
      DeviceOperands::upload(device, {&operands, 1}, dsl::Batch::none,
                             workspace_needed(artifact.spec, completed.shape, 1, 1));
  const auto kernel = device.load(artifact);
  EXPECT_TRUE(device.launch(*kernel, placed->arguments(completed)));
  const Result<Image> c = placed->download_c(device, operands.c);
  std::vector<uint32_t> out;
  for (const float element : c->all()) out.push_back(std::bit_cast<uint32_t>(element));
  EXPECT_TRUE(device.unload(*kernel));
  return out;
}

// The order of additions is that of the workspace, on every run.
TEST(Cluster, GivesTheBitsOfSplitK) {
  const std::unique_ptr<Device> one = open_cpu({.threads = 1});
  const std::unique_ptr<Device> many = open_cpu({.threads = 4});
  for (const std::string& text : kinds_of_clusters()) {
    const Artifact cluster = artifact_of(text);
    std::string split = text;
    const size_t at = split.find("cluster 1x1x");
    split.replace(at, 12, "split_k ");
    const GemmProblem problem{
        .shape = {33, 65, 211}, .layout = cluster.spec.layout, .alpha = 0.7F, .beta = 0.3F};
    const std::vector<uint32_t> expected = bits_of_run(*one, artifact_of(split), problem);
    for (int run = 0; run < 2; ++run)
      EXPECT_EQ(bits_of_run(*many, cluster, problem), expected) << text;
  }
}

TEST(Cluster, NeedsNeitherWorkspaceNorSecondKernel) {
  const Artifact artifact = artifact_of("tile 32x32x4 thread 4x4 cluster 1x1x3");
  EXPECT_EQ(artifact.entries.size(), 1u);
  EXPECT_EQ(dsl::workspace_bytes(artifact.spec, {10, 5, 100}), 0);
  EXPECT_EQ(artifact.entries[0].shared_bytes, 32 * 32 * 4);  // more than two slices of 32 x 4
  EXPECT_NE(artifact.ptx.find(".reqnctapercluster 1, 3, 1"), std::string::npos);
  const auto planned = plan_launches(code_of(artifact), {.m = 40, .n = 33, .k = 100}, 132);
  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->size(), 1u);
  EXPECT_EQ((*planned)[0].grid, (std::array<uint32_t, 3>{4, 3, 1}));
}

// What the machine says of the kernel with `from` left out of its PTX, the `nth` time it is there.
std::string without(Artifact artifact, const std::string& from, int nth) {
  size_t at = artifact.ptx.find(from);
  for (; nth > 0 && at != std::string::npos; --nth) at = artifact.ptx.find(from, at + 1);
  if (at == std::string::npos) return "not there";
  artifact.ptx.erase(at, from.size());
  return wrong_with(*cpu(), artifact, {.shape = {17, 33, 29}});
}

TEST(Cluster, TheMachineFindsBarriersLeftOut) {
  const Artifact artifact = artifact_of("tile 16x32x4 thread 2x4 stages 2 cluster 1x1x3");
  ASSERT_EQ(without(artifact, "//", 0), "");
  const std::string arrive = "barrier.cluster.arrive.relaxed.aligned;";
  const std::string wait = "barrier.cluster.wait.aligned;";
  // Waits for an arrival that never was.
  for (const int nth : {0, 1})
    EXPECT_NE(without(artifact, arrive, nth).find("it waits at the cluster's barrier"),
              std::string::npos);
  // Reads before others have written, or before they are known to have.
  EXPECT_NE(without(artifact, wait, 0).find("race on shared memory"), std::string::npos);
  EXPECT_NE(without(artifact, "fence.release.sync_restrict::shared::cta.cluster;", 0)
                .find("race on shared memory"),
            std::string::npos);
  // Ends while others read.
  EXPECT_NE(without(artifact, wait, 1).find("the block whose shared memory it is"),
            std::string::npos);
  Artifact alone = artifact;
  for (const std::string& half : {arrive, wait})
    alone.ptx.erase(alone.ptx.rfind(half), half.size());
  EXPECT_NE(wrong_with(*cpu(), alone, {.shape = {17, 33, 29}})
                .find("the block whose shared memory it is has ended"),
            std::string::npos);
}

// Whatever else the kernel has, our own back end knows it; and the report knows how often the sum
// goes round: it multiplies with this epilogue, once for each element of C in all blocks together.
TEST(Cluster, HasItsLoopRewritten) {
  const auto specs =
      specs_of("tile 64x128x8 warp 64x64 thread 16x8 stages 4 cluster 1x1x4 sass on");
  ASSERT_TRUE(specs) << dsl::render(specs.error());
  const dsl::Result<Artifact> artifact = compile((*specs)[0], *find_target("sm_90a"), {});
  ASSERT_TRUE(artifact) << dsl::render(artifact.error());
  if (artifact->cubin.empty()) GTEST_SKIP() << "no assembler";
  EXPECT_TRUE(artifact->sass.rewritten) << artifact->sass.why_not;
}

TEST(Cluster, ReportCountsTheSumOfWholeTiles) {
  for (const char* text : {"tile 64x64x8 warp 32x32 thread 8x4 stages 3 cluster 1x1x2 sass off",
                           "tile 64x64x8 warp 64x64 thread 16x8 stages 3 cluster 1x1x4 sass off",
                           "tile 32x64x8 warp 32x32 thread 4x8 stages 3 cluster 1x1x8 sass off"}) {
    const auto specs = specs_of(std::string(text) + " epilogue alpha*acc + c");
    ASSERT_TRUE(specs) << dsl::render(specs.error());
    const dsl::Result<Artifact> artifact = compile((*specs)[0], *find_target("sm_90a"), {});
    ASSERT_TRUE(artifact) << dsl::render(artifact.error());
    if (artifact->cubin.empty()) GTEST_SKIP() << "no assembler";
    const dsl::GemmShape shape{128, 128, 256};
    const auto report = build_report(*artifact, *find_target("sm_90a"), shape, nullptr);
    ASSERT_TRUE(report);
    ASSERT_TRUE(report->executed);
    const std::unique_ptr<Device> device = open_cpu({.counters = true, .threads = 1});
    const dsl::Result<RunResult> result = run_gemm(*device, *artifact, {.shape = shape}, {});
    ASSERT_TRUE(result) << dsl::render(result.error());
    EXPECT_DOUBLE_EQ(report->executed->multiply_adds,
                     static_cast<double>(result->counters->fma) * 32)
        << text;
  }
}

}  // namespace
}  // namespace tilec::test
