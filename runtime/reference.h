// The product in float64, which the check compares with, and the sum of magnitudes that its error
// bound grows with. All of C where that is cheap; else where sampled rows and columns cross.
#pragma once

#include <cstdint>
#include <vector>

#include "dsl/shape.h"
#include "dsl/spec.h"
#include "runtime/operands.h"

namespace tilec {

/// Ascending rows and columns of C; what is checked is every place where two of them cross.
struct Samples {
  std::vector<int64_t> rows;
  std::vector<int64_t> columns;
  bool whole = true;  // all of C

  int64_t count() const { return static_cast<int64_t>(rows.size() * columns.size()); }
};

/// All of C if that costs at most about `budget` multiply-adds; else at least one row and column of
/// every tile, the first and the last of C, and as many more as the budget allows. A place within
/// its tile is random, so that over many tiles every thread's share is seen.
Samples choose_samples(const dsl::GemmShape& shape, const dsl::Extent& tile, int64_t budget,
                       uint64_t seed);

/// For sample (r, s) at [r * columns.size() + s]:
///   product   = sum over k of A[row, k] * B[k, column]
///   magnitude = sum over k of |A[row, k]| * |B[k, column]|
/// each product exact, each sum rounded in float64.
struct ReferenceSums {
  std::vector<double> product;
  std::vector<double> magnitude;
};
ReferenceSums reference_sums(const GemmProblem& problem, const Operands& operands,
                             const Samples& samples);

/// Euclidean norms of the rows of op(A), and of the columns of op(B): by Cauchy and Schwarz their
/// products bound every sum of magnitudes.
std::vector<double> row_norms_a(const GemmProblem& problem, const Operands& operands);
std::vector<double> column_norms_b(const GemmProblem& problem, const Operands& operands);

}  // namespace tilec
