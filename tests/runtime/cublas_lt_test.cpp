// cublasLt over the fake: that its matrices are described to it as ours lie, and what is made of
// its list.
#include <gtest/gtest.h>

#include "runtime/device_operands.h"
#include "runtime/run.h"
#include "tests/runtime/cuda_fixture.h"
#include "tests/runtime/gemm_on_host.h"

namespace tilec {
namespace {

using cuda::GpuOptions;
using cuda::open_gpu;
using test::contains;
using test::Cuda;
using test::fake_options;

class CublasLt : public Cuda {};

// Every algorithm of cublasLt, with operands that are not aligned, alone and in a batch.
TEST_F(CublasLt, AgreesInEveryLayout) {
  const std::unique_ptr<Device> gpu = opened();
  for (int variant = 0; variant < 12; ++variant) {
    const bool batched = variant % 3 == 2;
    const GemmProblem problem =
        *complete({.shape = {13, 7, 9},
                   .layout = {(variant & 4) != 0, (variant & 8) != 0},
                   .lda = 15,
                   .ldb = 11,
                   .ldc = 8,
                   .alpha = 1.5F,
                   .beta = -1,
                   .offset_a = 1,
                   .offset_b = 2,
                   .offset_c = 3,
                   .batch = batched ? 3 : 1,
                   .batched = batched ? dsl::Batch::strided : dsl::Batch::none});
    std::vector<Operands> before;
    for (int64_t i = 0; i < problem.batch; ++i)
      before.push_back(make_operands(problem, true, true));
    const auto placed = DeviceOperands::upload(*gpu, before, problem.batched, 0);
    ASSERT_TRUE(placed);
    const KernelArguments arguments[] = {placed->arguments(problem)};
    const auto listed =
        gpu->stopwatch()->cublaslt_algorithms(problem.layout, problem.batched, arguments[0]);
    ASSERT_TRUE(listed) << dsl::render(listed.error());
    ASSERT_EQ(*listed, 3);
    const CublasWay way = 1 + variant % 3;
    // It multiplies once as it records.
    const auto recorded =
        gpu->stopwatch()->record_cublas(way, problem.layout, problem.batched, arguments);
    ASSERT_TRUE(recorded) << dsl::render(recorded.error());
    for (int64_t i = 0; i < problem.batch; ++i) {
      const Operands& matrix = before[static_cast<size_t>(i)];
      const auto after = placed->download(*gpu, matrix, i);
      ASSERT_TRUE(after);
      EXPECT_TRUE(
          check_result(problem, dsl::default_epilogue(), {16, 16}, matrix, *after, {}).passed)
          << variant;
    }
    gpu->stopwatch()->forget(*recorded);
    EXPECT_FALSE(gpu->stopwatch()->record_cublas(4, problem.layout, problem.batched, arguments));
  }
}

TEST_F(CublasLt, HasNothingForPointers) {
  const std::unique_ptr<Device> gpu = opened();
  const auto listed = gpu->stopwatch()->cublaslt_algorithms({}, dsl::Batch::pointers, {});
  ASSERT_TRUE(listed);
  EXPECT_EQ(*listed, 0);
  const auto result = run_gemm(
      *gpu, test::naive_artifact(), {.shape = {20, 30, 10}},
      {.bench = BenchOptions{.burst_ms = 0.1, .bursts = 3, .warm_up_ms = 0.1, .cublas = false}});
  ASSERT_TRUE(result && result->time);
  EXPECT_EQ(calls("cublasLtMatmul"), 0);
}

// An algorithm that fails is passed over; with none left, or none listed, cublasSgemm stands.
TEST_F(CublasLt, MayFail) {
  const RunOptions options{.bench = BenchOptions{.burst_ms = 0.1, .bursts = 3, .warm_up_ms = 0.1}};
  for (const auto& [function, status] :
       {std::pair{"cublasLtMatmul", 13}, std::pair{"cublasLtMatmulAlgoGetHeuristic", 15},
        std::pair{"cublasLtMatmulAlgoGetHeuristic", 14},
        std::pair{"cublasLtMatrixLayoutCreate", 3}}) {
    const std::unique_ptr<Device> gpu = opened();
    fail(function, status);
    const auto result = run_gemm(*gpu, test::naive_artifact(), {.shape = {20, 30, 10}}, options);
    fail(function, 0);
    ASSERT_TRUE(result) << dsl::render(result.error());
    EXPECT_EQ(result->time->cublas_way, "cublasSgemm") << function;
    EXPECT_EQ(result->time->cublaslt_us, 0);
    EXPECT_NEAR(result->time->ratio, 2, 1e-3);
  }
  EXPECT_EQ(live(), 0);
}

TEST_F(CublasLt, SaysThatThereIsNoCublasLt) {
  GpuOptions options = fake_options();
  options.cublas_files = {TILEC_FAKE_OLD_CUDA};
  const auto gpu = open_gpu(options);
  ASSERT_TRUE(gpu) << dsl::render(gpu.error());
  EXPECT_EQ((*gpu)->info().cublas, "13.1.0");
  ASSERT_EQ((*gpu)->info().missing.size(), 1U);
  EXPECT_TRUE(contains((*gpu)->info().missing[0], "cublasLt's algorithms"));
  EXPECT_TRUE(contains((*gpu)->info().missing[0], "lacks cublasLtCreate, "));
  const auto listed = (*gpu)->stopwatch()->cublaslt_algorithms({}, dsl::Batch::none, {});
  ASSERT_TRUE(listed);
  EXPECT_EQ(*listed, 0);
}

}  // namespace
}  // namespace tilec
