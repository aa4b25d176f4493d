// cublasLt of the fake: three algorithms, of which the second is the fastest. The old fake lacks
// it.
#include <array>
#include <cmath>

#include "tests/runtime/fake_cuda/state.h"

#ifndef FAKE_WITHOUT_LAUNCH

using fake::enqueue;
using fake::entered;
using fake::state;

namespace {

struct Matrix {
  uint64_t rows = 0;
  uint64_t columns = 0;
  int64_t ld = 0;
  int32_t batch = 1;
  int64_t stride = 0;
};

struct Operation {
  int32_t transposed[2] = {0, 0};
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

struct Algorithm {
  uint64_t data[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

constexpr double kMicroseconds[] = {30, 12, 15};

template <class Type>
int make(const char* function, void** out) {
  const int status = entered(function);
  if (status != 0) return status;
  *out = new Type();
  ++state().live;
  return 0;
}

template <class Type>
int destroy(void* made) {
  delete static_cast<Type*>(made);
  --state().live;
  return 0;
}

template <class Type>
int set(Type& to, const void* value, size_t bytes) {
  if (bytes != sizeof(to)) return 7;
  std::memcpy(&to, value, bytes);
  return 0;
}

// Column-major, by the book.
struct Product {
  bool a_transposed, b_transposed;
  Matrix a, b, c;
  float alpha, beta;
  const float* a_at;
  const float* b_at;
  float* c_at;

  bool fits() const {
    const uint64_t k = a_transposed ? a.rows : a.columns;
    return (a_transposed ? a.columns : a.rows) == c.rows &&
           (b_transposed ? b.rows : b.columns) == c.columns &&
           (b_transposed ? b.columns : b.rows) == k;
  }
  void multiply() const {
    const auto k = static_cast<int64_t>(a_transposed ? a.rows : a.columns);
    for (int64_t i = 0; i < c.batch; ++i)
      for (int64_t column = 0; column < static_cast<int64_t>(c.columns); ++column)
        for (int64_t row = 0; row < static_cast<int64_t>(c.rows); ++row) {
          float acc = 0;
          for (int64_t p = 0; p < k; ++p)
            acc = std::fma(
                a_at[i * a.stride + (a_transposed ? p + row * a.ld : row + p * a.ld)],
                b_at[i * b.stride + (b_transposed ? column + p * b.ld : p + column * b.ld)], acc);
          float& out = c_at[i * c.stride + row + column * c.ld];
          out = beta == 0 ? alpha * acc : std::fma(beta, out, alpha * acc);
        }
  }
};

}  // namespace

extern "C" {

int cublasLtCreate(void** handle) {
  return make<int>("cublasLtCreate", handle);
}
int cublasLtDestroy(void* handle) {
  return destroy<int>(handle);
}

int cublasLtMatmulDescCreate(void** operation, int compute, int scale) {
  return compute == 68 && scale == 0 ? make<Operation>("cublasLtMatmulDescCreate", operation) : 7;
}
int cublasLtMatmulDescSetAttribute(void* operation, int attribute, const void* value,
                                   size_t bytes) {
  if (attribute != 3 && attribute != 4) return 7;
  return set(static_cast<Operation*>(operation)->transposed[attribute - 3], value, bytes);
}
int cublasLtMatmulDescDestroy(void* operation) {
  return destroy<Operation>(operation);
}

int cublasLtMatrixLayoutCreate(void** matrix, int type, uint64_t rows, uint64_t columns,
                               int64_t ld) {
  if (type != 0 || ld < static_cast<int64_t>(rows)) return 7;
  const int status = make<Matrix>("cublasLtMatrixLayoutCreate", matrix);
  if (status == 0) *static_cast<Matrix*>(*matrix) = {.rows = rows, .columns = columns, .ld = ld};
  return status;
}
int cublasLtMatrixLayoutSetAttribute(void* matrix, int attribute, const void* value, size_t bytes) {
  auto& to = *static_cast<Matrix*>(matrix);
  if (attribute == 5) return set(to.batch, value, bytes);
  return attribute == 6 ? set(to.stride, value, bytes) : 7;
}
int cublasLtMatrixLayoutDestroy(void* matrix) {
  return destroy<Matrix>(matrix);
}

int cublasLtMatmulPreferenceCreate(void** preference) {
  return make<Preference>("cublasLtMatmulPreferenceCreate", preference);
}
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                         size_t bytes) {
  auto& to = *static_cast<Preference*>(preference);
  if (attribute == 1) return set(to.workspace, value, bytes);
  return attribute >= 5 && attribute <= 8 ? set(to.alignment[attribute - 5], value, bytes) : 7;
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  return destroy<Preference>(preference);
}

// An algorithm carries its number, and the alignment that it was promised.
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void* preference,
                                   int wanted, Algorithm* found, int* count) {
  const int status = entered("cublasLtMatmulAlgoGetHeuristic");
  if (status != 0) return status;
  const auto& wishes = *static_cast<Preference*>(preference);
  if (wishes.workspace == 0 || wanted < 3) return 7;
  *count = 3;
  for (uint64_t i = 0; i < 3; ++i)
    found[i] = {.data = {i, wishes.alignment[0], wishes.alignment[1], wishes.alignment[2]}};
  return 0;
}

int cublasLtMatmul(void*, void* operation, const void* alpha, const void* a, void* a_matrix,
                   const void* b, void* b_matrix, const void* beta, const void* c, void* c_matrix,
                   void* d, void* d_matrix, const uint64_t* algorithm, void* workspace,
                   size_t bytes, void*) {
  const int status = entered("cublasLtMatmul");
  if (status != 0) return status;
  if (c != d || c_matrix != d_matrix || workspace == nullptr || bytes == 0) return 7;
  const auto& transposed = static_cast<Operation*>(operation)->transposed;
  const Product product{.a_transposed = transposed[0] != 0,
                        .b_transposed = transposed[1] != 0,
                        .a = *static_cast<Matrix*>(a_matrix),
                        .b = *static_cast<Matrix*>(b_matrix),
                        .c = *static_cast<Matrix*>(c_matrix),
                        .alpha = *static_cast<const float*>(alpha),
                        .beta = *static_cast<const float*>(beta),
                        .a_at = static_cast<const float*>(a),
                        .b_at = static_cast<const float*>(b),
                        .c_at = static_cast<float*>(d)};
  if (!product.fits()) return 7;
  const void* operands[] = {a, b, d};
  for (size_t i = 0; i < 3; ++i)
    if (reinterpret_cast<uintptr_t>(operands[i]) % algorithm[1 + i] != 0) return 7;
  enqueue(kMicroseconds[algorithm[0]], [product] { product.multiply(); });
  return 0;
}

}  // extern "C"

#endif
