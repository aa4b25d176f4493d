#include "runtime/cuda/blas_lt.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec::cuda {
namespace {

constexpr int kFloat = 0;          // CUDA_R_32F
constexpr int kComputeFloat = 68;  // CUBLAS_COMPUTE_32F: f32 throughout, no TF32
constexpr int kNotSupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED

constexpr int kTransposeA = 3;  // CUBLASLT_MATMUL_DESC_TRANSA; TRANSB is the next
constexpr int kTransposeB = 4;
constexpr int kBatchCount = 5;      // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
constexpr int kBatchStride = 6;     // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, elements
constexpr int kMostWorkspace = 1;   // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int kAlignmentOfA = 5;    // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES; B, C, D follow
constexpr uint32_t kAligned = 256;  // bytes; as much as cublasLt asks for

void* pointer(Address address) {
  return std::bit_cast<void*>(address);
}

uint32_t alignment(Address address) {
  return static_cast<uint32_t>(std::min<Address>(kAligned, address & -address));
}

}  // namespace

Result<BlasLt> BlasLt::open(const Library& cublas, void* stream, Address workspace) {
  BlasLt lt(stream, workspace);
  BlasLtFunctions& functions = lt.functions_;
  Binder binder(cublas);
  binder.bind("cublasLtCreate", functions.create);
  binder.bind("cublasLtDestroy", functions.destroy);
  binder.bind("cublasLtMatmulDescCreate", functions.operation_create);
  binder.bind("cublasLtMatmulDescSetAttribute", functions.operation_set);
  binder.bind("cublasLtMatmulDescDestroy", functions.operation_destroy);
  binder.bind("cublasLtMatrixLayoutCreate", functions.matrix_create);
  binder.bind("cublasLtMatrixLayoutSetAttribute", functions.matrix_set);
  binder.bind("cublasLtMatrixLayoutDestroy", functions.matrix_destroy);
  binder.bind("cublasLtMatmulPreferenceCreate", functions.preference_create);
  binder.bind("cublasLtMatmulPreferenceSetAttribute", functions.preference_set);
  binder.bind("cublasLtMatmulPreferenceDestroy", functions.preference_destroy);
  binder.bind("cublasLtMatmulAlgoGetHeuristic", functions.list);
  binder.bind("cublasLtMatmul", functions.multiply);
  binder.bind("cublasGetStatusName", lt.words_.name);
  binder.bind("cublasGetStatusString", lt.words_.text);
  TILEC_TRY(binder.finish(Fault::no_cublas));
  void* handle = nullptr;
  TILEC_TRY(lt.words_.check(functions.create(&handle), "cublasLtCreate"));
  lt.handle_ = Held(handle, functions.destroy);
  return lt;
}

Result<BlasLt::Held> BlasLt::matrix(int64_t rows, int64_t columns, int64_t ld, dsl::Batch batch,
                                    int64_t count, int64_t stride) const {
  void* made = nullptr;
  TILEC_TRY(words_.check(functions_.matrix_create(&made, kFloat, static_cast<uint64_t>(rows),
                                                  static_cast<uint64_t>(columns), ld),
                         "cublasLtMatrixLayoutCreate"));
  Held held(made, functions_.matrix_destroy);
  if (batch == dsl::Batch::none) return held;
  const auto matrices = static_cast<int32_t>(count);
  TILEC_TRY(words_.check(functions_.matrix_set(made, kBatchCount, &matrices, sizeof(matrices)),
                         "cublasLtMatrixLayoutSetAttribute"));
  TILEC_TRY(words_.check(functions_.matrix_set(made, kBatchStride, &stride, sizeof(stride)),
                         "cublasLtMatrixLayoutSetAttribute"));
  return held;
}

Result<BlasLt::Held> BlasLt::preference(const KernelArguments& arguments) const {
  void* made = nullptr;
  TILEC_TRY(words_.check(functions_.preference_create(&made), "cublasLtMatmulPreferenceCreate"));
  Held held(made, functions_.preference_destroy);
  const uint64_t workspace = Blas::kWorkspaceBytes;
  TILEC_TRY(
      words_.check(functions_.preference_set(made, kMostWorkspace, &workspace, sizeof(workspace)),
                   "cublasLtMatmulPreferenceSetAttribute"));
  const KernelArguments& x = arguments;
  // The strides are those of a batch, else 0.
  const std::pair<Address, int64_t> operands[] = {
      {x.b, x.stride_b}, {x.a, x.stride_a}, {x.c, x.stride_c}, {x.c, x.stride_c}};
  int attribute = kAlignmentOfA;
  for (const auto& [address, stride] : operands) {
    const uint32_t bytes = alignment(address | static_cast<Address>(stride) * sizeof(float));
    TILEC_TRY(words_.check(functions_.preference_set(made, attribute++, &bytes, sizeof(bytes)),
                           "cublasLtMatmulPreferenceSetAttribute"));
  }
  return held;
}

// Column-major like the rest of cuBLAS: A and B change places, as in Blas::multiply. There a
// stored row of ours is a stored column.
Result<BlasLt::Plan> BlasLt::plan(dsl::OperandLayout layout, dsl::Batch batch,
                                  const KernelArguments& arguments) const {
  const KernelArguments& x = arguments;
  Plan plan{.operation = Held(nullptr, nullptr),
            .a = Held(nullptr, nullptr),
            .b = Held(nullptr, nullptr),
            .c = Held(nullptr, nullptr),
            .algorithms = {}};
  if (batch == dsl::Batch::pointers) return plan;
  void* operation = nullptr;
  TILEC_TRY(words_.check(functions_.operation_create(&operation, kComputeFloat, kFloat),
                         "cublasLtMatmulDescCreate"));
  plan.operation = Held(operation, functions_.operation_destroy);
  for (auto [attribute, transposed] :
       {std::pair{kTransposeA, layout.b_transposed}, std::pair{kTransposeB, layout.a_transposed}}) {
    const int32_t word = transposed ? 1 : 0;  // CUBLAS_OP_T, CUBLAS_OP_N
    TILEC_TRY(words_.check(functions_.operation_set(operation, attribute, &word, sizeof(word)),
                           "cublasLtMatmulDescSetAttribute"));
  }
  const auto [a_rows, a_columns] = layout.b_transposed ? std::pair{x.k, x.n} : std::pair{x.n, x.k};
  const auto [b_rows, b_columns] = layout.a_transposed ? std::pair{x.m, x.k} : std::pair{x.k, x.m};
  Result<Held> a = matrix(a_rows, a_columns, x.ldb, batch, x.batch, x.stride_b);
  Result<Held> b = matrix(b_rows, b_columns, x.lda, batch, x.batch, x.stride_a);
  Result<Held> c = matrix(x.n, x.m, x.ldc, batch, x.batch, x.stride_c);
  Result<Held> wishes = preference(x);
  for (Result<Held>* part : {&a, &b, &c, &wishes})
    if (!*part) return tl::unexpected(std::move(part->error()));
  plan.a = std::move(*a);
  plan.b = std::move(*b);
  plan.c = std::move(*c);

  std::vector<LtAlgorithm> found(kMostAlgorithms);
  int count = 0;
  const int status =
      functions_.list(handle_.get(), operation, plan.a.get(), plan.b.get(), plan.c.get(),
                      plan.c.get(), wishes->get(), kMostAlgorithms, found.data(), &count);
  if (status == kNotSupported) return plan;
  TILEC_TRY(words_.check(status, "cublasLtMatmulAlgoGetHeuristic"));
  for (int i = 0; i < count; ++i)
    if (found[static_cast<size_t>(i)].status == 0)
      plan.algorithms.push_back(found[static_cast<size_t>(i)]);
  return plan;
}

Result<void> BlasLt::multiply(const Plan& plan, const LtAlgorithm& algorithm,
                              const KernelArguments& arguments) const {
  const KernelArguments& x = arguments;
  return words_.check(
      functions_.multiply(handle_.get(), plan.operation.get(), &x.alpha, pointer(x.b), plan.a.get(),
                          pointer(x.a), plan.b.get(), &x.beta, pointer(x.c), plan.c.get(),
                          pointer(x.c), plan.c.get(), algorithm.algorithm.data(),
                          pointer(workspace_), Blas::kWorkspaceBytes, stream_),
      "cublasLtMatmul");
}

}  // namespace tilec::cuda
