// The C interface on the CPU machine: random calls against a plain loop in float64, and what it
// refuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
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
  std::vector<float> fetch(const float* from, size_t count) {
    std::vector<float> out(count);
    EXPECT_EQ(tilec_download(handle_, out.data(), from, count * sizeof(float)), TILEC_OK);
    return out;
  }

  tilec_handle handle_ = nullptr;
  static std::string folder_;
};
std::string Sgemm::folder_;

struct Matrix {
  int64_t rows = 0, columns = 0, ld = 0;
  bool by_rows = true;
  size_t at(int64_t i, int64_t j) const {
    return static_cast<size_t>(by_rows ? i * ld + j : j * ld + i);
  }
  size_t words() const { return static_cast<size_t>((by_rows ? rows : columns) * ld); }
};

struct Problem {
  tilec_order order = TILEC_ROW_MAJOR;
  tilec_transpose trans_a = TILEC_NO_TRANSPOSE, trans_b = TILEC_NO_TRANSPOSE;
  int64_t m = 1, n = 1, k = 1;
  float alpha = 1, beta = 0;
  int64_t pad_a = 0, pad_b = 0, pad_c = 0;
  int64_t batch = 1;

  Matrix stored(bool turned, int64_t rows, int64_t columns, int64_t pad) const {
    Matrix out{turned ? columns : rows, turned ? rows : columns, 0, order == TILEC_ROW_MAJOR};
    out.ld = std::max<int64_t>(1, out.by_rows ? out.columns : out.rows) + pad;
    return out;
  }
  Matrix a() const { return stored(trans_a == TILEC_TRANSPOSE, m, k, pad_a); }
  Matrix b() const { return stored(trans_b == TILEC_TRANSPOSE, k, n, pad_b); }
  Matrix c() const { return stored(false, m, n, pad_c); }
};

std::vector<float> random_values(std::mt19937& random, size_t count) {
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(random() % 2001) / 1000 - 1;
  return out;
}

// Elements of one matrix of C that are off, and words between its rows that changed.
int wrong(const Problem& p, const float* a, const float* b, const float* before,
          const float* after) {
  int count = 0;
  std::vector<bool> element(p.c().words(), false);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      double size = 0;
      for (int64_t q = 0; q < p.k && p.alpha != 0; ++q) {
        const float x = a[p.trans_a == TILEC_TRANSPOSE ? p.a().at(q, i) : p.a().at(i, q)];
        const float y = b[p.trans_b == TILEC_TRANSPOSE ? p.b().at(j, q) : p.b().at(q, j)];
        sum += double(x) * y;
        size += std::abs(double(x) * y);
      }
      const size_t at = p.c().at(i, j);
      element[at] = true;
      const double old = p.beta == 0 ? 0 : double(p.beta) * before[at];
      const double right = p.alpha * sum + old;
      const double bound =
          1.2e-7 * (double(p.k) + 4) * (std::abs(p.alpha) * size + std::abs(old)) + 1e-30;
      if (!(std::abs(double(after[at]) - right) <= bound)) ++count;
    }
  for (size_t i = 0; i < element.size(); ++i)
    if (!element[i] && std::memcmp(&before[i], &after[i], sizeof(float)) != 0) ++count;
  return count;
}

TEST_F(Sgemm, IsRightOnAHundredRandomCalls) {
  std::mt19937 random(11);
  const int64_t extents[] = {0, 1, 2, 3, 16, 17, 31, 64, 65, 100, 129, 200};
  const float scalars[] = {0.0F, 1.0F, -0.5F, 2.25F};
  const auto pick = [&](auto& list) { return list[random() % std::size(list)]; };
  for (int call = 0; call < 100; ++call) {
    Problem p;
    p.order = random() % 2 ? TILEC_ROW_MAJOR : TILEC_COLUMN_MAJOR;
    p.trans_a = random() % 2 ? TILEC_TRANSPOSE : TILEC_NO_TRANSPOSE;
    p.trans_b = random() % 2 ? TILEC_TRANSPOSE : TILEC_NO_TRANSPOSE;
    p.m = pick(extents);
    p.n = pick(extents);
    p.k = pick(extents);
    p.alpha = pick(scalars);
    p.beta = pick(scalars);
    p.pad_a = static_cast<int64_t>(random() % 4);
    p.pad_b = static_cast<int64_t>(random() % 4);
    p.pad_c = static_cast<int64_t>(random() % 4);
    p.batch = random() % 4 == 0 ? 3 : 1;
    const size_t shift = random() % 3;  // elements by which bases are off an aligned address
    const auto words = [&](const Matrix& x) { return x.words() + 5; };
    const size_t stride_a = words(p.a()), stride_b = words(p.b()), stride_c = words(p.c());
    const auto batch = static_cast<size_t>(p.batch);
    std::vector<float> a = random_values(random, stride_a * batch + shift);
    std::vector<float> b = random_values(random, stride_b * batch + shift);
    std::vector<float> c = random_values(random, stride_c * batch + shift);
    if (p.beta == 0) std::fill(c.begin(), c.end(), NAN);
    float* on_a = place(a);
    float* on_b = place(b);
    float* on_c = place(c);
    const tilec_status status =
        p.batch == 1
            ? tilec_sgemm(handle_, p.order, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha,
                          on_a + shift, p.a().ld, on_b + shift, p.b().ld, p.beta, on_c + shift,
                          p.c().ld)
            : tilec_sgemm_strided_batched(handle_, p.order, p.trans_a, p.trans_b, p.m, p.n, p.k,
                                          p.alpha, on_a + shift, p.a().ld, int64_t(stride_a),
                                          on_b + shift, p.b().ld, int64_t(stride_b), p.beta,
                                          on_c + shift, p.c().ld, int64_t(stride_c), p.batch);
    ASSERT_EQ(status, TILEC_OK) << call << ": " << tilec_last_error(handle_);
    const std::vector<float> after = fetch(on_c, c.size());
    for (size_t i = 0; i < batch; ++i)
      ASSERT_EQ(wrong(p, &a[shift + i * stride_a], &b[shift + i * stride_b],
                      &c[shift + i * stride_c], &after[shift + i * stride_c]),
                0)
          << call << ": " << p.m << "x" << p.n << "x" << p.k << " by " << tilec_last_spec(handle_);
    for (float* memory : {on_a, on_b, on_c}) ASSERT_EQ(tilec_free(handle_, memory), TILEC_OK);
  }
}

TEST_F(Sgemm, TakesABatchByPointers) {
  Problem p;
  p.m = 20;
  p.n = 33;
  p.k = 9;
  std::mt19937 random(5);
  std::vector<std::vector<float>> a, b, c;
  std::vector<float*> on_a, on_b, on_c;
  for (int i = 0; i < 3; ++i) {
    a.push_back(random_values(random, p.a().words()));
    b.push_back(random_values(random, p.b().words()));
    c.emplace_back(p.c().words(), NAN);
    on_a.push_back(place(a.back()));
    on_b.push_back(place(b.back()));
    on_c.push_back(place(c.back()));
  }
  const auto place_pointers = [&](const std::vector<float*>& list) {
    void* memory = nullptr;
    EXPECT_EQ(tilec_malloc(handle_, &memory, list.size() * sizeof(float*)), TILEC_OK);
    EXPECT_EQ(tilec_upload(handle_, memory, list.data(), list.size() * sizeof(float*)), TILEC_OK);
    return static_cast<float**>(memory);
  };
  ASSERT_EQ(tilec_sgemm_batched(handle_, p.order, p.trans_a, p.trans_b, p.m, p.n, p.k, 1,
                                place_pointers(on_a), p.a().ld, place_pointers(on_b), p.b().ld, 0,
                                place_pointers(on_c), p.c().ld, 3),
            TILEC_OK)
      << tilec_last_error(handle_);
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<float> after = fetch(on_c[i], c[i].size());
    EXPECT_EQ(wrong(p, a[i].data(), b[i].data(), c[i].data(), after.data()), 0) << i;
  }
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
