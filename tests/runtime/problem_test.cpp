#include "runtime/problem.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilec {
namespace {

std::string code_of(const auto& result) {
  return result ? "fine" : result.error().diagnostics.front().code;
}

GemmProblem of_shape(int64_t m, int64_t n, int64_t k) {
  return {.shape = {m, n, k}};
}

TEST(Problem, FillsLeadingDimensions) {
  const struct {
    dsl::OperandLayout layout;
    int64_t lda, ldb;
  } rows[] = {
      {{false, false}, 5, 4}, {{false, true}, 5, 5}, {{true, false}, 3, 4}, {{true, true}, 3, 5}};
  for (const auto& row : rows) {
    GemmProblem problem = of_shape(3, 4, 5);
    problem.layout = row.layout;
    const Result<GemmProblem> out = complete(problem);
    ASSERT_TRUE(out) << dsl::render(out.error());
    EXPECT_EQ(out->lda, row.lda);
    EXPECT_EQ(out->ldb, row.ldb);
    EXPECT_EQ(out->ldc, 4);
  }
}

TEST(Problem, EmptyRowsHaveALeadingDimensionOfOne) {
  const Result<GemmProblem> out = complete(of_shape(4, 0, 0));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->lda, 1);
  EXPECT_EQ(out->ldb, 1);
  EXPECT_EQ(out->ldc, 1);
  EXPECT_EQ(stored(*out, Operand::a).extent(), 0);
}

TEST(Problem, RefusesWhatCannotBe) {
  const int64_t too_large = int64_t{1} << 31;
  GemmProblem short_row = of_shape(3, 4, 5);
  short_row.lda = 4;
  GemmProblem negative_ld = of_shape(3, 4, 5);
  negative_ld.ldc = -8;
  GemmProblem far = of_shape(3, 4, 5);
  far.offset_b = 64;
  GemmProblem before = of_shape(3, 4, 5);
  before.offset_c = -1;
  GemmProblem nan = of_shape(3, 4, 5);
  nan.alpha = NAN;
  const struct {
    GemmProblem problem;
    const char* code;
  } rows[] = {{of_shape(-1, 4, 5), "bad-shape"},
              {of_shape(3, too_large, 5), "shape-too-large"},
              {of_shape(too_large - 1, 4, 5), "fine"},
              {short_row, "leading-dimension-too-small"},
              {negative_ld, "leading-dimension-too-small"},
              {far, "bad-offset"},
              {before, "bad-offset"},
              {nan, "bad-scalar"}};
  for (const auto& row : rows) EXPECT_EQ(code_of(complete(row.problem)), row.code);
}

TEST(Problem, NamesTheOperandAndTheNumbers) {
  GemmProblem problem = of_shape(3, 4, 5);
  problem.ldb = 2;
  const Result<GemmProblem> out = complete(problem);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().diagnostics.front().message,
            "leading dimension of B is 2: its stored rows have 4 elements");
}

Artifact exact_artifact() {
  Artifact artifact;
  artifact.spec.tile = {64, 32};
  artifact.spec.tile_k = 8;
  artifact.spec.edges = dsl::Edges::exact;
  artifact.derived.copy_a.vector = 4;
  artifact.derived.copy_b.vector = 2;
  artifact.derived.vector_c = 4;
  return artifact;
}

TEST(Problem, ExactRefusesWhatTheTileDoesNotDivide) {
  const struct {
    int64_t m, n, k;
    const char* code;
  } rows[] = {{128, 64, 16, "fine"},
              {129, 64, 16, "shape-not-tiled"},
              {128, 48, 16, "shape-not-tiled"},
              {128, 64, 12, "shape-not-tiled"},
              {0, 64, 16, "fine"},
              {128, 64, 0, "fine"}};
  for (const auto& row : rows) {
    const GemmProblem problem = *complete(of_shape(row.m, row.n, row.k));
    EXPECT_EQ(code_of(accepts(exact_artifact(), problem)), row.code);
    Artifact guarded = exact_artifact();
    guarded.spec.edges = dsl::Edges::guard;
    EXPECT_EQ(code_of(accepts(guarded, problem)), "fine");
  }
}

TEST(Problem, ExactRefusesWhatIsNotAlignedAndNamesTheOperand) {
  GemmProblem a = *complete(of_shape(64, 32, 8));
  a.offset_a = 2;
  GemmProblem b = *complete(of_shape(64, 32, 8));
  b.ldb = 33;
  GemmProblem fine_b = b;
  fine_b.ldb = 34;  // B's vectors are two wide
  GemmProblem c = *complete(of_shape(64, 32, 8));
  c.ldc = 34;
  const auto letter = [](const GemmProblem& problem) -> std::string {
    const Result<void> out = accepts(exact_artifact(), problem);
    if (out) return "fine";
    EXPECT_EQ(out.error().diagnostics.front().code, "operand-not-aligned");
    return out.error().diagnostics.front().message.substr(13, 2);
  };
  EXPECT_EQ(letter(a), "A ");
  EXPECT_EQ(letter(b), "B ");
  EXPECT_EQ(letter(fine_b), "fine");
  EXPECT_EQ(letter(c), "C ");
}

TEST(Problem, RefusesMoreBlocksThanAGridHas) {
  Artifact artifact;
  artifact.spec.tile = {1, 1};
  EXPECT_EQ(code_of(accepts(artifact, *complete(of_shape(65536, 65536, 1)))), "grid-over-limit");
}

TEST(Problem, RefusesAKernelOfAnotherLayout) {
  GemmProblem problem = *complete(of_shape(64, 32, 8));
  problem.layout.b_transposed = true;
  EXPECT_EQ(code_of(accepts(exact_artifact(), problem)), "layout-differs");
}

TEST(Problem, VectorsFollowBaseAndLeadingDimension) {
  const struct {
    Stored stored;
    int vector;
  } rows[] = {{{8, 8, 8, 0}, 4}, {{8, 8, 10, 0}, 2}, {{8, 8, 9, 0}, 1}, {{8, 8, 8, 2}, 2},
              {{8, 8, 8, 1}, 1}, {{8, 8, 8, 4}, 4},  {{1, 8, 9, 0}, 4}, {{0, 8, 9, 0}, 4}};
  for (const auto& row : rows) EXPECT_EQ(allowed_vector(row.stored, 4), row.vector);
}

TEST(Problem, NarrowsForAAndBOnly) {
  dsl::Spec spec;
  spec.vector_global = 4;
  GemmProblem problem = *complete(of_shape(64, 32, 8));
  EXPECT_EQ(narrowed(spec, problem).vector_global, 4);
  problem.ldc = 33;
  EXPECT_EQ(narrowed(spec, problem).vector_global, 4);
  problem.ldb = 34;
  EXPECT_EQ(narrowed(spec, problem).vector_global, 2);
  problem.offset_a = 1;
  EXPECT_EQ(narrowed(spec, problem).vector_global, 1);
  spec.edges = dsl::Edges::exact;
  EXPECT_EQ(narrowed(spec, problem), spec);
}

}  // namespace
}  // namespace tilec
