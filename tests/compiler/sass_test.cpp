// The stage behind the assembler, from spec to cubin: every example and two large kernels in all
// layouts, on every target that it knows. Skipped where there is no assembler.
#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/sass/cubin.h"
#include "compiler/sass/disassemble.h"
#include "tests/compiler/support.h"

namespace tilec::test {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What is asked for in the examples, each with `sass on` in place of what it says of that.
std::vector<dsl::Spec> example_specs(const std::string& target) {
  std::vector<dsl::Spec> out;
  std::set<fs::path> files;
  for (const fs::directory_entry& file :
       fs::directory_iterator(fs::path(TILEC_SOURCE_DIR) / "examples"))
    if (file.path().extension() == ".tile") files.insert(file.path());
  for (const fs::path& path : files) {
    const dsl::Result<std::vector<dsl::Spec>> specs =
        dsl::read_specs({path.filename(), read_text(path)}, all_limits(), target);
    if (!specs) continue;  // an example for another machine
    out.insert(out.end(), specs->begin(), specs->end());
  }
  return out;
}

std::vector<dsl::Spec> large_specs(const std::string& target) {
  std::vector<dsl::Spec> out;
  for (const char* tile : {"tile 128x256x8 warp 64x64 thread 8x16 stages 4",
                           "tile 128x256x16 warp 64x64 thread 8x16 stages 3"})
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      const auto specs = specs_of(fmt::format("{} layout {} target {}", tile, layout, target));
      EXPECT_TRUE(specs);
      if (specs) out.insert(out.end(), specs->begin(), specs->end());
    }
  return out;
}

bool has_assembler() {
  static const bool has = [] {
    const dsl::Spec spec = specs_of("tile 32x32x8 thread 2x2").value()[0];
    const auto artifact = compile(spec, *find_target(spec.target), {});
    return artifact && !artifact->cubin.empty();
  }();
  return has;
}

void expect_true_cubin(const dsl::Spec& spec, const Artifact& artifact) {
  const dsl::Result<sass::Cubin> before = sass::read_cubin(artifact.sass.assembled);
  const dsl::Result<sass::Cubin> after = sass::read_cubin(artifact.cubin);
  ASSERT_TRUE(before && after);
  ASSERT_TRUE(before->find(spec.name) != nullptr && after->find(spec.name) != nullptr);
  const sass::Kernel& old = *before->find(spec.name);
  const sass::Kernel& now = *after->find(spec.name);
  EXPECT_TRUE(old.words != now.words);
  EXPECT_EQ(old.name, now.name);
  EXPECT_EQ(old.shared_bytes, now.shared_bytes);
  EXPECT_EQ(old.threads_per_block, now.threads_per_block);
  EXPECT_EQ(now.registers, artifact.assembler.registers);
  EXPECT_GE(now.registers, old.registers);
  EXPECT_LE(now.registers, 255);
  // No block an SM less than before.
  dsl::Derived derived = artifact.derived;
  derived.registers_expected = old.registers;
  const int blocks = dsl::residency(derived, spec, find_target(spec.target)->limits).blocks();
  derived.registers_expected = now.registers;
  EXPECT_EQ(dsl::residency(derived, spec, find_target(spec.target)->limits).blocks(), blocks);
  if (const std::optional<std::string> tool = sass::find_nvdisasm()) {
    const dsl::Result<sass::Disassembly> text = sass::disassemble(artifact.cubin, *tool);
    EXPECT_TRUE(text) << dsl::render(text.error());
  }
}

class SassStage : public testing::TestWithParam<std::string> {};

TEST_P(SassStage, RewritesOrSaysWhyNot) {
  if (!has_assembler()) GTEST_SKIP() << "no assembler here";
  std::vector<dsl::Spec> specs = example_specs(GetParam());
  std::ranges::copy(large_specs(GetParam()), std::back_inserter(specs));
  EXPECT_GT(specs.size(), 12U);
  int rewritten = 0;
  for (dsl::Spec& spec : specs) {
    spec.sass = true;
    const dsl::Result<Artifact> artifact = compile(spec, *find_target(spec.target), {});
    ASSERT_TRUE(artifact) << spec.name << dsl::render(artifact.error());
    const SassReport& sass = artifact->sass;
    SCOPED_TRACE(fmt::format("{} {} {}", spec.name, spec.tile.m, spec.tile.n));
    EXPECT_EQ(sass.rewritten, !sass.assembled.empty());
    EXPECT_EQ(sass.rewritten, sass.why_not.empty()) << sass.why_not;
    // A pass that makes what cannot be proved is a fault of ours, though no wrong kernel comes of
    // it. An instruction outside of the loop that may know where it stands is no such fault.
    if (sass.why_not.find("may depend on where it stands") == std::string::npos)
      EXPECT_EQ(sass.why_not.find("not proved"), std::string::npos) << sass.why_not;
    EXPECT_EQ(sass.why_not.find('\n'), std::string::npos) << sass.why_not;
    if (!sass.rewritten) continue;
    ++rewritten;
    expect_true_cubin(spec, *artifact);
  }
  RecordProperty("rewritten", rewritten);
  EXPECT_GT(rewritten, 3) << "of " << specs.size();
}

INSTANTIATE_TEST_SUITE_P(Targets, SassStage, testing::Values("sm_80", "sm_86", "sm_89", "sm_90a"),
                         [](const auto& info) { return info.param; });

TEST(SassStage, IsQuick) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "times mean nothing here";
#endif
#endif
  if (!has_assembler()) GTEST_SKIP() << "no assembler here";
  dsl::Spec spec = specs_of("tile 128x128 warp 64x32 thread 8x8 stages 2").value()[0];
  spec.sass = true;
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    const dsl::Result<Artifact> artifact = compile(spec, *find_target(spec.target), {});
    ASSERT_TRUE(artifact);
    double ms = 0;
    for (const StageTime& time : artifact->times)
      for (const char* part : {"rewrite_loop", "verify_edit", "replace_code"})
        if (time.stage == part) ms += time.ms;
    EXPECT_GT(ms, 0);
    least = std::min(least, ms);
  }
  EXPECT_LT(least, 60.0);  // ms
}

TEST(SassStage, DumpsEachOfItsPasses) {
  if (!has_assembler()) GTEST_SKIP() << "no assembler here";
  dsl::Spec spec =
      specs_of("tile 128x256x8 warp 64x64 thread 8x16 stages 4 target sm_90a").value()[0];
  spec.sass = true;
  CompileOptions options;
  for (const std::string_view pass : sass_passes()) options.dump_after.emplace_back(pass);
  const dsl::Result<Artifact> artifact = compile(spec, *find_target(spec.target), options);
  ASSERT_TRUE(artifact);
  ASSERT_TRUE(artifact->sass.rewritten) << artifact->sass.why_not;
  ASSERT_EQ(artifact->dumps.size(), sass_passes().size());
  for (size_t i = 0; i < artifact->dumps.size(); ++i) {
    EXPECT_EQ(artifact->dumps[i].pass, sass_passes()[i]);
    EXPECT_NE(artifact->dumps[i].text.find("FFMA"), std::string::npos);
  }
  EXPECT_NE(artifact->dumps[1].text, artifact->dumps[2].text);
  EXPECT_NE(artifact->dumps[2].text, artifact->dumps[3].text);
}

}  // namespace
}  // namespace tilec::test
