#include "runtime/check.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "runtime/bound.h"
#include "runtime/random.h"
#include "runtime/reference.h"
#include "tests/runtime/gemm_on_host.h"

namespace tilec {
namespace {

using test::right_result;

GemmProblem padded_problem(float beta) {
  GemmProblem problem{.shape = {37, 29, 41}, .alpha = 1.5F, .beta = beta};
  problem.lda = 43;
  problem.ldb = 31;
  problem.ldc = 32;
  problem.offset_c = 3;
  return *complete(problem);
}

Operands operands_of(const GemmProblem& problem) {
  return make_operands(problem, reads_c(dsl::default_epilogue(), problem.beta), true);
}

CheckResult check(const GemmProblem& problem, const Operands& before, const Operands& after,
                  CheckOptions options = {}) {
  return check_result(problem, dsl::default_epilogue(), {16, 16}, before, after, options);
}

// The bound of one element of the usual epilogue.
double bound_of(const GemmProblem& problem, const Operands& operands, int64_t row, int64_t column) {
  const Samples one{{row}, {column}, false};
  const ReferenceSums sums = reference_sums(problem, operands, one);
  const float c = operands.c.elements()[row * problem.ldc + column];
  const Epilogue epilogue(effective_epilogue(dsl::default_epilogue(), problem.beta));
  return epilogue
      .evaluate({.acc = bounded_sum(sums.product[0], sums.magnitude[0], problem.shape.k),
                 .c = c,
                 .alpha = problem.alpha,
                 .beta = problem.beta})
      .error;
}

TEST(Check, PassesRightResultsInEveryLayout) {
  for (bool a_transposed : {false, true})
    for (bool b_transposed : {false, true})
      for (float alpha : {0.0F, 1.0F, -0.5F})
        for (float beta : {0.0F, 1.0F, -0.5F})
          for (const dsl::GemmShape& shape :
               {dsl::GemmShape{33, 17, 5}, dsl::GemmShape{1, 1, 1}, dsl::GemmShape{16, 16, 0},
                dsl::GemmShape{0, 5, 5}, dsl::GemmShape{5, 0, 5}}) {
            const GemmProblem problem = *complete({.shape = shape,
                                                   .layout = {a_transposed, b_transposed},
                                                   .alpha = alpha,
                                                   .beta = beta});
            const Operands before = operands_of(problem);
            const CheckResult out = check(problem, before, right_result(problem, before));
            EXPECT_TRUE(out.passed) << to_string(shape) << " alpha " << alpha << " beta " << beta;
            EXPECT_LE(out.max_error, 1);
            EXPECT_EQ(out.checked, shape.m * shape.n);
          }
}

TEST(Check, CatchesOneElementTwoBoundsOff) {
  for (float beta : {0.0F, 0.75F}) {
    const GemmProblem problem = padded_problem(beta);
    const Operands before = operands_of(problem);
    Operands after = right_result(problem, before);
    float& element = after.c.elements()[20 * problem.ldc + 28];
    element += static_cast<float>(2 * bound_of(problem, before, 20, 28));
    const CheckResult out = check(problem, before, after);
    EXPECT_FALSE(out.passed);
    EXPECT_GT(out.max_error, 1);
    ASSERT_EQ(out.failures.size(), 1U);
    EXPECT_EQ(out.failed, 1);
    EXPECT_EQ(out.failures[0].row, 20);
    EXPECT_EQ(out.failures[0].column, 28);
    EXPECT_EQ(out.failures[0].got, element);
    EXPECT_FALSE(out.failures[0].unwritten);
  }
}

TEST(Check, CatchesAnElementLeftUnwritten) {
  const GemmProblem problem = padded_problem(0);
  const Operands before = operands_of(problem);
  Operands after = right_result(problem, before);
  const int64_t at = 36 * problem.ldc + 0;
  after.c.elements()[at] = before.c.elements()[at];
  const CheckResult out = check(problem, before, after);
  EXPECT_FALSE(out.passed);
  EXPECT_TRUE(std::isnan(out.max_error));
  EXPECT_EQ(out.nan_elements, 1);
  ASSERT_EQ(out.failures.size(), 1U);
  EXPECT_TRUE(out.failures[0].unwritten);
}

TEST(Check, CatchesCReadWhereBetaIsZero) {
  const GemmProblem problem = padded_problem(0);
  const Operands before = operands_of(problem);
  Operands after = right_result(problem, before);
  after.c.elements()[5] += 0 * before.c.elements()[5];
  const CheckResult out = check(problem, before, after);
  EXPECT_FALSE(out.passed);
  EXPECT_EQ(out.nan_elements, 1);
}

TEST(Check, CatchesWordsTouchedOutsideC) {
  const GemmProblem problem = padded_problem(0);
  const Operands before = operands_of(problem);
  const struct {
    int64_t at;  // from C's first element
    const char* where;
  } rows[] = {{-1, "guard before the first element, word -1"},
              {29, "gap after row 0, column 29"},
              {35 * 32 + 31, "gap after row 35, column 31"},
              {36 * 32 + 29, "guard after the last element, word 0"}};
  for (const auto& row : rows) {
    Operands after = right_result(problem, before);
    after.c.elements()[row.at] = 0;
    const CheckResult out = check(problem, before, after);
    EXPECT_FALSE(out.passed);
    EXPECT_EQ(out.failed, 0);
    ASSERT_EQ(out.touched.first.size(), 1U) << row.where;
    EXPECT_EQ(out.touched.first[0].where, row.where);
    EXPECT_EQ(out.touched.first[0].operand, Operand::c);
  }
}

TEST(Check, CatchesOperandsWrittenTo) {
  const GemmProblem problem = padded_problem(1);
  const Operands before = operands_of(problem);
  Operands after = right_result(problem, before);
  after.a.elements()[2 * problem.lda + 7] = 0;
  const float negative_zero = -0.0F;
  after.b.elements()[0] = after.b.elements()[0] == 0 ? 1 : negative_zero;
  const CheckResult out = check(problem, before, after);
  EXPECT_FALSE(out.passed);
  ASSERT_EQ(out.touched.first.size(), 2U);
  EXPECT_EQ(out.touched.first[0].where, "element [2, 7]");
  EXPECT_EQ(out.touched.first[1].operand, Operand::b);
}

TEST(Check, KeepsTheFirstFindingsAndCountsAll) {
  const GemmProblem problem = padded_problem(0);
  const Operands before = operands_of(problem);
  Operands after = right_result(problem, before);
  for (int64_t row = 3; row < 37; ++row)
    for (int64_t column = 0; column < 32; ++column)
      after.c.elements()[row * problem.ldc + column] = 1000;
  const CheckResult out = check(problem, before, after, {.most_findings = 5});
  EXPECT_EQ(out.failed, 34 * 29);
  ASSERT_EQ(out.failures.size(), 5U);
  EXPECT_EQ(out.failures[0].row, 3);
  EXPECT_EQ(out.failures[4].column, 4);
  EXPECT_EQ(out.touched.count, 34 * 3);
  EXPECT_EQ(out.touched.first.size(), 5U);
}

// Whatever single word changes, and wherever, the check fails.
TEST(Check, CatchesAnyChangedWord) {
  for (uint64_t round = 0; round < 300; ++round) {
    const GemmProblem problem = padded_problem(round % 2 == 0 ? 0.0F : -0.5F);
    const Operands before = operands_of(problem);
    Operands after = right_result(problem, before);
    Image* images[] = {&after.a, &after.b, &after.c};
    Image& image = *images[round % 3];
    const uint64_t bits = random_bits(99, round);
    float& word = image.all()[bits % static_cast<uint64_t>(image.words())];
    const float was = word;
    word = round % 5 == 0 ? NAN : 10;
    if (std::bit_cast<uint32_t>(was) == std::bit_cast<uint32_t>(word)) continue;
    EXPECT_FALSE(check(problem, before, after).passed) << round;
  }
}

TEST(Check, GuardsPoisonReadsOutside) {
  const GemmProblem problem = padded_problem(0);
  const Operands operands = operands_of(problem);
  for (const Image* image : {&operands.a, &operands.b}) {
    EXPECT_TRUE(std::isnan(image->elements()[-1]));
    EXPECT_TRUE(std::isnan(image->elements()[image->stored().columns]));
    EXPECT_TRUE(std::isnan(image->elements()[image->stored().extent()]));
    EXPECT_FALSE(std::isnan(image->elements()[0]));
  }
}

TEST(Check, BoundGrowsWithK) {
  double last = 0;
  for (int64_t k : {1, 16, 256, 4096}) {
    const GemmProblem problem = *complete({.shape = {2, 2, k}});
    const double bound = bound_of(problem, operands_of(problem), 1, 1);
    EXPECT_GT(bound, last);
    last = bound;
  }
}

TEST(Check, SamplesEveryTile) {
  const dsl::GemmShape shape{1000, 700, 64};
  const Samples samples = choose_samples(shape, {128, 64}, 1 << 16, 7);
  EXPECT_FALSE(samples.whole);
  EXPECT_LT(samples.count(), shape.m * shape.n / 10);
  const auto covers = [](const std::vector<int64_t>& places, int64_t extent, int64_t tile) {
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
    EXPECT_EQ(places.front(), 0);
    EXPECT_EQ(places.back(), extent - 1);
    for (int64_t begin = 0; begin < extent; begin += tile) {
      const auto at = std::lower_bound(places.begin(), places.end(), begin);
      EXPECT_TRUE(at != places.end() && *at < std::min(begin + tile, extent)) << begin;
    }
  };
  covers(samples.rows, 1000, 128);
  covers(samples.columns, 700, 64);
  EXPECT_TRUE(choose_samples(shape, {128, 64}, int64_t{1} << 40, 7).whole);
}

TEST(Check, SampledCheckSeesASpoiltTileAndAnyNaN) {
  const GemmProblem problem = *complete({.shape = {256, 256, 32}});
  const Operands before = operands_of(problem);
  Operands after = right_result(problem, before);
  const CheckOptions few{.budget = 1 << 15};
  EXPECT_TRUE(check(problem, before, after, few).passed);
  EXPECT_LT(check(problem, before, after, few).checked, 256 * 256 / 8);
  Operands spoilt{after.a.copy(), after.b.copy(), after.c.copy()};
  for (int64_t row = 64; row < 80; ++row)
    for (int64_t column = 128; column < 144; ++column) spoilt.c.elements()[row * 256 + column] += 1;
  EXPECT_FALSE(check(problem, before, spoilt, few).passed);
  after.c.elements()[77 * 256 + 91] = NAN;
  EXPECT_FALSE(check(problem, before, after, few).passed);
}

TEST(Check, ReferenceIsTheProduct) {
  for (bool a_transposed : {false, true})
    for (bool b_transposed : {false, true}) {
      const GemmProblem problem =
          *complete({.shape = {70, 300, 67}, .layout = {a_transposed, b_transposed}});
      const Operands operands = operands_of(problem);
      const Samples samples{{0, 5, 69}, {1, 128, 299}, false};
      const ReferenceSums sums = reference_sums(problem, operands, samples);
      for (size_t r = 0; r < 3; ++r)
        for (size_t s = 0; s < 3; ++s) {
          double product = 0;
          double magnitude = 0;
          for (int64_t k = 0; k < 67; ++k) {
            const double a = test::element_of(operands.a, a_transposed, samples.rows[r], k);
            const double b = test::element_of(operands.b, b_transposed, k, samples.columns[s]);
            product += a * b;
            magnitude += std::abs(a * b);
          }
          EXPECT_NEAR(sums.product[r * 3 + s], product, 1e-12);
          EXPECT_NEAR(sums.magnitude[r * 3 + s], magnitude, 1e-12);
        }
    }
}

TEST(Check, NormsBoundTheSumOfMagnitudes) {
  for (bool transposed : {false, true}) {
    const GemmProblem problem =
        *complete({.shape = {70, 90, 33}, .layout = {transposed, transposed}});
    const Operands operands = operands_of(problem);
    const Samples all = choose_samples(problem.shape, {16, 16}, 1 << 30, 1);
    const ReferenceSums sums = reference_sums(problem, operands, all);
    const std::vector<double> a = row_norms_a(problem, operands);
    const std::vector<double> b = column_norms_b(problem, operands);
    for (size_t row = 0; row < 70; ++row)
      for (size_t column = 0; column < 90; ++column) {
        EXPECT_LE(sums.magnitude[row * 90 + column], a[row] * b[column]);
        EXPECT_GE(sums.magnitude[row * 90 + column], 0.3 * a[row] * b[column]);
      }
  }
}

TEST(Check, ComparesAllOfCWithCublas) {
  const GemmProblem problem = padded_problem(0.5F);
  const Operands before = operands_of(problem);
  const Operands after = right_result(problem, before);
  EXPECT_TRUE(compare_with_cublas(problem, before, after.c, after.c).bit_equal);
  Image other = after.c.copy();
  float& element = other.elements()[3 * problem.ldc + 4];
  element = std::nextafter(element, 100.0F);
  CublasComparison out = compare_with_cublas(problem, before, after.c, other);
  EXPECT_FALSE(out.bit_equal);
  EXPECT_EQ(out.different, 1);
  EXPECT_TRUE(out.passed);
  EXPECT_GT(out.max_difference, 0);
  element += static_cast<float>(10 * bound_of(problem, before, 3, 4));
  out = compare_with_cublas(problem, before, after.c, other);
  EXPECT_FALSE(out.passed);
  element = NAN;
  out = compare_with_cublas(problem, before, after.c, other);
  EXPECT_FALSE(out.passed);
  EXPECT_TRUE(std::isnan(out.max_difference));
  out = compare_with_cublas(problem, before, other, other);
  EXPECT_FALSE(out.bit_equal);
}

TEST(Check, EpilogueWithoutBetaReadsCAlways) {
  using dsl::Expression;
  using dsl::ExpressionKind;
  const Expression sum{.kind = ExpressionKind::add,
                       .children = {{.kind = ExpressionKind::acc}, {.kind = ExpressionKind::c}}};
  EXPECT_TRUE(reads_c(sum, 0));
  EXPECT_FALSE(reads_c(dsl::default_epilogue(), 0));
  EXPECT_TRUE(reads_c(dsl::default_epilogue(), 1));
  const GemmProblem problem = *complete({.shape = {9, 9, 9}});
  const Operands before = make_operands(problem, true, true);
  Operands after{before.a.copy(), before.b.copy(), before.c.copy()};
  GemmProblem with_beta = problem;
  with_beta.beta = 1;
  test::multiply_on_host(with_beta, before, after.c);
  EXPECT_TRUE(check_result(problem, sum, {16, 16}, before, after, {}).passed);
}

}  // namespace
}  // namespace tilec
