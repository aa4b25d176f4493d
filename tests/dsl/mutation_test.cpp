// Twenty thousand damaged specs: none may crash, and what is still accepted must be a whole spec.
#include <gtest/gtest.h>

#include "dsl/explain.h"
#include "dsl/format.h"
#include "dsl/space.h"
#include "tests/dsl/support.h"
#include "tests/support/random_spec.h"

namespace tilec::dsl {
namespace {

TEST(Mutation, NoDamagedSpecCrashesOrIsHalfAccepted) {
  std::vector<Limits> limits = test::all_limits();
  int accepted = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    std::string text = test::mutated(test::random_spec(seed % 500), seed);
    auto asts = parse({"<spec>", text});
    auto specs = read_specs({"<spec>", text}, limits, "sm_90a");
    if (!specs) {
      ASSERT_FALSE(specs.error().diagnostics.empty()) << text;
      ASSERT_FALSE(render(specs.error()).empty());
      for (const Diagnostic& found : specs.error().diagnostics) {
        ASSERT_LE(found.span.begin, found.span.end) << text;
        ASSERT_LE(found.span.end, text.size()) << text << " " << found.code;
      }
      if (asts && is_space(asts->front())) (void)expand(asts->front(), 1000);
      continue;
    }
    ASSERT_TRUE(asts) << text;
    ++accepted;
    for (const Spec& spec : *specs) {
      auto again = test::complete(format(spec));
      ASSERT_TRUE(again) << text << "\n" << format(spec);
      ASSERT_EQ(*again, spec) << text;
      ASSERT_FALSE(explain(spec, test::derived_of(spec), limits[0], GemmShape{100, 7, 3}).empty());
    }
  }
  EXPECT_GT(accepted, 500);
}

TEST(Mutation, NoiseIsRefused) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::string noise = test::mutated("", seed);
    for (uint64_t i = 0; i < 10; ++i) noise = test::mutated(noise, seed * 100 + i);
    (void)test::faults_of(noise);
  }
}

}  // namespace
}  // namespace tilec::dsl
