// Each pass against goldens: tests/ir/golden/PASS/*.tile hold a kernel, a line `// ----`, and the
// kernel that the pass makes of it. TILEC_RENEW=1 writes the second half anew.
#include <cstdlib>
#include <filesystem>

#include "tests/ir/support.h"

namespace tilec::test {
namespace {

namespace fs = std::filesystem;
const char* const kSplit = "// ----\n";

TEST(Passes, MatchTheirGoldens) {
  for (const passes::PassInfo& pass : passes::all()) {
    const fs::path folder = fs::path(TILEC_SOURCE_DIR) / "tests/ir/golden" / pass.name;
    int goldens = 0;
    ASSERT_TRUE(fs::is_directory(folder)) << pass.name << " has no goldens";
    for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
      ++goldens;
      const std::string text = read_text(file.path());
      const size_t split = text.find(kSplit);
      ASSERT_NE(split, std::string::npos) << file.path();
      const dsl::Result<ir::Kernel> before = ir::parse({file.path(), text.substr(0, split)});
      ASSERT_TRUE(before) << dsl::render(before.error());
      EXPECT_EQ(broken_rule(*before), "") << file.path();
      const std::string after = ir::print(pass.run(*before));
      if (std::getenv("TILEC_RENEW") != nullptr)
        std::ofstream(file.path()) << text.substr(0, split) << kSplit << after;
      EXPECT_EQ(text.substr(split + std::string(kSplit).size()), after) << file.path();
    }
    EXPECT_GT(goldens, 0) << pass.name;
  }
}

TEST(Passes, LeaveTheirInputAlone) {
  for (const std::string& spec : kinds()) {
    ir::Kernel kernel = built(spec);
    for (const passes::PassInfo& pass : passes::all()) {
      const ir::Kernel copy = kernel;
      ir::Kernel made = pass.run(kernel);
      EXPECT_EQ(copy, kernel) << pass.name << " changed its input";
      kernel = std::move(made);
    }
  }
}

TEST(Passes, VerifyAfterEach) {
  for (const std::string& spec : kinds()) {
    ir::Kernel kernel = built(spec);
    EXPECT_EQ(broken_rule(kernel), "") << spec;
    for (const passes::PassInfo& pass : passes::all()) {
      kernel = pass.run(kernel);
      const dsl::Result<void> verified = ir::verify(kernel);
      EXPECT_TRUE(verified) << spec << " after " << pass.name << ": "
                            << verified.error().diagnostics[0].message << "\n"
                            << ir::print(kernel);
    }
    EXPECT_TRUE(kernel.synchronised);
  }
}

// The language's rule for where an element lies in a slot, and tile IR's, are one.
TEST(Passes, KeepTheLayoutsOfTheSpec) {
  for (const char* layouts :
       {"", "shared plain", "shared transposed", "shared a swizzled b padded 8",
        "layout tt shared a plain swizzled b transposed swizzled",
        "vector shared 2 shared swizzled",
        "layout nt shared a transposed swizzled b plain padded 4"}) {
    const dsl::Spec spec =
        spec_of(std::string("tile 64x16x4 warp 32x16 thread 4x4 stages 2 ") + layouts);
    const ir::Kernel kernel =
        passes::build_kernel(spec, dsl::derive(spec, find_target("sm_90a")->limits));
    for (const bool operand_a : {true, false})
      for (int k = 0; k < spec.tile_k; ++k)
        for (int x = 0; x < (operand_a ? spec.tile.m : spec.tile.n); ++x)
          ASSERT_EQ(ir::shared_offset(kernel.at(kernel.find(operand_a ? "sa" : "sb")), k, x),
                    dsl::shared_offset(spec, operand_a, k, x))
              << layouts << " " << operand_a << " " << k << " " << x;
  }
}

TEST(Passes, AreFoundByName) {
  for (const passes::PassInfo& pass : passes::all()) EXPECT_EQ(passes::find(pass.name), &pass);
  EXPECT_EQ(passes::find("polish"), nullptr);
}

}  // namespace
}  // namespace tilec::test
