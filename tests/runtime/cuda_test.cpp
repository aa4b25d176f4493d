// runtime/cuda over a fake driver: what is opened and asked for, what is said when it fails, and
// that nothing is leaked. The real one is tested where there is a GPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/cuda/gpu.h"
#include "runtime/cuda/library.h"
#include "runtime/cuda/nvml.h"
#include "runtime/device_operands.h"
#include "runtime/devices.h"
#include "runtime/print.h"
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
using test::message_of;

TEST_F(Cuda, ReadsTheDevice) {
  const std::unique_ptr<Device> gpu = opened();
  const DeviceInfo& info = gpu->info();
  EXPECT_EQ(info.kind, DeviceKind::gpu);
  EXPECT_EQ(info.name, "Fake H200");
  EXPECT_EQ(info.target, "sm_90a");
  EXPECT_EQ(info.sm_count, 132);
  EXPECT_EQ(info.lanes_per_sm, 128);
  EXPECT_EQ(info.clock_mhz, 1980);
  EXPECT_EQ(info.l2_bytes, 64 << 10);
  EXPECT_EQ(info.shared_bytes_per_block, 227 << 10);
  EXPECT_EQ(info.driver, "580.159.04");
  EXPECT_EQ(info.cublas, "13.1.0");
  EXPECT_EQ(info.nvml, "13.580");
  EXPECT_TRUE(info.missing.empty());
  EXPECT_FALSE(info.knows_bounds);
}

// Before anything is allocated for it.
TEST_F(Cuda, RefusesWhatDoesNotFitItsMemory) {
  const std::unique_ptr<Device> gpu = opened();
  const int allocated = calls("cuMemAlloc_v2");
  const auto result = run_gemm(*gpu, test::naive_artifact(), {.shape = {20000, 20000, 20000}}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().road, dsl::Road::machine);
  EXPECT_EQ(result.error().diagnostics.front().code, "not-enough-memory");
  EXPECT_TRUE(contains(message_of(result.error()), "4800000000 bytes"))
      << message_of(result.error());
  EXPECT_EQ(calls("cuMemAlloc_v2"), allocated);
}

TEST_F(Cuda, SaysWhatWasTriedWhereThereIsNoDriver) {
  const auto gpu = open_gpu({.driver_files = {"/nowhere/libcuda.so.1", "libnot-there.so"}});
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().road, dsl::Road::machine);
  EXPECT_EQ(gpu.error().diagnostics.front().code, "no-driver");
  EXPECT_TRUE(contains(message_of(gpu.error()), "/nowhere/libcuda.so.1"));
  EXPECT_TRUE(contains(message_of(gpu.error()), "libnot-there.so"));
}

TEST_F(Cuda, NamesMissingFunctions) {
  const auto gpu = open_gpu({.driver_files = {TILEC_FAKE_OLD_CUDA}});
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().diagnostics.front().code, "bad-driver");
  EXPECT_TRUE(contains(message_of(gpu.error()), "lacks cuLaunchKernel:"));
}

TEST_F(Cuda, SaysThatThereIsNoGpu) {
  fail("cuInit", 100);  // CUDA_ERROR_NO_DEVICE
  auto gpu = open_gpu(fake_options());
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().diagnostics.front().code, "no-gpu");
  fail("cuInit", 0);
  GpuOptions options = fake_options();
  options.index = 3;
  gpu = open_gpu(options);
  ASSERT_FALSE(gpu);
  EXPECT_TRUE(contains(message_of(gpu.error()), "there is no GPU 3"));
  EXPECT_EQ(live(), 0);
}

TEST_F(Cuda, GoesOnWithoutCublasAndNvml) {
  GpuOptions options = fake_options();
  options.cublas_files = {"/nowhere/libcublas.so.13"};
  options.nvml_files = {"/nowhere/libnvidia-ml.so.1"};
  const auto gpu = open_gpu(options);
  ASSERT_TRUE(gpu) << dsl::render(gpu.error());
  EXPECT_EQ((*gpu)->info().cublas, "");
  ASSERT_EQ((*gpu)->info().missing.size(), 2U);
  EXPECT_EQ((*gpu)->info().driver, "for CUDA 13.0");
  const auto result =
      run_gemm(**gpu, test::naive_artifact(), {.shape = {20, 30, 10}},
               {.bench = BenchOptions{.burst_ms = 0.1, .bursts = 3, .warm_up_ms = 0.1}});
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_TRUE(result->check->passed);
  EXPECT_FALSE(result->check->cublas);
  ASSERT_TRUE(result->time);
  EXPECT_NEAR(result->time->kernel.median_us, 10, 1e-3);
  EXPECT_FALSE(result->time->cublas);
  EXPECT_EQ(result->time->share_of_peak, 0);  // the clock is not known
  EXPECT_EQ((*gpu)->cublas({}, {}, {}).error().diagnostics.front().code, "no-cublas");
}

TEST_F(Cuda, RunsChecksAndTimes) {
  const std::unique_ptr<Device> gpu = opened();
  const GemmProblem problem{.shape = {33, 17, 40},
                            .lda = 48,
                            .ldb = 20,
                            .ldc = 19,
                            .alpha = -0.5F,
                            .beta = 2,
                            .offset_a = 1};
  const auto result =
      run_gemm(*gpu, test::naive_artifact(), problem,
               {.bench = BenchOptions{.burst_ms = 0.5, .bursts = 5, .warm_up_ms = 0.1}});
  ASSERT_TRUE(result) << dsl::render(result.error());
  EXPECT_TRUE(result->check->passed) << run_text(*result);
  ASSERT_TRUE(result->check->cublas);
  EXPECT_TRUE(result->check->cublas->bit_equal);
  EXPECT_FALSE(result->counters);
  ASSERT_TRUE(result->time && result->time->cublas);
  EXPECT_NEAR(result->time->kernel.median_us, 10, 1e-3);
  // The second of cublasLt's three algorithms is faster than cublasSgemm.
  EXPECT_NEAR(result->time->cublas->median_us, 12, 1e-3);
  EXPECT_EQ(result->time->cublas_way, "cublasLt, 2nd of 3");
  EXPECT_NEAR(result->time->cublas_sgemm_us, 20, 1e-3);
  EXPECT_NEAR(result->time->cublaslt_us, 12, 1e-3);
  EXPECT_NEAR(result->time->ratio, 1.2, 1e-3);
  EXPECT_EQ(result->time->kernel.clock_mhz, 1500);
  EXPECT_EQ(result->time->kernel.watts, 400);
  EXPECT_NEAR(result->time->share_of_peak, 2.0 * 33 * 17 * 40 / 10e-6 / (132.0 * 128 * 2 * 1500e6),
              1e-9);
}

TEST_F(Cuda, CublasAgreesInEveryLayout) {
  const std::unique_ptr<Device> gpu = opened();
  for (bool a_transposed : {false, true})
    for (bool b_transposed : {false, true}) {
      const GemmProblem problem = *complete({.shape = {13, 7, 9},
                                             .layout = {a_transposed, b_transposed},
                                             .lda = 15,
                                             .ldb = 11,
                                             .ldc = 8,
                                             .alpha = 1.5F,
                                             .beta = -1});
      const Operands before = make_operands(problem, true, true);
      const auto placed = DeviceOperands::upload(*gpu, before);
      ASSERT_TRUE(placed);
      ASSERT_TRUE(gpu->cublas(problem.layout, dsl::Batch::none, placed->arguments(problem)));
      const auto after = placed->download(*gpu, before);
      ASSERT_TRUE(after);
      EXPECT_TRUE(
          check_result(problem, dsl::default_epilogue(), {16, 16}, before, *after, {}).passed)
          << a_transposed << b_transposed;
    }
}

TEST_F(Cuda, LaunchesNothingForAnEmptyC) {
  const std::unique_ptr<Device> gpu = opened();
  for (const dsl::GemmShape& shape : {dsl::GemmShape{0, 5, 5}, dsl::GemmShape{5, 0, 5}}) {
    const auto result =
        run_gemm(*gpu, test::naive_artifact(), {.shape = shape}, {.bench = BenchOptions{}});
    ASSERT_TRUE(result) << dsl::render(result.error());
    EXPECT_TRUE(result->check->passed);
    EXPECT_FALSE(result->time);
  }
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
}

TEST_F(Cuda, SaysWhichKernelFaulted) {
  const std::unique_ptr<Device> gpu = opened();
  const Artifact artifact = test::naive_artifact();
  const auto kernel = gpu->load(artifact);
  ASSERT_TRUE(kernel);
  ASSERT_TRUE(gpu->launch(*kernel, {.m = 1}));  // an empty C
  fail("cuStreamSynchronize", 700);
  const auto waited = gpu->synchronise();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().diagnostics.front().code, "device-call");
  EXPECT_EQ(message_of(waited.error()),
            "cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory "
            "access was encountered");
  EXPECT_TRUE(contains(waited.error().diagnostics.front().help, "naive"));
}

TEST_F(Cuda, SaysWhatALaunchAskedFor) {
  const std::unique_ptr<Device> gpu = opened();
  fail("cuLaunchKernel", 701);
  const auto result = run_gemm(*gpu, test::naive_artifact(), {.shape = {20, 30, 10}}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().road, dsl::Road::machine);
  EXPECT_EQ(message_of(result.error()),
            "cuLaunchKernel of naive with 4 blocks of 256 threads and 0 bytes of shared memory "
            "failed: unknown status (701): no description");
  EXPECT_EQ(result.error().diagnostics.front().help,
            "the kernel has 255 registers a thread, 65280 a block");
}

TEST_F(Cuda, KeepsTheLogOfTheDriversAssembler) {
  const std::unique_ptr<Device> gpu = opened();
  fail("cuModuleLoadDataEx", 218);
  const auto kernel = gpu->load(test::naive_artifact());
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().diagnostics.front().code, "device-load");
  EXPECT_TRUE(contains(message_of(kernel.error()), "(218)"));
  EXPECT_TRUE(contains(message_of(kernel.error()), "ptxas fatal: line 7: planted"));
}

TEST_F(Cuda, PrefersTheCubinAndNamesAMissingEntry) {
  const std::unique_ptr<Device> gpu = opened();
  Artifact artifact = test::naive_artifact();
  const std::string cubin = "a cubin with another kernel";
  artifact.cubin.assign(cubin.begin(), cubin.end());
  artifact.cubin.push_back(0);
  const auto kernel = gpu->load(artifact);
  ASSERT_FALSE(kernel);
  EXPECT_TRUE(contains(message_of(kernel.error()), "cuModuleGetFunction of naive"));
}

TEST_F(Cuda, AsksForSharedMemoryOnlyWhereItMust) {
  const struct {
    int64_t bytes;
    int asked;  // calls of cuFuncSetAttribute
  } rows[] = {{0, 0}, {48 << 10, 0}, {(48 << 10) + 16, 1}, {227 << 10, 1}};
  const std::unique_ptr<Device> gpu = opened();
  for (const auto& row : rows) {
    function<decltype(fake_reset)>("fake_reset")();
    Artifact artifact = test::naive_artifact();
    artifact.entries[0].shared_bytes = row.bytes;
    const auto result = run_gemm(*gpu, artifact, {.shape = {20, 30, 10}}, {});
    ASSERT_TRUE(result) << dsl::render(result.error());
    EXPECT_EQ(calls("cuFuncSetAttribute"), row.asked);
    EXPECT_EQ(function<decltype(fake_shared_bytes)>("fake_shared_bytes")(), row.bytes);
  }
  EXPECT_EQ(function<decltype(fake_shared_limit_asked)>("fake_shared_limit_asked")(), 227 << 10);
  Artifact artifact = test::naive_artifact();
  artifact.entries[0].shared_bytes = (227 << 10) + 16;
  const auto kernel = gpu->load(artifact);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().diagnostics.front().code, "shared-memory-refused");
}

TEST_F(Cuda, EndsACaptureThatFailed) {
  const std::unique_ptr<Device> gpu = opened();
  const auto kernel = gpu->load(test::naive_artifact());
  ASSERT_TRUE(kernel);
  const KernelArguments launches[3] = {{.m = 1, .n = 1}, {.m = 1, .n = 1}, {.m = 1, .n = 1}};
  fail("cuLaunchKernel", 2, 1);
  const auto failed = gpu->stopwatch()->record(*kernel, launches);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(contains(message_of(failed.error()), "CUDA_ERROR_OUT_OF_MEMORY"));
  fail("cuLaunchKernel", 0);
  EXPECT_TRUE(gpu->stopwatch()->record(*kernel, launches));
}

// Whichever call fails first, the error names it and everything is given back.
TEST_F(Cuda, LeaksNothingWhateverFails) {
  const char* functions[] = {"cuInit",
                             "cuDeviceGetCount",
                             "cuDeviceGet",
                             "cuDevicePrimaryCtxRetain",
                             "cuCtxSetCurrent",
                             "cuDeviceGetAttribute",
                             "cuMemAlloc_v2",
                             "cuMemcpyHtoDAsync_v2",
                             "cuMemcpyDtoHAsync_v2",
                             "cuModuleLoadDataEx",
                             "cuModuleGetFunction",
                             "cuLaunchKernel",
                             "cuStreamSynchronize",
                             "cuStreamEndCapture",
                             "cuGraphInstantiateWithFlags",
                             "cuGraphLaunch",
                             "cuEventCreate",
                             "cuEventRecord",
                             "cuEventSynchronize",
                             "cuEventElapsedTime",
                             "cublasSgemm_v2"};
  for (const char* name : functions)
    for (int skip : {0, 1, 3}) {
      function<decltype(fake_reset)>("fake_reset")();
      fail(name, 2, skip);
      {
        auto gpu = open_gpu(fake_options());
        std::string message;
        if (gpu) {
          const auto result =
              run_gemm(**gpu, test::naive_artifact(), {.shape = {20, 30, 10}},
                       {.bench = BenchOptions{.burst_ms = 0.1, .bursts = 3, .warm_up_ms = 0.1}});
          if (!result) message = message_of(result.error());
        } else {
          message = message_of(gpu.error());
        }
        if (calls(name) > skip) {
          std::string shown = name;
          if (shown.ends_with("_v2") && !shown.starts_with("cublas"))
            shown.resize(shown.size() - 3);
          EXPECT_TRUE(contains(message, shown)) << name << " after " << skip << ": " << message;
        }
      }
      EXPECT_EQ(live(), 0) << name << " after " << skip;
    }
}

TEST_F(Cuda, ACublasThatFailsIsMissingWithItsWords) {
  fail("cublasCreate_v2", 13);
  const auto gpu = open_gpu(fake_options());
  ASSERT_TRUE(gpu);
  ASSERT_EQ((*gpu)->info().missing.size(), 1U);
  EXPECT_TRUE(contains((*gpu)->info().missing[0],
                       "cublasCreate_v2 failed: CUBLAS_STATUS_EXECUTION_FAILED (13): planted"));
}

TEST_F(Cuda, NamesTheStatusOfCublas) {
  const std::unique_ptr<Device> gpu = opened();
  fail("cublasSgemm_v2", 13);
  const auto result = run_gemm(*gpu, test::naive_artifact(), {.shape = {20, 30, 10}}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().diagnostics.front().code, "cublas-call");
  EXPECT_EQ(message_of(result.error()),
            "cublasSgemm_v2 failed: CUBLAS_STATUS_EXECUTION_FAILED (13): planted");
}

TEST_F(Cuda, NvmlSaysWhatFailed) {
  const auto unknown_bus = cuda::Nvml::open("0000:99:00.0", {TILEC_FAKE_CUDA});
  ASSERT_FALSE(unknown_bus);
  EXPECT_EQ(unknown_bus.error().diagnostics.front().code, "no-nvml");
  EXPECT_EQ(message_of(unknown_bus.error()),
            "nvmlDeviceGetHandleByPciBusId_v2 failed: planted (2)");
  fail("nvmlDeviceGetClockInfo", 3);
  const auto nvml = cuda::Nvml::open("0000:01:00.0", {TILEC_FAKE_CUDA});
  ASSERT_TRUE(nvml);
  EXPECT_EQ(nvml->sm_clock_mhz(), 0);
  EXPECT_EQ(nvml->watts(), 400);
}

TEST_F(Cuda, TakesTheGpuWhereNoDeviceIsNamed) {
  auto device = open_device(std::nullopt, fake_options(), {});
  ASSERT_TRUE(device);
  EXPECT_EQ(device->device->info().kind, DeviceKind::gpu);
  EXPECT_TRUE(contains(device->why, "Fake H200"));
  device = open_device(DeviceKind::cpu, fake_options(), {});
  ASSERT_TRUE(device);
  EXPECT_EQ(device->device->info().kind, DeviceKind::cpu);
  const GpuOptions none{.driver_files = {"/nowhere/libcuda.so.1"}};
  device = open_device(std::nullopt, none, {});
  ASSERT_TRUE(device);
  EXPECT_EQ(device->device->info().kind, DeviceKind::cpu);
  EXPECT_TRUE(contains(device->why, "/nowhere/libcuda.so.1"));
  EXPECT_FALSE(open_device(DeviceKind::gpu, none, {}));
}

TEST(Library, LooksInTheUsualPlaces) {
  const std::string names[] = {"libcuda.so.1"};
  const std::vector<std::string> places = cuda::usual_places(names);
  EXPECT_EQ(places.front(), "libcuda.so.1");
  for (const char* place :
       {"/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"})
    EXPECT_NE(std::find(places.begin(), places.end(), place), places.end()) << place;
}

}  // namespace
}  // namespace tilec
