// What runtime/cuda/blas.h says of cuBLAS's binary interface against its header, where there is
// one.
#include <gtest/gtest.h>

#include <type_traits>

#include "runtime/cuda/blas.h"

#if __has_include(<cublas_v2.h>)
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

}  // namespace
}  // namespace tilec::cuda
#else
TEST(CublasHeader, AgreesWithOurDeclarations) {
  GTEST_SKIP() << "cublas_v2.h was not there";
}
#endif
