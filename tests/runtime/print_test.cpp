#include "runtime/print.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace tilec {
namespace {

using Json = nlohmann::json;

RunResult on_the_gpu() {
  RunResult result;
  result.device.kind = DeviceKind::gpu;
  result.device.name = "NVIDIA H200";
  result.device.target = "sm_90a";
  result.device.sm_count = 132;
  result.device.driver = "580.159.04";
  result.device.cublas = "13.1.0";
  result.problem = *complete({.shape = {512, 256, 64}, .layout = {false, true}, .ldc = 300});
  result.blocks = 8;
  result.check =
      CheckResult{.passed = true, .max_error = 0.03125, .checked = 131072, .elements = 131072};
  result.check->cublas = CublasComparison{.bit_equal = true, .passed = true};
  result.time = BenchResult{.kernel = {.median_us = 12.5,
                                       .fastest_us = 12.25,
                                       .slowest_us = 13,
                                       .clock_mhz = 1980,
                                       .watts = 500},
                            .cublas = Timing{.median_us = 13.75, .clock_mhz = 1965},
                            .cublas_way = "cublasLt, 3rd of 8",
                            .cublas_sgemm_us = 14.25,
                            .cublaslt_us = 13.75,
                            .ratio = 1.1,
                            .tflops = 20.5,
                            .share_of_peak = 0.305,
                            .launches_a_burst = 800,
                            .operand_sets = 160};
  result.provenance = {.spec = "tile 128x128x8",
                       .kernel = "gemm",
                       .ptx_hash = "fnv1a:1",
                       .cubin_hash = "fnv1a:2",
                       .assembler = "nvJitLink 13.0.88",
                       .registers = 128,
                       .data = "uniform"};
  return result;
}

RunResult on_the_cpu() {
  RunResult result = on_the_gpu();
  result.device = {.name = "CPU, executing PTX"};
  result.time.reset();
  result.check->cublas.reset();
  result.counters = Counters{.warp_instructions = 1000,
                             .fma = 900,
                             .fma_share = 0.9,
                             .sectors_per_request = 4,
                             .wavefronts_per_shared_load = 1.5,
                             .bank_conflicts = 7};
  return result;
}

TEST(Print, JsonOfAGpuRunHasTheDocumentedKeys) {
  const Json json = Json::parse(run_json(on_the_gpu()));
  EXPECT_EQ(json["schema"], "tilec.run/1");
  EXPECT_EQ(json["device"], "gpu");
  EXPECT_EQ(json["shape"], "512x256x64");
  EXPECT_EQ(json["check"]["passed"], true);
  EXPECT_EQ(json["check"]["max_error"], 0.03125);
  EXPECT_EQ(json["check"]["bit_equal"], true);
  EXPECT_FALSE(json.contains("counters"));
  const Json& time = json["time"];
  EXPECT_EQ(time["kernel_us"], 12.5);
  EXPECT_EQ(time["cublas_us"], 13.75);
  EXPECT_EQ(time["cublas_way"], "cublasLt, 3rd of 8");
  EXPECT_EQ(time["cublas_sgemm_us"], 14.25);
  EXPECT_EQ(time["cublaslt_us"], 13.75);
  EXPECT_EQ(time["ratio"], 1.1);
  EXPECT_EQ(time["clock_mhz"], 1980);
  EXPECT_EQ(time["share_of_peak"], 0.305);
  const Json& provenance = json["provenance"];
  for (const char* key : {"spec", "kernel", "ptx_hash", "cubin_hash", "assembler", "driver",
                          "cublas", "device", "data"})
    EXPECT_TRUE(provenance.contains(key) && provenance[key].is_string()) << key;
}

TEST(Print, JsonOfACpuRunHasCountersAndNoTime) {
  const Json json = Json::parse(run_json(on_the_cpu()));
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_TRUE(json["check"]["bit_equal"].is_null());
  EXPECT_FALSE(json.contains("time"));
  const Json& counters = json["counters"];
  EXPECT_EQ(counters["warp_instructions"], 1000);
  EXPECT_EQ(counters["fma"], 900);
  EXPECT_EQ(counters["fma_share"], 0.9);
  EXPECT_EQ(counters["sectors_per_request"], 4);
  EXPECT_EQ(counters["wavefronts_per_shared_load"], 1.5);
  EXPECT_EQ(counters["bank_conflicts"], 7);
}

TEST(Print, JsonTakesNaNAndBytesThatAreNoText) {
  RunResult result = on_the_gpu();
  result.check->max_error = std::numeric_limits<double>::quiet_NaN();
  result.check->failures = {{.row = 1, .column = 2, .unwritten = true}};
  result.device.name = "\xff\xfe";
  const Json json = Json::parse(run_json(result));
  EXPECT_TRUE(json["check"]["max_error"].is_null());
  EXPECT_EQ(json["check"]["failures"][0]["column"], 2);
}

TEST(Print, TextSaysWhatCounts) {
  const std::string text = run_text(on_the_gpu());
  for (const char* part :
       {"NVIDIA H200 (sm_90a, 132 SMs, driver 580.159.04, cuBLAS 13.1.0)",
        "512x256x64, layout nt, alpha 1, beta 0, rows of C every 300, 8 blocks",
        "passed: 131072 of 131072 elements against float64, largest error 0.0312 of the bound",
        "|c - r| <= gamma(K+2)", "bit for bit equal: yes", "12.50 us, cuBLAS 13.75 us, ratio 1.100",
        "cuBLAS's faster way is cublasLt, 3rd of 8: cublasSgemm 14.25 us, cublasLt 13.75 us",
        "20.50 TFLOP/s, 30.5 % of the peak at 1980 MHz", "ptx fnv1a:1, cubin fnv1a:2",
        "nvJitLink 13.0.88"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    EXPECT_NE(text[end - 1], ' ');
  }
}

TEST(Print, TextSaysWhatIsWrong) {
  RunResult result = on_the_gpu();
  CheckResult& check = *result.check;
  check.passed = false;
  check.failed = 2;
  check.nan_elements = 1;
  check.failures = {{.row = 3, .column = 4, .got = 1.5, .expected = 1, .bound = 1e-6},
                    {.row = 5, .column = 6, .unwritten = true}};
  check.touched = {1, {{Operand::c, "gap after row 0, column 300", 0x7fc00001, 0}}};
  check.cublas = CublasComparison{.different = 9, .max_difference = 0.5, .max_error = 30};
  const std::string text = run_text(result);
  for (const char* part :
       {"FAILED", "C[3, 4] is 1.5, should be 1 within 1e-06", "C[5, 6] was never written",
        "NaN elements of C: 1", "C: gap after row 0, column 300: 7fc00001 became 00000000",
        "bit for bit equal: no; 9 of 131072 elements differ, by at most 0.5", "WRONG"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Print, BenchTableHasARowAResult) {
  const std::vector<RunResult> results = {on_the_gpu(), on_the_cpu()};
  const std::string text = bench_text(results);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_NE(text.find("512x256x64"), std::string::npos);
  EXPECT_NE(text.find("1.100"), std::string::npos);
  const Json json = Json::parse(bench_json(results));
  EXPECT_EQ(json["schema"], "tilec.bench/1");
  ASSERT_EQ(json["rows"].size(), 2U);
  for (const char* key : {"spec", "shape", "kernel_us", "cublas_us", "ratio", "clock_mhz",
                          "share_of_peak", "bit_equal", "provenance"})
    EXPECT_TRUE(json["rows"][0].contains(key)) << key;
}

}  // namespace
}  // namespace tilec
