// How K and the matrices of a batch are dealt to blocks: `split_k`, `stream_k`, strided batches and
// batches by pointers, on the CPU.
#include <algorithm>
#include <cstring>

#include "compiler/report/back_end.h"
#include "compiler/sass/cubin.h"
#include "runtime/device_operands.h"
#include "runtime/launches.h"
#include "tests/compiler/support.h"

namespace tilec::test {
namespace {

TEST(SplitK, IsRightOnAwkwardShapes) {
  const std::unique_ptr<Device> device = cpu();
  for (const char* spec :
       {"tile 16x32x4 thread 2x4 stages 2 split_k 3", "tile 8x16x8 thread 1x4 stages 3 split_k 8",
        "tile 1x64x4 thread 1x4 copy none split_k 5", "tile 16x16x4 split_k 2 layout tt",
        "tile 32x16x2 thread 4x4 stages 2 split_k 256 layout tn"})
    expect_right_on_awkward_shapes(*device, spec);
}

// Of a block an SM, on three of them: `stream_k` shares tiles out there.
void expect_unaligned_right(const std::string& clause) {
  const std::unique_ptr<Device> device = open_cpu({.sm_count = 3});
  for (const char* epilogue : {"acc", "c - acc", "2*acc + beta*c + 1"}) {
    Artifact artifact =
        artifact_of("tile 16x32x4 thread 2x4 stages 2 " + clause + " epilogue " + epilogue);
    artifact.blocks_per_sm = 1;
    const GemmProblem problem{.shape = {20, 37, 41},
                              .lda = 45,
                              .ldb = 39,
                              .ldc = 38,
                              .beta = 0.5F,
                              .offset_a = 1,
                              .offset_b = 2,
                              .offset_c = 3};
    EXPECT_EQ(wrong_with(*device, artifact, problem), "") << clause << " " << epilogue;
  }
}

TEST(SplitK, TakesUnalignedOperandsAndOtherEpilogues) {
  expect_unaligned_right("split_k 3");
}

int64_t at_once_of(const Device& device, const Artifact& artifact) {
  return blocks_at_once(device.info().sm_count, artifact.blocks_per_sm);
}

// One launch: C's bits.
std::vector<uint32_t> bits_of_run(Device& device, const Artifact& artifact,
                                  const GemmProblem& problem) {
  const GemmProblem completed = *complete(problem);
  const Operands operands = make_operands(completed, false, false);
  const auto placed = DeviceOperands::upload(
      device, {&operands, 1}, dsl::Batch::none,
      workspace_needed(artifact.spec, completed.shape, 1, at_once_of(device, artifact)));
  const auto kernel = device.load(artifact);
  EXPECT_TRUE(device.launch(*kernel, placed->arguments(completed)));
  const Result<Image> c = placed->download_c(device, operands.c);
  std::vector<uint32_t> out;
  for (const float element : c->all()) out.push_back(std::bit_cast<uint32_t>(element));
  EXPECT_TRUE(device.unload(*kernel));
  return out;
}

TEST(SplitK, GivesTheSameBitsOnEveryRun) {
  const Artifact artifact = artifact_of("tile 16x32x4 thread 2x4 stages 2 split_k 7");
  const GemmProblem problem{.shape = {33, 65, 211}};
  const std::unique_ptr<Device> one = open_cpu({.threads = 1});
  const std::unique_ptr<Device> many = open_cpu({.threads = 4});
  const std::vector<uint32_t> first = bits_of_run(*one, artifact, problem);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(bits_of_run(*many, artifact, problem), first);
}

// Parts in the order of K, whatever their number: the sum of exact numbers is the same.
TEST(SplitK, LeavesTwoEntriesAndAWorkspace) {
  const Artifact artifact = artifact_of("kernel g { tile 16x32x4 thread 2x4 split_k 3 }");
  ASSERT_EQ(artifact.entries.size(), 2u);
  EXPECT_EQ(artifact.entries[0].name, "g");
  EXPECT_EQ(artifact.entries[1].name, "g_sum");
  EXPECT_NE(artifact.ptx.find(".entry g("), std::string::npos);
  EXPECT_NE(artifact.ptx.find(".entry g_sum("), std::string::npos);
  EXPECT_EQ(dsl::workspace_bytes(artifact.spec, {10, 5, 100}), 3 * 10 * 8 * 4);
  EXPECT_EQ(artifact_of("tile 16x32").entries.size(), 1u);
  EXPECT_EQ(dsl::workspace_bytes(artifact_of("tile 16x32").spec, {10, 5, 100}), 0);
}

// The loop that is rewritten is the first entry's, wherever the assembler put it.
TEST(SplitK, KeepsItsSecondKernelWhereTheLoopIsRewritten) {
  const auto specs = specs_of("tile 128x128x16 warp 64x32 thread 8x8 stages 3 split_k 3 sass on");
  ASSERT_TRUE(specs) << dsl::render(specs.error());
  const dsl::Result<Artifact> artifact = compile((*specs)[0], *find_target("sm_90a"), {});
  ASSERT_TRUE(artifact) << dsl::render(artifact.error());
  if (artifact->cubin.empty()) GTEST_SKIP() << "no assembler";
  ASSERT_TRUE(artifact->sass.rewritten) << artifact->sass.why_not;
  const auto before = sass::read_cubin(artifact->sass.assembled);
  const auto after = sass::read_cubin(artifact->cubin);
  ASSERT_TRUE(before && after);
  ASSERT_EQ(after->kernels.size(), 2u);
  const auto same = [&](const char* name) {
    const auto& one = before->find(name)->words;
    const auto& two = after->find(name)->words;
    return one.size() == two.size() &&
           std::memcmp(one.data(), two.data(), one.size() * sizeof(one[0])) == 0;
  };
  EXPECT_FALSE(same("gemm"));
  EXPECT_TRUE(same("gemm_sum"));
}

TEST(SplitK, RefusesAWorkspaceTooSmall) {
  const KernelCode code = code_of(artifact_of("tile 16x32x4 thread 2x4 split_k 3"));
  KernelArguments arguments{.m = 10, .n = 5, .k = 100, .workspace_bytes = 3 * 10 * 8 * 4 - 1};
  const auto refused = plan_launches(code, arguments, 132);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().diagnostics[0].code, "workspace-too-small");
  EXPECT_NE(refused.error().diagnostics[0].message.find("960 bytes, and it has 959"),
            std::string::npos);
  arguments.workspace_bytes += 1;
  const auto planned = plan_launches(code, arguments, 132);
  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->size(), 2u);
  EXPECT_EQ((*planned)[0].grid[1], 3u);
  EXPECT_EQ((*planned)[1].grid[1], 1u);
}

// Devices of several sizes, so that tiles are shared by one, two and many blocks, and not at all.
TEST(StreamK, IsRightOnAwkwardShapes) {
  for (const char* text :
       {"tile 16x32x4 thread 2x4 stages 2 stream_k", "tile 8x16x8 thread 1x4 stages 3 stream_k",
        "tile 1x64x4 thread 1x4 copy none stream_k raster columns",
        "tile 16x16x4 stages 1 stream_k layout tt",
        "tile 24x24x2 thread 4x4 stages 2 stream_k layout tn raster swizzle 2"}) {
    Artifact artifact = artifact_of(text);
    for (const int at_once : {1, 2, 3, 5, 7, 40}) {
      const std::unique_ptr<Device> device = open_cpu({.sm_count = at_once});
      artifact.blocks_per_sm = 1;
      for (const dsl::GemmShape& shape :
           {dsl::GemmShape{17, 33, 29}, dsl::GemmShape{1, 1, 1}, dsl::GemmShape{16, 32, 0},
            dsl::GemmShape{1, 130, 70}, dsl::GemmShape{40, 3, 12}, dsl::GemmShape{48, 96, 44},
            dsl::GemmShape{0, 16, 16}, dsl::GemmShape{16, 0, 16}}) {
        // C starts as NaN where beta is 0, and the workspace as what was never written.
        const GemmProblem problem{.shape = shape,
                                  .layout = artifact.spec.layout,
                                  .ldc = shape.n + 3,
                                  .alpha = 1.5F,
                                  .beta = at_once % 2 == 0 ? 0.0F : -0.5F};
        ASSERT_EQ(wrong_with(*device, artifact, problem), "")
            << text << " " << describe(problem) << ", " << at_once << " blocks at once";
      }
    }
  }
}

TEST(StreamK, TakesUnalignedOperandsAndOtherEpilogues) {
  expect_unaligned_right("stream_k");
}

TEST(StreamK, GivesTheSameBitsOnEveryRun) {
  Artifact artifact = artifact_of("tile 16x32x4 thread 2x4 stages 2 stream_k");
  artifact.blocks_per_sm = 1;
  const GemmProblem problem{.shape = {33, 65, 211}};
  const std::unique_ptr<Device> one = open_cpu({.threads = 1, .sm_count = 5});
  const std::unique_ptr<Device> many = open_cpu({.threads = 4, .sm_count = 5});
  const std::vector<uint32_t> first = bits_of_run(*one, artifact, problem);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(bits_of_run(*many, artifact, problem), first);
}

// Nine tiles on four multiprocessors: two for each, and the ninth is shared out. On three, or in a
// batch, none is left over.
TEST(StreamK, SharesOutWhatIsLeftOver) {
  Artifact artifact = artifact_of("tile 16x32x4 thread 2x4 stages 2 stream_k");
  artifact.blocks_per_sm = 1;
  KernelCode code = code_of(artifact);
  KernelArguments arguments{.m = 48, .n = 96, .k = 40, .workspace_bytes = 2 * 4 * 16 * 32 * 4};
  const auto four = plan_launches(code, arguments, 4);
  ASSERT_TRUE(four) << dsl::render(four.error());
  ASSERT_EQ(four->size(), 2u);
  EXPECT_EQ((*four)[0].grid[0], 4u + 8u);
  EXPECT_EQ((*four)[1].grid[0], 2u);  // blocks of 8x32
  EXPECT_EQ(std::get<int32_t>((*four)[0].parameters[12]), 1);
  EXPECT_EQ(std::get<int32_t>((*four)[0].parameters[13]), 4);
  --arguments.workspace_bytes;
  const auto refused = plan_launches(code, arguments, 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().diagnostics[0].code, "workspace-too-small");
  arguments.workspace_bytes = 0;
  const auto three = plan_launches(code, arguments, 3);
  ASSERT_TRUE(three) << dsl::render(three.error());
  ASSERT_EQ(three->size(), 1u);
  EXPECT_EQ((*three)[0].grid[0], 9u);
  code.batch = dsl::Batch::strided;
  arguments.batch = 2;
  const auto batch = plan_launches(code, arguments, 4);
  ASSERT_TRUE(batch) << dsl::render(batch.error());
  ASSERT_EQ(batch->size(), 1u);
  EXPECT_EQ((*batch)[0].grid, (std::array<uint32_t, 3>{9, 1, 2}));
}

// Many more blocks than tiles, and operands whose rows allow no vector.
TEST(StreamK, SharesATileAmongManyBlocks) {
  const std::unique_ptr<Device> device = open_cpu({.sm_count = 132});
  Artifact artifact = artifact_of("tile 128x128x8 warp 64x64 thread 8x16 stages 4 stream_k");
  artifact.blocks_per_sm = 1;
  for (const dsl::GemmShape& shape : {dsl::GemmShape{129, 257, 333}, dsl::GemmShape{200, 200, 200}})
    EXPECT_EQ(wrong_with(*device, artifact, {.shape = shape}), "");
}

// The loop that is rewritten stands in a loop over the tiles of a stretch.
TEST(StreamK, HasItsLoopRewritten) {
  const auto specs = specs_of("tile 128x128x8 warp 64x64 thread 8x16 stages 4 stream_k sass on");
  ASSERT_TRUE(specs) << dsl::render(specs.error());
  const dsl::Result<Artifact> artifact = compile((*specs)[0], *find_target("sm_90a"), {});
  ASSERT_TRUE(artifact) << dsl::render(artifact.error());
  if (artifact->cubin.empty()) GTEST_SKIP() << "no assembler";
  EXPECT_TRUE(artifact->sass.rewritten) << artifact->sass.why_not;
  // Its figures are that loop's, and not those of the kernel that adds up.
  const BackEnd back_end = describe_back_end(*artifact, *find_target("sm_90a"));
  ASSERT_TRUE(back_end.cycles_per_fma && back_end.cycles_per_fma_assembled);
  EXPECT_LT(*back_end.cycles_per_fma, *back_end.cycles_per_fma_assembled);
}

TEST(Persistent, ComputesEveryTile) {
  const std::unique_ptr<Device> device = cpu();
  for (const char* spec : {"tile 16x32x4 thread 2x4 stages 2 persistent",
                           "tile 16x16x4 thread 2x2 stages 3 persistent raster swizzle 2",
                           "tile 8x64 thread 1x4 copy none persistent layout nt",
                           "tile 16x16x4 stages 1 persistent split_k 3 raster columns"}) {
    const Artifact artifact = artifact_of(spec);
    for (const dsl::GemmShape& shape :
         {dsl::GemmShape{1, 1, 1}, dsl::GemmShape{100, 600, 9}, dsl::GemmShape{64, 512, 0},
          dsl::GemmShape{300, 5, 33}, dsl::GemmShape{0, 5, 5}}) {
      const GemmProblem problem{.shape = shape, .layout = artifact.spec.layout, .beta = 0};
      ASSERT_EQ(wrong_with(*device, artifact, problem), "") << spec << " " << describe(problem);
    }
  }
}

// As many blocks as the device holds at once, and no more than there are tiles.
TEST(Persistent, TakesTheBlocksThatTheDeviceHolds) {
  const Artifact artifact = artifact_of("tile 16x16x4 thread 2x2 persistent");
  const KernelCode code = code_of(artifact);
  const KernelArguments large{.m = 4096, .n = 4096, .k = 4};
  const auto held = static_cast<uint32_t>(2 * artifact.derived.blocks_per_sm);
  EXPECT_EQ((*plan_launches(code, large, 2))[0].grid[0], held);
  const KernelArguments small{.m = 16, .n = 17, .k = 4};
  EXPECT_EQ((*plan_launches(code, small, 132))[0].grid[0], 2u);
}

TEST(Batch, IsRightHoweverItsMatricesLie) {
  const std::unique_ptr<Device> device = cpu();
  for (const dsl::Batch batch : {dsl::Batch::strided, dsl::Batch::pointers})
    for (const char* spec : {"tile 16x32x4 thread 2x4 stages 2", "tile 8x64 thread 1x4 copy none",
                             "tile 16x16x4 thread 2x2 stages 3 split_k 3 layout nt",
                             "tile 16x32x4 thread 2x4 stages 2 stream_k"}) {
      const Artifact artifact = artifact_of(spec, batch);
      for (const dsl::GemmShape& shape :
           {dsl::GemmShape{17, 33, 29}, dsl::GemmShape{16, 64, 16}, dsl::GemmShape{3, 5, 0}}) {
        const GemmProblem problem{.shape = shape,
                                  .layout = artifact.spec.layout,
                                  .beta = shape.k == 29 ? 0.0F : 0.5F,
                                  .batch = 5,
                                  .batched = batch};
        ASSERT_EQ(wrong_with(*device, artifact, problem), "") << spec << " " << describe(problem);
      }
    }
}

TEST(Batch, RefusesAnotherKind) {
  const std::unique_ptr<Device> device = cpu();
  const Artifact artifact = artifact_of("tile 16x16", dsl::Batch::strided);
  const auto refused = run_gemm(*device, artifact, {.shape = {16, 16, 16}}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().diagnostics[0].code, "batch-differs");
  const KernelArguments arguments{.m = 1, .n = 1, .k = 1, .batch = 2};
  const auto planned = plan_launches(code_of(artifact_of("tile 16x16")), arguments, 132);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().diagnostics[0].code, "batch-differs");
}

// A grid has at most 65535 blocks along z.
TEST(Batch, TakesSeveralLaunchesWhereItIsLarge) {
  const KernelCode code = code_of(artifact_of("tile 16x16 split_k 2", dsl::Batch::strided));
  const KernelArguments arguments{.a = 1000,
                                  .m = 4,
                                  .n = 4,
                                  .k = 4,
                                  .workspace_bytes = int64_t{65535} * 2 * 4 * 4 * 4,
                                  .batch = 70000,
                                  .stride_a = 16};
  const auto planned = plan_launches(code, arguments, 132);
  ASSERT_TRUE(planned) << dsl::render(planned.error());
  ASSERT_EQ(planned->size(), 4u);
  EXPECT_EQ((*planned)[0].grid[2], 65535u);
  EXPECT_EQ((*planned)[2].grid[2], 70000u - 65535u);
  EXPECT_EQ(std::get<uint64_t>((*planned)[2].parameters[0]), 1000u + 65535u * 16u * 4u);
}

}  // namespace
}  // namespace tilec::test
