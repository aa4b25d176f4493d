// The road over a GPU, with a driver, cuBLAS and NVML that work on host memory
// (tests/runtime/fake_cuda): they know one kernel, `naive` with tiles of 16x16, and are found by
// the loader as the real ones are.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/tilec_process.h"

namespace tilec {
namespace {

using nlohmann::json;

const std::string kNaive = "kernel naive { tile 16x16 }";

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"libcuda.so.1", "libcublas.so.13", "libnvidia-ml.so.1"}) {
      std::filesystem::create_symlink(TILEC_FAKE_CUDA, folder_.path(name));
    }
    if (run({"run", kNaive, "--shape", "1", "--no-bench"}).code == 4)
      GTEST_SKIP() << "built without cuda.h";
  }

  /// Nothing is assembled: the fake driver reads the kernel's name in the PTX.
  Outcome run(const std::vector<std::string>& words) const {
    return tilec(
        words, {.environment = {"LD_LIBRARY_PATH=" + folder_.path(), "TILEC_NVJITLINK=/nonexistent",
                                "TILEC_PTXAS=/nonexistent"}});
  }

 private:
  Folder folder_;
};

TEST_F(Gpu, IsTakenWithoutDevice) {
  Outcome outcome = run({"run", kNaive, "--shape", "4x3x2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "running on the GPU: Fake H200\n");
  EXPECT_NE(outcome.out.find("bit for bit equal: yes"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("cuBLAS 12.00 us, ratio 1.200"), std::string::npos) << outcome.out;
}

TEST_F(Gpu, IsLeftAloneWhereTheCpuIsNamed) {
  Outcome outcome = run({"run", kNaive, "--shape", "4x3x2", "--device", "cpu"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.find("cuBLAS"), std::string::npos) << outcome.out;
}

TEST_F(Gpu, SettlesTheTarget) {
  EXPECT_NE(run({"explain", "tile 16x16"}).out.find("\ntarget sm_90a\n"), std::string::npos);
}

TEST_F(Gpu, RunInJson) {
  Outcome outcome = run({"run", kNaive, "--shape", "4x3x2", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  json result = json::parse(outcome.out);
  EXPECT_EQ(result["device"], "gpu");
  EXPECT_EQ(result["check"]["bit_equal"], true);
  EXPECT_FALSE(result.contains("counters"));
  for (const char* key : {"kernel_us", "cublas_us", "cublas_sgemm_us", "cublaslt_us", "ratio",
                          "clock_mhz", "share_of_peak"}) {
    EXPECT_TRUE(result["time"][key].is_number()) << key;
  }
}

TEST_F(Gpu, NoBenchChecksOnly) {
  Outcome outcome = run({"run", kNaive, "--shape", "4x3x2", "--json", "--no-bench"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(json::parse(outcome.out).contains("time"));
}

TEST_F(Gpu, NoCublasChecksAgainstFloat64Alone) {
  Outcome outcome = run({"run", kNaive, "--shape", "4x3x2", "--json", "--no-cublas"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  json result = json::parse(outcome.out);
  EXPECT_TRUE(result["device_info"]["cublas"].is_null());
  EXPECT_EQ(result["check"]["passed"], true);
  EXPECT_TRUE(result["check"]["bit_equal"].is_null());
  EXPECT_TRUE(result["time"]["kernel_us"].is_number());
  EXPECT_TRUE(result["time"]["ratio"].is_null());
}

TEST_F(Gpu, BenchEverySpecAtEveryShape) {
  Outcome text = run({"bench", kNaive, kNaive + " # again", "--shape", "4x3x2", "2"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(std::ranges::count(text.out, '\n'), 5) << text.out;  // a head and four rows
  Outcome commas = run({"bench", kNaive, "--shape", "4x3x2,2", "--shape", "1", "--json"});
  ASSERT_EQ(commas.code, 0) << commas.err;
  json rows = json::parse(commas.out)["rows"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1]["shape"], "2x2x2");
  for (const char* key : {"spec", "shape", "kernel_us", "cublas_us", "ratio", "clock_mhz",
                          "share_of_peak", "bit_equal", "provenance"}) {
    EXPECT_TRUE(rows[0].contains(key)) << key;
  }
}

TEST_F(Gpu, BenchLeavesOutWhatIsRefused) {
  Outcome outcome =
      run({"bench", "kernel naive { tile 16x16x1 edges exact }", "--shape", "16x16x1", "17x16x1"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 2) << outcome.out;  // a head and one row
  EXPECT_NE(outcome.err.find("naive at 17x16x1 is left out"), std::string::npos) << outcome.err;
}

// The fake driver multiplies by alpha, which this spec does not ask for.
TEST_F(Gpu, AWrongResultIsShownAndFails) {
  const std::string spec = "kernel naive { tile 16x16 epilogue acc }";
  Outcome outcome = run({"run", spec, "--shape", "2", "--alpha", "2"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("FAILED"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("[wrong-result]"), std::string::npos) << outcome.err;
  Outcome in_json = run({"run", spec, "--shape", "2", "--alpha", "2", "--json"});
  EXPECT_EQ(in_json.code, 3);
  EXPECT_EQ(json::parse(in_json.out)["check"]["passed"], false);
}

TEST_F(Gpu, ALaunchThatFailsIsTheMachinesFault) {
  Outcome outcome = run({"run", "kernel naive { tile 32x32 }", "--shape", "2"});
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("cuLaunchKernel"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace tilec
