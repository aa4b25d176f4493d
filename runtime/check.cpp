#include "runtime/check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "runtime/bound.h"
#include "runtime/parallel.h"
#include "runtime/reference.h"

namespace tilec {
namespace {

uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

const float* row_of(const Image& image, int64_t row) {
  return image.elements() + row * image.stored().ld;
}

// std::max forgets NaN; this one keeps it.
double keep_max(double largest, double value) {
  return std::isnan(largest) || value <= largest ? largest : value;
}

// |difference| / bound, 0 where both are 0.
double error_ratio(double difference, double bound) {
  return difference == 0 ? 0 : difference / bound;
}

// What one task found; tasks are merged under a lock.
struct Tally {
  double max_error = 0;
  int64_t failed = 0;
  std::vector<Failure> failures;

  void merge(Tally&& other, size_t most) {
    max_error = keep_max(max_error, other.max_error);
    failed += other.failed;
    failures.insert(failures.end(), other.failures.begin(), other.failures.end());
    const auto by_place = [](const Failure& x, const Failure& y) {
      return std::pair(x.row, x.column) < std::pair(y.row, y.column);
    };
    std::sort(failures.begin(), failures.end(), by_place);
    if (failures.size() > most) failures.resize(most);
  }
};

// One row of samples.
Tally judge_row(const GemmProblem& problem, const Epilogue& epilogue, const Operands& before,
                const Image& after, const Samples& samples, const ReferenceSums& sums, size_t r,
                size_t most) {
  Tally tally;
  const int64_t row = samples.rows[r];
  EpilogueInputs inputs{.alpha = problem.alpha, .beta = problem.beta};
  for (size_t s = 0; s < samples.columns.size(); ++s) {
    const int64_t column = samples.columns[s];
    const size_t at = r * samples.columns.size() + s;
    const float was = row_of(before.c, row)[column];
    const float got = row_of(after, row)[column];
    inputs.acc = bounded_sum(sums.product[at], sums.magnitude[at], problem.shape.k);
    inputs.c = was;
    const Bounded right = epilogue.evaluate(inputs);
    const double difference = std::abs(static_cast<double>(got) - right.value);
    tally.max_error = keep_max(tally.max_error, error_ratio(difference, right.error));
    if (difference <= right.error) continue;
    ++tally.failed;
    if (tally.failures.size() < most)
      tally.failures.push_back(
          {row, column, got, right.value, right.error, std::isnan(got) && bits(got) == bits(was)});
  }
  return tally;
}

int64_t count_nans(const Image& image) {
  std::atomic<int64_t> count = 0;
  const int64_t columns = image.stored().columns;
  parallel_rows(image.stored().rows, columns, [&](int64_t row) {
    int64_t found = 0;
    for (int64_t column = 0; column < columns; ++column)
      found += std::isnan(row_of(image, row)[column]) ? 1 : 0;
    count += found;
  });
  return count;
}

void add_touched(CheckResult& result, const Image& before, const Image& after, Operand operand,
                 int most) {
  TouchedWords found = find_touched(before, after, operand, most);
  result.touched.count += found.count;
  result.touched.first.insert(result.touched.first.end(), found.first.begin(), found.first.end());
}

CublasComparison compare_row(const GemmProblem& problem, double gamma_acc, double gamma_c,
                             double norm_a, const std::vector<double>& norms_b, const float* was,
                             const float* kernel, const float* cublas) {
  CublasComparison out;
  const double alpha = std::abs(static_cast<double>(problem.alpha));
  const double beta = std::abs(static_cast<double>(problem.beta));
  for (size_t column = 0; column < norms_b.size(); ++column) {
    if (bits(kernel[column]) == bits(cublas[column]) && !std::isnan(kernel[column])) continue;
    ++out.different;
    const double difference =
        std::abs(static_cast<double>(kernel[column]) - static_cast<double>(cublas[column]));
    const double of_c = beta == 0 ? 0 : gamma_c * beta * std::abs(static_cast<double>(was[column]));
    const double bound = gamma_acc * alpha * norm_a * norms_b[column] + of_c + 0x1p-148;
    out.max_difference = keep_max(out.max_difference, difference);
    out.max_error = keep_max(out.max_error, error_ratio(difference, 2 * bound));
  }
  return out;
}

}  // namespace

dsl::Expression effective_epilogue(const dsl::Expression& epilogue, float beta) {
  return beta == 0 ? dsl::with_beta_zero(epilogue) : epilogue;
}

bool reads_c(const dsl::Expression& epilogue, float beta) {
  return dsl::reads_c(effective_epilogue(epilogue, beta)) != dsl::ReadsC::never;
}

CheckResult check_result(const GemmProblem& problem, const dsl::Expression& epilogue,
                         const dsl::Extent& tile, const Operands& before, const Operands& after,
                         const CheckOptions& options) {
  const Samples samples = choose_samples(problem.shape, tile, options.budget, problem.seed);
  const ReferenceSums sums = reference_sums(problem, before, samples);
  const Epilogue effective(effective_epilogue(epilogue, problem.beta));
  const auto most = static_cast<size_t>(options.most_findings);
  Tally all;
  std::mutex lock;
  const auto rows = static_cast<int64_t>(samples.rows.size());
  const auto columns = static_cast<int64_t>(samples.columns.size());
  parallel_rows(rows, columns, [&](int64_t r) {
    Tally tally =
        judge_row(problem, effective, before, after.c, samples, sums, static_cast<size_t>(r), most);
    const std::scoped_lock hold(lock);
    all.merge(std::move(tally), most);
  });
  CheckResult result{.max_error = all.max_error,
                     .checked = samples.count(),
                     .elements = problem.shape.m * problem.shape.n,
                     .failed = all.failed,
                     .nan_elements = count_nans(after.c),
                     .failures = std::move(all.failures)};
  add_touched(result, before.a, after.a, Operand::a, options.most_findings);
  add_touched(result, before.b, after.b, Operand::b, options.most_findings);
  add_touched(result, before.c, after.c, Operand::c, options.most_findings);
  result.passed = result.failed == 0 && result.nan_elements == 0 && result.touched.count == 0;
  return result;
}

void add(CheckResult& to, CheckResult&& other, const CheckOptions& options) {
  const auto most = static_cast<size_t>(options.most_findings);
  to.passed = to.passed && other.passed;
  to.max_error = keep_max(to.max_error, other.max_error);
  to.checked += other.checked;
  to.elements += other.elements;
  to.failed += other.failed;
  to.nan_elements += other.nan_elements;
  to.touched.count += other.touched.count;
  for (Failure& failure : other.failures)
    if (to.failures.size() < most) to.failures.push_back(failure);
  for (Touched& touched : other.touched.first)
    if (to.touched.first.size() < most) to.touched.first.push_back(std::move(touched));
}

void add(CheckResult& to, const CublasComparison& other) {
  if (!to.cublas) {
    to.cublas = other;
  } else {
    to.cublas->different += other.different;
    to.cublas->max_difference = keep_max(to.cublas->max_difference, other.max_difference);
    to.cublas->max_error = keep_max(to.cublas->max_error, other.max_error);
    to.cublas->bit_equal = to.cublas->bit_equal && other.bit_equal;
    to.cublas->passed = to.cublas->passed && other.passed;
  }
  to.passed = to.passed && other.passed;
}

CublasComparison compare_with_cublas(const GemmProblem& problem, const Operands& before,
                                     const Image& kernel_c, const Image& cublas_c) {
  const std::vector<double> norms_a = row_norms_a(problem, before);
  const std::vector<double> norms_b = column_norms_b(problem, before);
  const double gamma_acc = gamma(problem.shape.k + 2);
  const double gamma_c = gamma(2);
  CublasComparison out;
  std::mutex lock;
  parallel_rows(problem.shape.m, problem.shape.n, [&](int64_t row) {
    const CublasComparison found =
        compare_row(problem, gamma_acc, gamma_c, norms_a[static_cast<size_t>(row)], norms_b,
                    row_of(before.c, row), row_of(kernel_c, row), row_of(cublas_c, row));
    if (found.different == 0) return;
    const std::scoped_lock hold(lock);
    out.different += found.different;
    out.max_difference = keep_max(out.max_difference, found.max_difference);
    out.max_error = keep_max(out.max_error, found.max_error);
  });
  out.bit_equal = out.different == 0;
  out.passed = out.max_error <= 1;
  return out;
}

}  // namespace tilec
