// `tilec emulate --device gpu` over the fake driver, which knows examples/axpy.ptx; and on a
// machine without a GPU.
#include <nlohmann/json.hpp>

#include "tests/emulate/support.h"

namespace tilec {
namespace {

using nlohmann::json;

class EmulateGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_symlink(TILEC_FAKE_CUDA, folder_.path("libcuda.so.1"));
    if (run(axpy_words({})).code == 4) GTEST_SKIP() << "built without cuda.h";
  }
  Outcome run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--device", "gpu"});
    return tilec(words, {.environment = {"LD_LIBRARY_PATH=" + folder_.path()}});
  }
  Folder folder_;
};

TEST_F(EmulateGpu, RunsAndWritesTheSame) {
  const Outcome gpu = run(axpy_words({"--out", "y=" + folder_.path("gpu.npy"), "--json"}));
  ASSERT_EQ(gpu.code, 0) << gpu.err;
  EXPECT_EQ(gpu.err, "");
  const json result = json::parse(gpu.out);
  EXPECT_EQ(result["device"], "gpu");
  EXPECT_EQ(result["device_info"]["name"], "Fake H200");
  EXPECT_FALSE(result.contains("findings"));  // nothing was looked for
  EXPECT_FALSE(result.contains("counters"));
  ASSERT_EQ(tilec(axpy_words({"--out", "y=" + folder_.path("cpu.npy")})).code, 0);
  EXPECT_EQ(folder_.read("gpu.npy"), folder_.read("cpu.npy"));
  // What one device made can be held against the other.
  EXPECT_EQ(run(axpy_words({"--expect", "y=" + folder_.path("cpu.npy")})).code, 0);
}

TEST_F(EmulateGpu, AKernelThatTheDriverRefusesIsTheMachinesFault) {
  folder_.write("k.ptx", module_of(".param .u64 out", ""));
  const Outcome outcome = run(emulate_words(
      folder_.path("k.ptx"), {"--arg", "u32:1", "--out", "0=" + folder_.path("o.npy")}));
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("cuLaunchKernel of k with 1x1x1 blocks of 32x1x1 threads"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"k.ptx", "libcuda.so.1"}));
}

TEST_F(EmulateGpu, ArgumentsAreCheckedAllTheSame) {
  EXPECT_EQ(run(emulate_words(kAxpy, {"--arg", "1"})).code, 1);
}

TEST(EmulateNoGpu, SaysSo) {
  std::vector<std::string> words = axpy_words({"--device", "gpu"});
  const Outcome outcome = tilec(words, nothing_installed());
  if (outcome.code == 0) GTEST_SKIP() << "there is a GPU here";
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("driver"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace tilec
