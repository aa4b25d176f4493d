// What runtime/cuda/blas.h says of cuBLAS's binary interface against its header, where there is
// one.
#include <gtest/gtest.h>

#include <type_traits>

#include "runtime/cuda/blas.h"
#include "runtime/cuda/blas_lt.h"

#if __has_include(<cublas_v2.h>)
#include <cublasLt.h>
#include <cublas_v2.h>

namespace tilec::cuda {
namespace {

// An enumeration of C travels as an int; a handle as a pointer.
template <class Type>
constexpr bool kTravelsAsInt = std::is_enum_v<Type> && sizeof(Type) == sizeof(int);

TEST(CublasHeader, AgreesWithOurDeclarations) {
  static_assert(kTravelsAsInt<cublasStatus_t> && kTravelsAsInt<cublasOperation_t> &&
                kTravelsAsInt<cublasMath_t>);
  static_assert(std::is_pointer_v<cublasHandle_t> && std::is_pointer_v<cudaStream_t>);
  static_assert(std::is_same_v<decltype(cublasSgemm_v2),
                               cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                              int, int, int, const float*, const float*, int,
                                              const float*, int, const float*, float*, int)>);
  static_assert(
      std::is_same_v<decltype(cublasSgemmStridedBatched),
                     cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                    int, const float*, const float*, int, long long, const float*,
                                    int, long long, const float*, float*, int, long long, int)>);
  static_assert(std::is_same_v<decltype(cublasSgemmBatched),
                               cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                              int, int, int, const float*, const float* const[],
                                              int, const float* const[], int, const float*,
                                              float* const[], int, int)>);
  static_assert(std::is_same_v<decltype(cublasSetWorkspace_v2),
                               cublasStatus_t(cublasHandle_t, void*, size_t)>);
  EXPECT_EQ(CUBLAS_STATUS_SUCCESS, 0);
  EXPECT_EQ(CUBLAS_OP_N, 0);
  EXPECT_EQ(CUBLAS_OP_T, 1);
  EXPECT_EQ(CUBLAS_PEDANTIC_MATH, 2);
}

TEST(CublasHeader, AgreesWithOurDeclarationsOfCublasLt) {
  static_assert(std::is_pointer_v<cublasLtHandle_t> && std::is_pointer_v<cublasLtMatmulDesc_t> &&
                std::is_pointer_v<cublasLtMatrixLayout_t> &&
                std::is_pointer_v<cublasLtMatmulPreference_t>);
  static_assert(kTravelsAsInt<cublasComputeType_t> && kTravelsAsInt<cudaDataType_t> &&
                kTravelsAsInt<cublasLtMatmulDescAttributes_t>);
  using Theirs = cublasLtMatmulHeuristicResult_t;
  static_assert(sizeof(LtAlgorithm) == sizeof(Theirs) &&
                sizeof(LtAlgorithm::algorithm) == sizeof(Theirs::algo) &&
                offsetof(LtAlgorithm, workspace_bytes) == offsetof(Theirs, workspaceSize) &&
                offsetof(LtAlgorithm, status) == offsetof(Theirs, state) &&
                offsetof(LtAlgorithm, waves) == offsetof(Theirs, wavesCount));
  static_assert(std::is_same_v<decltype(cublasLtMatrixLayoutCreate),
                               cublasStatus_t(cublasLtMatrixLayout_t*, cudaDataType, uint64_t,
                                              uint64_t, int64_t)>);
  static_assert(
      std::is_same_v<decltype(cublasLtMatmulDescCreate),
                     cublasStatus_t(cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType_t)>);
  static_assert(
      std::is_same_v<decltype(cublasLtMatmulPreferenceSetAttribute),
                     cublasStatus_t(cublasLtMatmulPreference_t,
                                    cublasLtMatmulPreferenceAttributes_t, const void*, size_t)>);
  static_assert(
      std::is_same_v<decltype(cublasLtMatmulAlgoGetHeuristic),
                     cublasStatus_t(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                    cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                    cublasLtMatmulHeuristicResult_t[], int*)>);
  static_assert(
      std::is_same_v<decltype(cublasLtMatmul),
                     cublasStatus_t(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*,
                                    const void*, cublasLtMatrixLayout_t, const void*,
                                    cublasLtMatrixLayout_t, const void*, const void*,
                                    cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t,
                                    const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t)>);
  EXPECT_EQ(CUDA_R_32F, 0);
  EXPECT_EQ(CUBLAS_COMPUTE_32F, 68);
  EXPECT_EQ(CUBLAS_STATUS_NOT_SUPPORTED, 15);
  EXPECT_EQ(CUBLASLT_MATMUL_DESC_TRANSA, 3);
  EXPECT_EQ(CUBLASLT_MATMUL_DESC_TRANSB, 4);
  EXPECT_EQ(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5);
  EXPECT_EQ(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8);
}

}  // namespace
}  // namespace tilec::cuda
#else
TEST(CublasHeader, AgreesWithOurDeclarations) {
  GTEST_SKIP() << "cublas_v2.h was not there";
}
#endif
