// A program that uses libtilec: C = 2 A B on a GPU, or with the word `cpu` on the CPU, checked
// against a plain loop.
//
//   cmake -B build -DCMAKE_PREFIX_PATH=WHERE_TILEC_IS_INSTALLED && cmake --build build
//   build/sgemm cpu
#include <cmath>
#include <cstdio>
#include <cstring>
#include <tilec.hpp>
#include <vector>

int main(int count, char** words) {
  const int64_t m = 100, n = 70, k = 50;
  std::vector<float> a(m * k), b(k * n), c(m * n, NAN);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  try {
    const bool cpu = count > 1 && std::strcmp(words[1], "cpu") == 0;
    tilec::blas::Handle handle(cpu ? TILEC_CPU : TILEC_GPU);
    const auto place = [&](const std::vector<float>& values) {
      void* memory = nullptr;
      handle.check(tilec_malloc(handle.get(), &memory, values.size() * sizeof(float)));
      handle.check(
          tilec_upload(handle.get(), memory, values.data(), values.size() * sizeof(float)));
      return static_cast<float*>(memory);
    };
    float* on_a = place(a);
    float* on_b = place(b);
    float* on_c = place(c);
    handle.sgemm(TILEC_ROW_MAJOR, TILEC_NO_TRANSPOSE, TILEC_NO_TRANSPOSE, m, n, k, 2, on_a, k, on_b,
                 n, 0, on_c, n);
    handle.check(tilec_download(handle.get(), c.data(), on_c, c.size() * sizeof(float)));
    std::printf("%s\n%s\n", handle.last_choice().c_str(), handle.last_spec().c_str());
    for (float* memory : {on_a, on_b, on_c}) handle.check(tilec_free(handle.get(), memory));
  } catch (const tilec::blas::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  // Small whole numbers: every order of adding them up is exact.
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      if (c[i * n + j] != 2 * sum) {
        std::printf("wrong at %d, %d\n", int(i), int(j));
        return 1;
      }
    }
  std::printf("right\n");
  return 0;
}
