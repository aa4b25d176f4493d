// The C interface on the CPU machine: what it refuses, and what it keeps. That its results are
// right is for random_calls_test.cpp.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <vector>

#include "tools/library/tilec.h"
#include "tools/library/tilec.hpp"

namespace {

namespace fs = std::filesystem;

class Sgemm : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (fs::temp_directory_path() / "tilec-sgemm-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("TILEC_TUNING", (folder_ + "/none.db").c_str(), 1);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }
  void SetUp() override {
    ASSERT_EQ(tilec_create(&handle_, TILEC_CPU, 0), TILEC_OK) << tilec_last_error(nullptr);
    ASSERT_EQ(tilec_set_cache(handle_, folder_.c_str()), TILEC_OK);
  }
  void TearDown() override { tilec_destroy(handle_); }

  float* place(const std::vector<float>& values) {
    void* memory = nullptr;
    EXPECT_EQ(tilec_malloc(handle_, &memory, values.size() * sizeof(float)), TILEC_OK);
    EXPECT_EQ(tilec_upload(handle_, memory, values.data(), values.size() * sizeof(float)),
              TILEC_OK);
    return static_cast<float*>(memory);
  }

  tilec_handle handle_ = nullptr;
  static std::string folder_;
};
std::string Sgemm::folder_;

TEST_F(Sgemm, MultipliesWhatWasUploaded) {
  float* a = place({1, 2, 3, 4});
  float* b = place({5, 6, 7, 8});
  float* c = place({NAN, NAN, NAN, NAN});
  ASSERT_EQ(tilec_sgemm(handle_, TILEC_ROW_MAJOR, TILEC_NO_TRANSPOSE, TILEC_TRANSPOSE, 2, 2, 2, 1,
                        a, 2, b, 2, 0, c, 2),
            TILEC_OK)
      << tilec_last_error(handle_);
  std::vector<float> result(4);
  ASSERT_EQ(tilec_download(handle_, result.data(), c, 4 * sizeof(float)), TILEC_OK);
  EXPECT_EQ(result, (std::vector<float>{17, 23, 39, 53}));
  for (float* memory : {a, b, c}) EXPECT_EQ(tilec_free(handle_, memory), TILEC_OK);
}

TEST_F(Sgemm, RefusesBadArguments) {
  std::vector<float> zeros(64, 0);
  float* x = place(zeros);
  float* y = place(zeros);
  float* z = place(zeros);
  const auto call = [&](int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                        const float* b, int64_t ldb, float* c, int64_t ldc) {
    return tilec_sgemm(handle_, TILEC_ROW_MAJOR, TILEC_NO_TRANSPOSE, TILEC_NO_TRANSPOSE, m, n, k, 1,
                       a, lda, b, ldb, 0, c, ldc);
  };
  EXPECT_EQ(call(4, 4, 4, x, 4, y, 4, z, 4), TILEC_OK) << tilec_last_error(handle_);
  EXPECT_STREQ(tilec_last_error(handle_), "");
  EXPECT_EQ(call(-1, 4, 4, x, 4, y, 4, z, 4), TILEC_INVALID_VALUE);
  EXPECT_EQ(call(4, 4, 4, x, 3, y, 4, z, 4), TILEC_INVALID_VALUE);
  EXPECT_NE(std::string(tilec_last_error(handle_)).find("leading dimension of A is 3"),
            std::string::npos);
  EXPECT_EQ(call(4, 4, 4, nullptr, 4, y, 4, z, 4), TILEC_INVALID_VALUE);
  EXPECT_EQ(call(4, 4, 4, x, 4, y, 4, nullptr, 4), TILEC_INVALID_VALUE);
  EXPECT_EQ(call(0, 4, 4, nullptr, 4, nullptr, 4, nullptr, 4), TILEC_OK);
  EXPECT_EQ(call(int64_t{1} << 40, 4, 4, x, 4, y, 4, z, 4), TILEC_INVALID_VALUE);
  EXPECT_EQ(tilec_sgemm(nullptr, TILEC_ROW_MAJOR, TILEC_NO_TRANSPOSE, TILEC_NO_TRANSPOSE, 1, 1, 1,
                        1, x, 1, y, 1, 0, z, 1),
            TILEC_INVALID_VALUE);
  // C in place of A, and C that begins within A.
  EXPECT_EQ(call(4, 4, 4, x, 4, y, 4, x, 4), TILEC_INVALID_VALUE);
  EXPECT_NE(std::string(tilec_last_error(handle_)).find("C overlaps A"), std::string::npos);
  EXPECT_EQ(call(4, 4, 4, x, 4, y, 4, x + 8, 4), TILEC_INVALID_VALUE);
  EXPECT_EQ(call(4, 4, 4, x, 4, y, 4, y + 15, 4), TILEC_INVALID_VALUE);
  EXPECT_NE(std::string(tilec_last_error(handle_)).find("C overlaps B"), std::string::npos);
}

TEST_F(Sgemm, CompilesOnceForAllProcesses) {
  const auto entries = [&] {
    int count = 0;
    for (const auto& file : fs::directory_iterator(folder_)) count += file.is_regular_file();
    return count;
  };
  std::vector<float> zeros(77 * 77, 0);
  float* x = place(zeros);
  float* y = place(zeros);
  float* z = place(zeros);
  const auto call = [&](tilec_handle handle) {
    return tilec_sgemm(handle, TILEC_ROW_MAJOR, TILEC_NO_TRANSPOSE, TILEC_NO_TRANSPOSE, 77, 77, 77,
                       1, x, 77, y, 77, 0, z, 77);
  };
  ASSERT_EQ(call(handle_), TILEC_OK);
  const int after_one = entries();
  EXPECT_GT(after_one, 0);
  ASSERT_EQ(call(handle_), TILEC_OK);
  EXPECT_EQ(entries(), after_one);
}

TEST_F(Sgemm, SaysWhyThereIsNoGpu) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  tilec_handle gpu = nullptr;
  const tilec_status status = tilec_create(&gpu, TILEC_GPU, 0);
  unsetenv("CUDA_VISIBLE_DEVICES");
  if (status == TILEC_OK) GTEST_SKIP() << "there is a GPU all the same";
  EXPECT_EQ(status, TILEC_NO_DEVICE);
  EXPECT_NE(std::string(tilec_last_error(nullptr)), "");
  EXPECT_THROW(tilec::blas::Handle(TILEC_GPU, 1 << 20), tilec::blas::Error);
}

}  // namespace
