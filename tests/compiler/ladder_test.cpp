// Every rung of the ladder, on the CPU: shapes that no tile divides, all layouts, leading
// dimensions larger than the row, and every kind of alpha and beta. Where beta is 0, C starts as
// NaN.
#include <filesystem>
#include <set>

#include "tests/compiler/support.h"

namespace tilec::test {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The clauses of each numbered example, without their layout.
std::vector<std::string> rungs() {
  std::set<fs::path> files;
  for (const fs::directory_entry& file :
       fs::directory_iterator(fs::path(TILEC_SOURCE_DIR) / "examples"))
    if (file.path().extension() == ".tile" && std::isdigit(file.path().filename().string()[0]))
      files.insert(file.path());
  return {files.begin(), files.end()};
}

const dsl::GemmShape kShapes[] = {{256, 256, 256}, {129, 127, 65}, {1, 1, 1},
                                  {33, 257, 1},    {64, 64, 0},    {0, 64, 64}};

class Rung : public testing::TestWithParam<std::string> {};

void check_rung(const std::string& path, const char* layout) {
  const dsl::Result<std::vector<dsl::Spec>> specs =
      specs_of(read_text(path) + "\nlayout " + layout + "\n");
  ASSERT_TRUE(specs) << dsl::render(specs.error());
  const dsl::Result<Artifact> artifact = compiled((*specs)[0]);
  ASSERT_TRUE(artifact) << dsl::render(artifact.error());
  const std::unique_ptr<Device> device = cpu();
  for (const dsl::GemmShape& shape : kShapes) {
    for (float alpha : {0.0F, 1.0F, -0.5F}) {
      for (float beta : {0.0F, 1.0F, -0.5F}) {
        const bool large = shape.m * shape.n * shape.k > 1 << 22;
        if (large && (alpha == 0 || beta == 1)) continue;  // the small shapes have them
        for (int padding : {0, 4, 3}) {
          if (padding == 3 && (large || alpha != 1)) continue;
          GemmProblem problem{.shape = shape, .layout = artifact->spec.layout};
          problem.lda = (problem.layout.a_transposed ? shape.m : shape.k) + padding;
          problem.ldb = (problem.layout.b_transposed ? shape.k : shape.n) + padding;
          problem.ldc = shape.n + padding;
          problem.alpha = alpha;
          problem.beta = beta;
          EXPECT_EQ(wrong_with(*device, *artifact, problem), "") << layout << describe(problem);
        }
      }
    }
  }
}

TEST_P(Rung, IsRightInLayoutNn) {
  check_rung(GetParam(), "nn");
}
TEST_P(Rung, IsRightInLayoutNt) {
  check_rung(GetParam(), "nt");
}
TEST_P(Rung, IsRightInLayoutTn) {
  check_rung(GetParam(), "tn");
}
TEST_P(Rung, IsRightInLayoutTt) {
  check_rung(GetParam(), "tt");
}

INSTANTIATE_TEST_SUITE_P(Ladder, Rung, testing::ValuesIn(rungs()),
                         [](const auto& info) { return fs::path(info.param).stem().string(); });

TEST(Ladder, HasItsRungs) {
  EXPECT_GE(rungs().size(), 11U);
}

}  // namespace
}  // namespace tilec::test
