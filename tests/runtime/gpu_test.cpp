// The GPU of the machine at hand, where there is one; skipped elsewhere.
#include "runtime/cuda/gpu.h"

#include <gtest/gtest.h>

#include "runtime/device_operands.h"
#include "runtime/print.h"
#include "runtime/run.h"
#include "tests/runtime/gemm_on_host.h"

namespace tilec {
namespace {

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> opened = cuda::open_gpu({});
    if (!opened) GTEST_SKIP() << opened.error().diagnostics.front().message;
    device = std::move(*opened);
  }
  std::unique_ptr<Device> device;
};

TEST_F(Gpu, SaysWhatItIs) {
  const DeviceInfo& info = device->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.driver.empty());
  EXPECT_GT(info.sm_count, 0);
  EXPECT_GT(info.clock_mhz, 0);
  EXPECT_GT(info.l2_bytes, 0);
}

TEST_F(Gpu, RunsEveryShapeAndScalar) {
  for (const dsl::GemmShape& shape :
       {dsl::GemmShape{129, 127, 65}, dsl::GemmShape{1, 1, 1}, dsl::GemmShape{16, 48, 0},
        dsl::GemmShape{0, 16, 16}, dsl::GemmShape{16, 0, 16}, dsl::GemmShape{33, 257, 1}})
    for (float alpha : {0.0F, 1.0F, -0.5F})
      for (float beta : {0.0F, 1.0F, -0.5F}) {
        const auto result = run_gemm(*device, test::naive_artifact(),
                                     {.shape = shape, .alpha = alpha, .beta = beta}, {});
        ASSERT_TRUE(result) << dsl::render(result.error());
        EXPECT_TRUE(result->check->passed) << run_text(*result);
      }
}

TEST_F(Gpu, CublasIsRightInEveryLayout) {
  if (device->info().cublas.empty()) GTEST_SKIP() << "no cuBLAS";
  for (bool a_transposed : {false, true})
    for (bool b_transposed : {false, true}) {
      const GemmProblem problem = *complete({.shape = {130, 71, 93},
                                             .layout = {a_transposed, b_transposed},
                                             .lda = 150,
                                             .ldb = 110,
                                             .ldc = 80,
                                             .alpha = 1.5F,
                                             .beta = -1,
                                             .offset_a = 1,
                                             .offset_c = 3});
      const Operands before = make_operands(problem, true, true);
      const auto placed = DeviceOperands::upload(*device, before);
      ASSERT_TRUE(placed) << dsl::render(placed.error());
      const auto run = device->cublas(problem.layout, dsl::Batch::none, placed->arguments(problem));
      ASSERT_TRUE(run) << dsl::render(run.error());
      const auto after = placed->download(*device, before);
      ASSERT_TRUE(after) << dsl::render(after.error());
      EXPECT_TRUE(
          check_result(problem, dsl::default_epilogue(), {16, 16}, before, *after, {}).passed);
    }
}

// Every algorithm that cublasLt lists, aligned or not, alone and in a batch: what is timed as the
// rival computes in f32, and the whole product.
TEST_F(Gpu, EveryAlgorithmOfCublasLtIsRight) {
  int algorithms = 0;
  for (int variant = 0; variant < 16; ++variant) {
    const bool aligned = (variant & 4) != 0;
    const bool batched = (variant & 8) != 0;
    const int64_t pad = aligned ? 4 : 1;
    const GemmProblem problem =
        *complete({.shape = {132, 72, 992},
                   .layout = {(variant & 1) != 0, (variant & 2) != 0},
                   .lda = 992 + pad,
                   .ldb = 992 + pad,
                   .ldc = 72 + pad,
                   .alpha = 1.5F,
                   .beta = -1,
                   .offset_a = aligned ? 0 : 1,
                   .offset_c = aligned ? 0 : 3,
                   .batch = batched ? 3 : 1,
                   .batched = batched ? dsl::Batch::strided : dsl::Batch::none});
    std::vector<Operands> before;
    for (int64_t i = 0; i < problem.batch; ++i)
      before.push_back(make_operands(problem, true, true));
    const auto placed = DeviceOperands::upload(*device, before, problem.batched, 0);
    ASSERT_TRUE(placed) << dsl::render(placed.error());
    const KernelArguments arguments[] = {placed->arguments(problem)};
    Stopwatch& stopwatch = *device->stopwatch();
    const auto listed =
        stopwatch.cublaslt_algorithms(problem.layout, problem.batched, arguments[0]);
    ASSERT_TRUE(listed) << dsl::render(listed.error());
    for (CublasWay way = 1; way <= *listed; ++way, ++algorithms) {
      for (int64_t i = 0; i < problem.batch; ++i)
        ASSERT_TRUE(placed->upload_c(*device, before[static_cast<size_t>(i)].c, i));
      // It multiplies once as it records.
      const auto recorded =
          stopwatch.record_cublas(way, problem.layout, problem.batched, arguments);
      ASSERT_TRUE(recorded) << variant << ", " << way << ": " << dsl::render(recorded.error());
      stopwatch.forget(*recorded);
      for (int64_t i = 0; i < problem.batch; ++i) {
        const Operands& matrix = before[static_cast<size_t>(i)];
        const auto after = placed->download(*device, matrix, i);
        ASSERT_TRUE(after) << dsl::render(after.error());
        EXPECT_TRUE(
            check_result(problem, dsl::default_epilogue(), {16, 16}, matrix, *after, {}).passed)
            << variant << ", " << way;
      }
    }
  }
  if (device->info().cublas.empty() || algorithms == 0) GTEST_SKIP() << "no cublasLt";
  EXPECT_GE(algorithms, 16);
}

TEST_F(Gpu, TimesBothSides) {
  const auto result = run_gemm(*device, test::naive_artifact(), {.shape = {256, 256, 256}},
                               {.bench = BenchOptions{.bursts = 5}});
  ASSERT_TRUE(result) << dsl::render(result.error());
  ASSERT_TRUE(result->time);
  EXPECT_GT(result->time->kernel.median_us, 1);
  EXPECT_LT(result->time->kernel.median_us, 10000);
  if (result->time->cublas) {
    EXPECT_LT(result->time->ratio, 1);
  }
  if (!device->info().nvml.empty()) {
    EXPECT_GT(result->time->kernel.clock_mhz, 100);
    EXPECT_LT(result->time->share_of_peak, 0.5);
  }
}

// Rows past the end of C lie in the guard zone: nothing faults, and the check must see it.
TEST_F(Gpu, GuardZonesCatchAMissingGuard) {
  const auto result = run_gemm(
      *device, test::spoilt_artifact("setp.ge.s32 %p1, %r7, %r1;", "setp.ge.s32 %p1, %r7, 9999;"),
      {.shape = {33, 17, 29}}, {});
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_FALSE(result->check->passed);
  EXPECT_EQ(result->check->failed, 0);
  EXPECT_EQ(result->check->touched.count, 15 * 17);
}

TEST_F(Gpu, KeepsTheLogOfTheDriversAssembler) {
  const auto kernel = device->load(test::spoilt_artifact("fma.rn.f32", "fuse.rn.f32"));
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().diagnostics.front().message.find("ptxas"), std::string::npos)
      << dsl::render(kernel.error());
}

}  // namespace
}  // namespace tilec
