#include "runtime/cuda/blas.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "runtime/cuda/library.h"
#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec::cuda {
namespace {

constexpr int kNoTranspose = 0;  // CUBLAS_OP_N
constexpr int kTranspose = 1;    // CUBLAS_OP_T
// CUBLAS_PEDANTIC_MATH: the precision asked for, whatever the environment says about TF32. On f32
// it was measured to run the same kernels, as fast, as the default mode.
constexpr int kPedanticMath = 2;

std::vector<std::string> cublas_files() {
  // The newest that was measured with first, then older, then newer ones.
  const std::string names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.14",
                               "libcublas.so.15", "libcublas.so"};
  return usual_places(names);
}

void* pointer(Address address) {
  return std::bit_cast<void*>(address);
}

}  // namespace

Result<Library> open_cublas(const std::vector<std::string>& files) {
  return Library::open(files.empty() ? cublas_files() : files, Fault::no_cublas, "cuBLAS");
}

Result<void> StatusWords::check(int status, const char* call) const {
  if (status == 0) return {};
  const char* status_name = name(status);
  const char* words = text(status);
  return refuse(Fault::cublas_call, fmt::format("{} failed: {} ({}): {}", call,
                                                status_name ? status_name : "unknown status",
                                                status, words ? words : "no description"));
}

Result<Blas> Blas::open(const Library& library, void* stream, Address workspace) {
  Blas blas;
  BlasFunctions& functions = blas.functions_;
  Binder binder(library);
  binder.bind("cublasCreate_v2", functions.create);
  binder.bind("cublasDestroy_v2", functions.destroy);
  binder.bind("cublasGetVersion_v2", functions.get_version);
  binder.bind("cublasSetStream_v2", functions.set_stream);
  binder.bind("cublasSetWorkspace_v2", functions.set_workspace);
  binder.bind("cublasSetMathMode", functions.set_math_mode);
  binder.bind("cublasSgemm_v2", functions.sgemm);
  binder.bind("cublasSgemmStridedBatched", functions.sgemm_strided);
  binder.bind("cublasSgemmBatched", functions.sgemm_pointers);
  binder.bind("cublasGetStatusName", blas.words_.name);
  binder.bind("cublasGetStatusString", blas.words_.text);
  TILEC_TRY(binder.finish(Fault::no_cublas));
  TILEC_TRY(blas.words_.check(functions.create(&blas.handle_), "cublasCreate_v2"));
  TILEC_TRY(blas.words_.check(functions.set_stream(blas.handle_, stream), "cublasSetStream_v2"));
  // After the stream, which puts cuBLAS's own workspace back.
  TILEC_TRY(
      blas.words_.check(functions.set_workspace(blas.handle_, pointer(workspace), kWorkspaceBytes),
                        "cublasSetWorkspace_v2"));
  TILEC_TRY(
      blas.words_.check(functions.set_math_mode(blas.handle_, kPedanticMath), "cublasSetMathMode"));
  int version = 0;  // 130100 is 13.1.0
  TILEC_TRY(
      blas.words_.check(functions.get_version(blas.handle_, &version), "cublasGetVersion_v2"));
  blas.version_ = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  return blas;
}

Blas::Blas(Blas&& other) noexcept
    : functions_(other.functions_),
      words_(other.words_),
      handle_(std::exchange(other.handle_, nullptr)),
      version_(std::move(other.version_)) {}

Blas::~Blas() {
  if (handle_ != nullptr) functions_.destroy(handle_);
}

// cuBLAS is column-major: there our row-major C is C^T = op(B)^T op(A)^T, so A and B change places
// and M and N do, while each matrix keeps its leading dimension and its transposition.
Result<void> Blas::multiply(dsl::OperandLayout layout, const KernelArguments& arguments,
                            dsl::Batch batch) const {
  const KernelArguments& x = arguments;
  const int op_a = layout.b_transposed ? kTranspose : kNoTranspose;
  const int op_b = layout.a_transposed ? kTranspose : kNoTranspose;
  const auto m = static_cast<int>(x.n);
  const auto n = static_cast<int>(x.m);
  const auto k = static_cast<int>(x.k);
  const auto lda = static_cast<int>(x.ldb);
  const auto ldb = static_cast<int>(x.lda);
  const auto ldc = static_cast<int>(x.ldc);
  const auto count = static_cast<int>(x.batch);
  const auto* a = static_cast<const float*>(pointer(x.b));
  const auto* b = static_cast<const float*>(pointer(x.a));
  auto* c = static_cast<float*>(pointer(x.c));
  switch (batch) {
    case dsl::Batch::none:
      return words_.check(
          functions_.sgemm(handle_, op_a, op_b, m, n, k, &x.alpha, a, lda, b, ldb, &x.beta, c, ldc),
          "cublasSgemm_v2");
    case dsl::Batch::strided:
      return words_.check(
          functions_.sgemm_strided(handle_, op_a, op_b, m, n, k, &x.alpha, a, lda, x.stride_b, b,
                                   ldb, x.stride_a, &x.beta, c, ldc, x.stride_c, count),
          "cublasSgemmStridedBatched");
    case dsl::Batch::pointers:
      return words_.check(
          functions_.sgemm_pointers(handle_, op_a, op_b, m, n, k, &x.alpha,
                                    static_cast<const float* const*>(pointer(x.b)), lda,
                                    static_cast<const float* const*>(pointer(x.a)), ldb, &x.beta,
                                    static_cast<float* const*>(pointer(x.c)), ldc, count),
          "cublasSgemmBatched");
  }
  return {};
}

}  // namespace tilec::cuda
