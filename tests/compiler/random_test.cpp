// Random specs at random shapes: each is refused with a diagnostic, or right on the CPU.
// TILEC_SEED sets the first seed, TILEC_COUNT how many.
#include <cstdlib>
#include <random>

#include "tests/compiler/support.h"
#include "tests/support/random_spec.h"

namespace tilec::test {
namespace {

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Round the tile: 0, 1, one less, the tile, one more, two tiles and some.
int64_t extent_round(std::mt19937_64& random, int64_t tile) {
  const int64_t choices[] = {0, 1, tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 3, 37};
  return choices[random() % std::size(choices)];
}

GemmProblem random_problem(std::mt19937_64& random, const dsl::Spec& spec) {
  GemmProblem out{.layout = spec.layout};
  const bool exact = spec.edges == dsl::Edges::exact;
  const auto extent = [&](int64_t tile) {
    return exact ? tile * static_cast<int64_t>(random() % 3) : extent_round(random, tile);
  };
  out.shape = {extent(spec.tile.m), extent(spec.tile.n), extent(spec.tile_k)};
  if (!exact && random() % 2 == 0) out.shape.k = static_cast<int64_t>(random() % 100);
  const int64_t paddings[] = {0, 0, 4, 1, 7};
  const auto padding = [&] { return exact ? 0 : paddings[random() % std::size(paddings)]; };
  const auto ld = [&](bool turned, int64_t rows, int64_t columns) {
    return (turned ? rows : columns) + padding();
  };
  out.lda = ld(spec.layout.a_transposed, out.shape.m, out.shape.k);
  out.ldb = ld(spec.layout.b_transposed, out.shape.k, out.shape.n);
  out.ldc = ld(false, out.shape.m, out.shape.n);
  const float scalars[] = {0.0F, 1.0F, -0.5F, 2.25F};
  out.alpha = scalars[random() % 4];
  out.beta = scalars[random() % 4];
  if (!exact && random() % 3 == 0) out.offset_a = static_cast<int64_t>(random() % 4);
  if (!exact && random() % 3 == 0) out.offset_c = static_cast<int64_t>(random() % 4);
  out.seed = random();
  return out;
}

TEST(RandomSpecs, AreRefusedOrRight) {
  const uint64_t first = setting("TILEC_SEED", 1);
  const uint64_t count = setting("TILEC_COUNT", 320);
  const std::unique_ptr<Device> device = cpu();
  int refused = 0;
  int right = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string text = random_spec(seed);
    const dsl::Result<std::vector<dsl::Spec>> specs = specs_of(text);
    if (!specs) {
      EXPECT_FALSE(specs.error().diagnostics.empty()) << text;
      ++refused;
      continue;
    }
    const dsl::Result<Artifact> artifact = compiled((*specs)[0]);
    ASSERT_TRUE(artifact) << "seed " << seed << ": " << text << dsl::render(artifact.error());
    std::mt19937_64 random(seed);
    for (int i = 0; i < 3; ++i) {
      const GemmProblem problem = random_problem(random, artifact->spec);
      ASSERT_EQ(wrong_with(*device, *artifact, problem), "")
          << "seed " << seed << ": " << text << "\n"
          << describe(problem);
    }
    ++right;
  }
  EXPECT_GE(right, static_cast<int>(count / 4)) << "too few legal specs to mean much";
  EXPECT_GE(refused, static_cast<int>(count / 8)) << "too few illegal ones";
  RecordProperty("right", right);
  RecordProperty("refused", refused);
}

}  // namespace
}  // namespace tilec::test
