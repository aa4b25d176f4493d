// Judges a result. Inputs are uniform in [-1, 1); an element passes if |c - r| <= bound, with r in
// float64 and the bound of bound.h, written so that a NaN fails. C starts out as NaN where the
// kernel must not read it, so that an element left unwritten shows; words round and between the
// rows of all operands must be as they were.
//
// On a GPU all of C is compared with cuBLAS's too: first bit for bit, then against twice the bound
// with sum |a||b| <= norm(row of A) * norm(column of B), which any two right kernels keep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expression.h"
#include "runtime/operands.h"
#include "runtime/problem.h"

namespace tilec {

struct CheckOptions {
  int64_t budget = int64_t{1} << 28;  // multiply-adds of the reference; more than this: samples
  int most_findings = 8;              // described of each kind; all are counted
};

/// An element that is wrong.
struct Failure {
  int64_t row = 0;
  int64_t column = 0;
  double got = 0;
  double expected = 0;
  double bound = 0;
  bool unwritten = false;  // still what C was filled with
};

/// All of C against cuBLAS.
struct CublasComparison {
  bool bit_equal = false;
  int64_t different = 0;      // elements whose bits differ; +0 and -0 do
  double max_difference = 0;  // |c - cublas|; NaN if any element is
  double max_error = 0;       // largest |c - cublas| / (2 bound); NaN if any element is
  bool passed = false;        // max_error <= 1
};

struct CheckResult {
  bool passed = false;
  double max_error = 0;           // over the checked elements, |c - r| / bound; NaN if any is
  int64_t checked = 0;            // elements compared with float64
  int64_t elements = 0;           // of C
  int64_t failed = 0;             // of the checked
  int64_t nan_elements = 0;       // of all of C
  std::vector<Failure> failures;  // the first, by row
  TouchedWords touched;           // of all three operands
  std::optional<CublasComparison> cublas;
};

/// The epilogue that counts: with beta = 0 the products with beta vanish.
dsl::Expression effective_epilogue(const dsl::Expression& epilogue, float beta);
bool reads_c(const dsl::Expression& epilogue, float beta);

/// `before`: as uploaded. `after`: as downloaded. `tile` says where samples must fall.
CheckResult check_result(const GemmProblem& problem, const dsl::Expression& epilogue,
                         const dsl::Extent& tile, const Operands& before, const Operands& after,
                         const CheckOptions& options);

/// For the default epilogue only: `cublas_c` is what cuBLAS made of the same operands.
CublasComparison compare_with_cublas(const GemmProblem& problem, const Operands& before,
                                     const Image& kernel_c, const Image& cublas_c);

/// Takes the check of another matrix into `to`: counts add up, the largest error stays.
void add(CheckResult& to, CheckResult&& other, const CheckOptions& options);
void add(CheckResult& to, const CublasComparison& other);

}  // namespace tilec
