// cublasLt, the other half of cuBLAS: for one product it lists several algorithms, the one it would
// take itself first. Its functions come with cuBLAS, which depends on it, and are declared here
// for the reason that blas.h gives; the same test compares them with the header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dsl/shape.h"
#include "dsl/spec.h"
#include "runtime/cuda/blas.h"
#include "runtime/cuda/library.h"
#include "runtime/device.h"

namespace tilec::cuda {

/// One line of the list, as cublasLt lays it out: cublasLtMatmulHeuristicResult_t.
struct LtAlgorithm {
  std::array<uint64_t, 8> algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  std::array<int, 4> reserved;
};

/// The functions of cublasLt that we call. Descriptors are pointers to what cublasLt allocates.
struct BlasLtFunctions {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*operation_create)(void** operation, int compute_type, int scale_type);
  int (*operation_set)(void* operation, int attribute, const void* value, size_t bytes);
  int (*operation_destroy)(void* operation);
  int (*matrix_create)(void** matrix, int type, uint64_t rows, uint64_t columns, int64_t ld);
  int (*matrix_set)(void* matrix, int attribute, const void* value, size_t bytes);
  int (*matrix_destroy)(void* matrix);
  int (*preference_create)(void** preference);
  int (*preference_set)(void* preference, int attribute, const void* value, size_t bytes);
  int (*preference_destroy)(void* preference);
  int (*list)(void* handle, void* operation, void* a, void* b, void* c, void* d, void* preference,
              int wanted, LtAlgorithm* found, int* count);
  int (*multiply)(void* handle, void* operation, const void* alpha, const void* a, void* a_matrix,
                  const void* b, void* b_matrix, const void* beta, const void* c, void* c_matrix,
                  void* d, void* d_matrix, const uint64_t* algorithm, void* workspace, size_t bytes,
                  void* stream);
};

class BlasLt {
 public:
  static constexpr int kMostAlgorithms = 16;

  using Held = std::unique_ptr<void, int (*)(void*)>;
  /// A product described to cublasLt, and what it offers for it.
  struct Plan {
    Held operation, a, b, c;  // a and b in cublasLt's order
    std::vector<LtAlgorithm> algorithms;
  };

  /// Needs a current context. `cublas` is the library that Blas was opened from.
  /// Errors: machine, "no-cublas".
  static Result<BlasLt> open(const Library& cublas, void* stream, Address workspace);

  /// Of row-major matrices in f32, multiplied in f32. No algorithm for a batch by pointers, nor for
  /// what cublasLt does not do. The algorithms suit every launch that is laid out like `arguments`
  /// and is aligned as well.
  Result<Plan> plan(dsl::OperandLayout layout, dsl::Batch batch,
                    const KernelArguments& arguments) const;
  /// C = alpha * op(A) * op(B) + beta * C, enqueued on the stream.
  Result<void> multiply(const Plan& plan, const LtAlgorithm& algorithm,
                        const KernelArguments& arguments) const;

 private:
  BlasLt(void* stream, Address workspace) : stream_(stream), workspace_(workspace) {}
  Result<Held> matrix(int64_t rows, int64_t columns, int64_t ld, dsl::Batch batch, int64_t count,
                      int64_t stride) const;
  Result<Held> preference(const KernelArguments& arguments) const;

  BlasLtFunctions functions_{};
  StatusWords words_{};
  Held handle_{nullptr, nullptr};
  void* stream_;
  Address workspace_;
};

}  // namespace tilec::cuda
