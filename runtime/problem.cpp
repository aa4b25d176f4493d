#include "runtime/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/derive.h"
#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec {
namespace {

// cuBLAS takes leading dimensions in 32 bits; and rows * ld * 4 bytes stay below 2^63.
constexpr int64_t kLargestLeadingDimension = dsl::kMostExtent;
constexpr int64_t kLargestOffset = 63;  // one short of the 256 bytes that allocations align to

Result<void> check_extent(char axis, int64_t extent) {
  if (extent < 0) return refuse(Fault::bad_shape, fmt::format("{} is {}: below 0", axis, extent));
  if (extent > dsl::kMostExtent)
    return refuse(Fault::shape_too_large, fmt::format("{} is {}: over {}, the largest "
                                                      "that a kernel counts to",
                                                      axis, extent, dsl::kMostExtent));
  return {};
}

Result<void> check_stored(const Stored& stored, Operand operand) {
  const char letter = operand_letter(operand);
  if (stored.ld < stored.columns)
    return refuse(Fault::leading_dimension_too_small,
                  fmt::format("leading dimension of {} is {}: its stored rows have {} elements",
                              letter, stored.ld, stored.columns),
                  fmt::format("use {} or more", stored.columns));
  if (stored.ld > kLargestLeadingDimension)
    return refuse(Fault::shape_too_large, fmt::format("leading dimension of {} is {}: over {}",
                                                      letter, stored.ld, kLargestLeadingDimension));
  if (stored.offset < 0 || stored.offset > kLargestOffset)
    return refuse(Fault::bad_offset, fmt::format("offset of {} is {}: outside 0 to {} elements",
                                                 letter, stored.offset, kLargestOffset));
  return {};
}

Result<void> check_aligned(const GemmProblem& problem, Operand operand, int vector) {
  const Stored matrix = stored(problem, operand);
  const int allowed = allowed_vector(matrix, vector);
  if (allowed >= vector) return {};
  const char letter = operand_letter(operand);
  return refuse(
      Fault::operand_not_aligned,
      fmt::format("edges exact: {} is read or written {} elements at a time, but its base is {} "
                  "elements past a boundary and its leading dimension is {}",
                  letter, vector, matrix.offset, matrix.ld),
      fmt::format("align {} to {} elements, or use vector global {}, or edges guard", letter,
                  vector, allowed));
}

}  // namespace

char operand_letter(Operand operand) {
  return "ABC"[static_cast<int>(operand)];
}

Stored stored(const GemmProblem& problem, Operand operand) {
  const auto& [m, n, k] = problem.shape;
  switch (operand) {
    case Operand::a:
      return problem.layout.a_transposed ? Stored{k, m, problem.lda, problem.offset_a}
                                         : Stored{m, k, problem.lda, problem.offset_a};
    case Operand::b:
      return problem.layout.b_transposed ? Stored{n, k, problem.ldb, problem.offset_b}
                                         : Stored{k, n, problem.ldb, problem.offset_b};
    case Operand::c:
      return {m, n, problem.ldc, problem.offset_c};
  }
  return {};
}

Result<GemmProblem> complete(const GemmProblem& problem) {
  TILEC_TRY(check_extent('M', problem.shape.m));
  TILEC_TRY(check_extent('N', problem.shape.n));
  TILEC_TRY(check_extent('K', problem.shape.k));
  if (problem.batch < 1 || (problem.batched == dsl::Batch::none && problem.batch != 1))
    return refuse(Fault::bad_shape, fmt::format("a batch of {} matrices", problem.batch),
                  "a batch has 1 or more, and says how they lie");
  GemmProblem out = problem;
  // cuBLAS wants leading dimensions of at least 1, so an empty row counts as one element.
  const auto row = [&](Operand operand) {
    return std::max<int64_t>(1, stored(problem, operand).columns);
  };
  if (out.lda == 0) out.lda = row(Operand::a);
  if (out.ldb == 0) out.ldb = row(Operand::b);
  if (out.ldc == 0) out.ldc = row(Operand::c);
  for (Operand operand : {Operand::a, Operand::b, Operand::c})
    TILEC_TRY(check_stored(stored(out, operand), operand));
  if (!std::isfinite(out.alpha) || !std::isfinite(out.beta))
    return refuse(Fault::bad_scalar, fmt::format("alpha is {} and beta is {}: both must be finite",
                                                 out.alpha, out.beta));
  return out;
}

Result<void> accepts(const Artifact& artifact, const GemmProblem& problem) {
  const dsl::Spec& spec = artifact.spec;
  if (spec.layout != problem.layout)
    return refuse(Fault::layout_differs, "the kernel was compiled for another layout of A and B");
  if (artifact.batch != problem.batched)
    return refuse(Fault::batch_differs, "the kernel was compiled for another kind of batch");
  TILEC_TRY(dsl::grid_blocks(spec, problem.shape));
  if (spec.edges == dsl::Edges::guard) return {};
  const dsl::Derived& derived = artifact.derived;
  const bool direct = spec.copy == dsl::CopyMode::none;
  TILEC_TRY(check_aligned(problem, Operand::a,
                          direct ? derived.fragment_vector_a : derived.copy_a.vector));
  TILEC_TRY(check_aligned(problem, Operand::b,
                          direct ? derived.fragment_vector_b : derived.copy_b.vector));
  return check_aligned(problem, Operand::c, artifact.derived.vector_c);
}

int allowed_vector(const Stored& stored, int most) {
  if (stored.extent() == 0) return most;
  const int vector = dsl::widest_vector(most, stored.offset);
  // The leading dimension only matters where there is a second row.
  return stored.rows > 1 ? dsl::widest_vector(vector, stored.ld) : vector;
}

dsl::Spec narrowed(const dsl::Spec& spec, const GemmProblem& problem) {
  dsl::Spec out = spec;
  if (spec.edges == dsl::Edges::exact) return out;
  for (Operand operand : {Operand::a, Operand::b})
    out.vector_global = allowed_vector(stored(problem, operand), out.vector_global);
  return out;
}

std::string to_string(const dsl::GemmShape& shape) {
  return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
}

}  // namespace tilec
