// cuBLAS and NVML of the fake.
#include <cmath>

#include "tests/runtime/fake_cuda/state.h"

using fake::enqueue;
using fake::entered;
using fake::state;
using fake::text;

extern "C" {

// cuBLAS.

int cublasCreate_v2(void** handle) {
  const int status = entered("cublasCreate_v2");
  if (status != 0) return status;
  *handle = &state();
  ++state().live;
  return 0;
}
int cublasDestroy_v2(void*) {
  --state().live;
  return 0;
}
int cublasGetVersion_v2(void*, int* version) {
  *version = 130100;
  return 0;
}
int cublasSetStream_v2(void*, void*) {
  return entered("cublasSetStream_v2");
}
int cublasSetWorkspace_v2(void*, void*, size_t) {
  return entered("cublasSetWorkspace_v2");
}
int cublasSetMathMode(void*, int mode) {
  return mode == 2 ? entered("cublasSetMathMode") : 7;
}
const char* cublasGetStatusName(int status) {
  return status == 13 ? "CUBLAS_STATUS_EXECUTION_FAILED" : "another status";
}
const char* cublasGetStatusString(int) {
  return "planted";
}

// Column-major, by the book: element (i, j) of op(X) is X[i + j * ld], or X[j + i * ld].
int cublasSgemm_v2(void*, int op_a, int op_b, int m, int n, int k, const float* alpha,
                   const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                   int ldc) {
  const int status = entered("cublasSgemm_v2");
  if (status != 0) return status;
  if (lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m) return 7;
  enqueue(20, [=, alpha = *alpha, beta = *beta] {
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) {
        float acc = 0;
        for (int64_t p = 0; p < k; ++p)
          acc = std::fma(op_a ? a[p + i * lda] : a[i + p * lda],
                         op_b ? b[j + p * ldb] : b[p + j * ldb], acc);
        float& out = c[i + j * ldc];
        out = beta == 0 ? alpha * acc : std::fma(beta, out, alpha * acc);
      }
  });
  return 0;
}

int cublasSgemmStridedBatched(void* handle, int op_a, int op_b, int m, int n, int k,
                              const float* alpha, const float* a, int lda, long long stride_a,
                              const float* b, int ldb, long long stride_b, const float* beta,
                              float* c, int ldc, long long stride_c, int batch) {
  for (int i = 0; i < batch; ++i) {
    const int status = cublasSgemm_v2(handle, op_a, op_b, m, n, k, alpha, a + i * stride_a, lda,
                                      b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
    if (status != 0) return status;
  }
  return 0;
}
int cublasSgemmBatched(void* handle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                       const float* const* a, int lda, const float* const* b, int ldb,
                       const float* beta, float* const* c, int ldc, int batch) {
  for (int i = 0; i < batch; ++i) {
    const int status =
        cublasSgemm_v2(handle, op_a, op_b, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc);
    if (status != 0) return status;
  }
  return 0;
}

// NVML.

int nvmlInit_v2() {
  return entered("nvmlInit_v2");
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = &state();
  return std::string(id) == "0000:01:00.0" ? entered("nvmlDeviceGetHandleByPciBusId_v2") : 2;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1500 : 0;
  return entered("nvmlDeviceGetClockInfo");
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 400000;
  return entered("nvmlDeviceGetPowerUsage");
}
int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return text(version, size, "580.159.04");
}
int nvmlSystemGetNVMLVersion(char* version, unsigned size) {
  return text(version, size, "13.580");
}
const char* nvmlErrorString(int) {
  return "planted";
}

}  // extern "C"
