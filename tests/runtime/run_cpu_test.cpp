// The whole road of a run on the CPU device: a kernel in PTX, executed, checked, counted.
#include <gtest/gtest.h>

#include "runtime/cpu_device.h"
#include "runtime/print.h"
#include "runtime/run.h"
#include "tests/runtime/gemm_on_host.h"

namespace tilec {
namespace {

Result<RunResult> run(const Artifact& artifact, const GemmProblem& problem,
                      const RunOptions& options = {}) {
  const std::unique_ptr<Device> device = open_cpu({});
  return run_gemm(*device, artifact, problem, options);
}

TEST(RunCpu, PassesOnEveryShapeAndScalar) {
  for (const dsl::GemmShape& shape :
       {dsl::GemmShape{33, 17, 29}, dsl::GemmShape{1, 1, 1}, dsl::GemmShape{16, 48, 0},
        dsl::GemmShape{0, 16, 16}, dsl::GemmShape{16, 0, 16}, dsl::GemmShape{33, 257, 1}})
    for (float alpha : {0.0F, 1.0F, -0.5F})
      for (float beta : {0.0F, 1.0F, -0.5F}) {
        const auto result =
            run(test::naive_artifact(), {.shape = shape, .alpha = alpha, .beta = beta});
        ASSERT_TRUE(result) << dsl::render(result.error());
        EXPECT_TRUE(result->check->passed) << run_text(*result);
      }
}

TEST(RunCpu, HonoursLeadingDimensionsAndOffsets) {
  const auto result = run(test::naive_artifact(), {.shape = {33, 17, 29},
                                                   .lda = 31,
                                                   .ldb = 40,
                                                   .ldc = 18,
                                                   .beta = 1,
                                                   .offset_a = 1,
                                                   .offset_b = 2,
                                                   .offset_c = 3});
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_TRUE(result->check->passed) << run_text(*result);
}

TEST(RunCpu, CountsWhatWasExecuted) {
  const auto result = run(test::naive_artifact(), {.shape = {32, 32, 10}});
  ASSERT_TRUE(result) << dsl::render(result.error());
  ASSERT_TRUE(result->counters);
  const Counters& counters = *result->counters;
  EXPECT_EQ(counters.blocks, 4);
  EXPECT_EQ(counters.fma, 4 * 8 * 10);  // beta is 0: none in the epilogue
  EXPECT_GT(counters.warp_instructions, counters.fma);
  EXPECT_DOUBLE_EQ(counters.fma_share, static_cast<double>(counters.fma) /
                                           static_cast<double>(counters.warp_instructions));
  EXPECT_GT(counters.sectors_per_request, 1);
  EXPECT_EQ(counters.bank_conflicts, 0);
  EXPECT_FALSE(result->time);
  EXPECT_FALSE(result->check->cublas);
}

TEST(RunCpu, CatchesPlantedFaults) {
  const GemmProblem problem{.shape = {33, 17, 29}};
  const struct {
    const char* what;
    const char* from;
    const char* to;
  } rows[] = {
      {"a sum that starts at 1", "mov.f32 %f1, 0f00000000", "mov.f32 %f1, 0f3f800000"},
      {"a multiply-add left out", "add.s32 %r11, %r11, 1", "add.s32 %r11, %r11, 2"},
      {"alpha left out", "mul.rn.f32 %f1, %f1, %f4", "mul.rn.f32 %f1, %f1, %f5"},
  };
  for (const auto& row : rows) {
    const auto result = run(test::spoilt_artifact(row.from, row.to), problem);
    ASSERT_TRUE(result) << row.what << dsl::render(result.error());
    EXPECT_FALSE(result->check->passed) << row.what;
  }
}

TEST(RunCpu, CatchesCReadForBetaZero) {
  const auto result = run(test::spoilt_artifact("@%p3 bra $put;", ""), {.shape = {33, 17, 29}});
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_FALSE(result->check->passed);
  EXPECT_EQ(result->check->nan_elements, 33 * 17);
}

TEST(RunCpu, CatchesAMissingGuard) {
  // Without the test against M the last tile's rows run past the end of A and C.
  const auto past_the_end =
      run(test::spoilt_artifact("setp.ge.s32 %p1, %r7, %r1;", "setp.ge.s32 %p1, %r7, 9999;"),
          {.shape = {33, 17, 29}});
  ASSERT_FALSE(past_the_end);
  EXPECT_EQ(past_the_end.error().road, dsl::Road::check);
  EXPECT_EQ(past_the_end.error().diagnostics.front().code, "ptx-out-of-bounds");
}

TEST(RunCpu, CatchesStoresBetweenRows) {
  // Every store goes 16 elements too far left: into the gap before its row, and for the first row
  // into the offset before C.
  const auto result = run(test::spoilt_artifact("st.global.f32 [%rd3]", "st.global.f32 [%rd3+-64]"),
                          {.shape = {16, 16, 8}, .ldc = 64, .offset_c = 32});
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_FALSE(result->check->passed);
  EXPECT_EQ(result->check->failed, 16 * 16);
  EXPECT_EQ(result->check->touched.count, 16 * 16);
  EXPECT_EQ(result->check->touched.first[0].where, "guard before the first element, word -16");
}

TEST(RunCpu, ReportsPtxThatItCannotRead) {
  const auto result =
      run(test::spoilt_artifact("fma.rn.f32 %f1, %f2, %f3, %f1", "fuse.f32 %f1, %f2"),
          {.shape = {4, 4, 4}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().road, dsl::Road::user);
}

TEST(RunCpu, CannotBeTimed) {
  const std::unique_ptr<Device> device = open_cpu({});
  const GemmProblem problem = *complete({.shape = {4, 4, 4}});
  const Operands operands = make_operands(problem, false, false);
  const auto result = bench_gemm(*device, KernelId{1}, problem, {&operands, 1}, 0, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().diagnostics.front().code, "no-stopwatch");
  const auto with_bench =
      run(test::naive_artifact(), {.shape = {4, 4, 4}}, {.bench = BenchOptions{}});
  ASSERT_TRUE(with_bench);
  EXPECT_FALSE(with_bench->time);
}

TEST(RunCpu, RefusesBeforeItRuns) {
  Artifact exact = test::naive_artifact();
  exact.spec.edges = dsl::Edges::exact;
  const auto result = run(exact, {.shape = {16, 17, 8}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().road, dsl::Road::user);
  EXPECT_EQ(result.error().diagnostics.front().code, "shape-not-tiled");
}

TEST(RunCpu, LaunchOfAnUnknownKernelIsOurFault) {
  const std::unique_ptr<Device> device = open_cpu({});
  EXPECT_EQ(device->launch(KernelId{7}, {}).error().road, dsl::Road::internal);
}

TEST(RunCpu, SaysWhatWasRun) {
  const auto result = run(test::naive_artifact(), {.shape = {4, 4, 4}, .seed = 77});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->provenance.kernel, "naive");
  EXPECT_NE(result->provenance.spec.find("tile 16x16"), std::string::npos);
  EXPECT_TRUE(result->provenance.ptx_hash.starts_with("fnv1a:"));
  EXPECT_EQ(result->provenance.cubin_hash, "");
  EXPECT_NE(result->provenance.data.find("seed 77"), std::string::npos);
  EXPECT_EQ(result->blocks, 1);
}

TEST(CpuDevice, MovesMemory) {
  const std::unique_ptr<Device> device = open_cpu({});
  auto buffer = Buffer::allocate(*device, 64);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->address() % 256, 0U);
  ASSERT_TRUE(device->fill(buffer->address(), 0x12345678, 16));
  std::vector<uint32_t> words(16);
  ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(words)), buffer->address()));
  EXPECT_EQ(words, std::vector<uint32_t>(16, 0x12345678));
  EXPECT_FALSE(device->fill(buffer->address(), 0, 17));
  EXPECT_FALSE(device->free(buffer->address() + 4));
  EXPECT_TRUE(Buffer::allocate(*device, 0));
}

}  // namespace
}  // namespace tilec
