// cuBLAS, as the measure beside ours: true f32, the same operands, the same stream. Its few
// functions are declared here rather than taken from its header, which comes with hundreds of
// megabytes of library; a test compares them with the header where there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/shape.h"
#include "dsl/spec.h"
#include "runtime/cuda/library.h"
#include "runtime/device.h"

namespace tilec::cuda {

using BlasHandle = void*;

/// cuBLAS's words for its statuses.
struct StatusWords {
  const char* (*name)(int);
  const char* (*text)(int);
  /// Errors: machine, "cublas-call", where the status is not success.
  Result<void> check(int status, const char* call) const;
};

/// The functions of cuBLAS that we call, with the types of its binary interface.
struct BlasFunctions {
  int (*create)(BlasHandle*);
  int (*destroy)(BlasHandle);
  int (*get_version)(BlasHandle, int*);
  int (*set_stream)(BlasHandle, void* stream);
  int (*set_workspace)(BlasHandle, void* workspace, size_t bytes);
  int (*set_math_mode)(BlasHandle, int mode);
  int (*sgemm)(BlasHandle, int op_a, int op_b, int m, int n, int k, const float* alpha,
               const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
               int ldc);
  int (*sgemm_strided)(BlasHandle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                       const float* a, int lda, long long stride_a, const float* b, int ldb,
                       long long stride_b, const float* beta, float* c, int ldc, long long stride_c,
                       int batch);
  int (*sgemm_pointers)(BlasHandle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                        const float* const* a, int lda, const float* const* b, int ldb,
                        const float* beta, float* const* c, int ldc, int batch);
};

/// Errors: machine, "no-cublas". `files` to try in order; empty: the usual places.
Result<Library> open_cublas(const std::vector<std::string>& files);

class Blas {
 public:
  /// Bytes of device memory that cuBLAS may use, its own choice on compute capability 9.0. It has
  /// to be given, since nothing can be allocated while launches are recorded into a graph.
  static constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;

  /// Needs a current context.
  /// Errors: machine, "no-cublas".
  static Result<Blas> open(const Library& library, void* stream, Address workspace);
  Blas(Blas&& other) noexcept;
  Blas& operator=(Blas&&) = delete;
  ~Blas();

  /// C = alpha * op(A) * op(B) + beta * C of row-major matrices, enqueued on the stream; of a batch
  /// for each of its matrices, which lie as `batch` says.
  Result<void> multiply(dsl::OperandLayout layout, const KernelArguments& arguments,
                        dsl::Batch batch) const;
  const std::string& version() const { return version_; }  // "13.1.0"

 private:
  Blas() = default;
  BlasFunctions functions_{};
  StatusWords words_{};
  BlasHandle handle_ = nullptr;
  std::string version_;
};

}  // namespace tilec::cuda
