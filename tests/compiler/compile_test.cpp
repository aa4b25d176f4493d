// The whole road: what each stage leaves behind, on every target, and what it says when it cannot.
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "compiler/codegen/assemble.h"
#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/support.h"

namespace tilec::test {
namespace {

namespace fs = std::filesystem;
const char* const kMission = "tile 128x128 warp 64x32 thread 8x8 stages 2";

dsl::Spec spec_of(const std::string& text) {
  const dsl::Result<std::vector<dsl::Spec>> specs = specs_of(text);
  EXPECT_TRUE(specs) << dsl::render(specs.error());
  return specs ? (*specs)[0] : dsl::Spec{};
}

bool has_assembler() {
  const dsl::Result<Artifact> artifact = compile(spec_of("tile 8x8"), *find_target("sm_90a"), {});
  return artifact && !artifact->cubin.empty();
}

TEST(Compile, AssemblesForEveryTargetWithoutSpills) {
  if (!has_assembler()) GTEST_SKIP() << "no assembler";
  for (const Target& target : targets()) {
    const dsl::Spec spec = spec_of(std::string(kMission) + " target " + target.limits.target);
    const dsl::Result<Artifact> artifact = compile(spec, target, {.assemble_required = true});
    ASSERT_TRUE(artifact) << target.limits.target << dsl::render(artifact.error());
    EXPECT_GT(artifact->assembler.registers, 64) << target.limits.target;
    EXPECT_EQ(artifact->assembler.spill_store_bytes, 0) << target.limits.target;
    EXPECT_EQ(artifact->assembler.spill_load_bytes, 0) << target.limits.target;
    EXPECT_FALSE(artifact->cubin.empty());
  }
}

// The lowest PTX version that knows the target, so that old drivers take it.
TEST(Compile, AsksForTheLowestPtxVersion) {
  for (const Target& target : targets()) {
    const dsl::Spec spec = spec_of("tile 8x8 target " + target.limits.target);
    const dsl::Result<Artifact> artifact = compiled(spec);
    ASSERT_TRUE(artifact);
    const std::string version =
        std::to_string(target.ptx_version / 10) + "." + std::to_string(target.ptx_version % 10);
    EXPECT_NE(artifact->ptx.find(".version " + version), std::string::npos) << version;
    EXPECT_NE(artifact->ptx.find(".target " + target.limits.target), std::string::npos);
  }
}

// They need not agree: of one kernel nvJitLink 13.0 made 149 registers, ptxas 13.0 made 108.
TEST(Compile, ReadsBothAssemblersWords) {
  const dsl::Result<Artifact> artifact = compiled(spec_of(kMission));
  ASSERT_TRUE(artifact);
  const auto one = codegen::assemble_with_nvjitlink(artifact->ptx, "sm_90a");
  const auto two = codegen::assemble_with_ptxas(artifact->ptx, "sm_90a");
  if (!one || !two) GTEST_SKIP() << "not both assemblers";
  EXPECT_GT(one->report.registers, 64);
  EXPECT_GT(two->report.registers, 64);
  EXPECT_EQ(one->report.tool, "nvJitLink");
  EXPECT_EQ(two->report.tool, "ptxas");
}

TEST(Compile, SaysRegistersOfAKernelSeenBefore) {
  if (!has_assembler()) GTEST_SKIP() << "no assembler";
  for (int time = 0; time < 2; ++time) {
    const dsl::Result<Artifact> artifact = compile(spec_of("tile 8x8"), *find_target("sm_90a"), {});
    ASSERT_TRUE(artifact);
    EXPECT_GT(artifact->assembler.registers, 0);
  }
}

TEST(Compile, ReadsSpillsAndStack) {
  const AssemblerReport report = codegen::read_assembler_log(
      "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
      "    16 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 16 bytes cumulative stack size\n");
  EXPECT_EQ(report.registers, 168);
  EXPECT_EQ(report.stack_bytes, 16);
  EXPECT_EQ(report.spill_store_bytes, 20);
  EXPECT_EQ(report.spill_load_bytes, 24);
}

TEST(Compile, KeepsThePtxThatAnAssemblerRefuses) {
  const auto failed =
      codegen::assemble(".version 8.0\n.target sm_90a\nnonsense\n", "sm_90a", Assembler::automatic);
  ASSERT_FALSE(failed);
  const dsl::Diagnostic& why = failed.error().diagnostics[0];
  if (why.code == "no-assembler") GTEST_SKIP() << why.message;
  EXPECT_EQ(failed.error().road, dsl::Road::machine);
  EXPECT_EQ(why.code, "assembler-failed");
  std::smatch file;
  ASSERT_TRUE(std::regex_search(why.help, file, std::regex("/\\S+\\.ptx")));
  EXPECT_TRUE(fs::exists(file.str()));
  fs::remove(file.str());
}

TEST(Compile, DumpsThePassesAskedFor) {
  const dsl::Result<Artifact> artifact =
      compile(spec_of(std::string(kMission) + " sass on"), *find_target("sm_90a"),
              {.dump_after = {"all"}, .assembler = Assembler::none});
  ASSERT_TRUE(artifact);
  ASSERT_EQ(artifact->dumps.size(), passes::all().size() + 1);
  EXPECT_EQ(artifact->dumps[0].pass, "build_kernel");
  for (size_t i = 0; i < passes::all().size(); ++i)
    EXPECT_EQ(artifact->dumps[i + 1].pass, passes::all()[i].name) << "compile() and all() differ";
  EXPECT_EQ(artifact->dumps.back().text, artifact->tile);
}

// Each `.loc` of the PTX names the line of the tile op that the instruction came from.
TEST(Compile, PointsAtTileOps) {
  const dsl::Result<Artifact> artifact = compiled(spec_of(kMission));
  ASSERT_TRUE(artifact);
  const dsl::Source tile{"gemm.tile", artifact->tile};
  struct Row {
    std::regex instruction;
    std::string op;
  };
  const Row rows[] = {{std::regex("^\\s+fma\\.rn\\.f32"), "outer|store"},
                      {std::regex("^\\s+ld\\.shared"), "fragment"},
                      {std::regex("^\\s+st\\.shared"), "put"},
                      {std::regex("^\\s+bar(rier)?\\."), "barrier"},
                      {std::regex("^\\s+st\\.global"), "store"}};
  std::string op;
  int seen = 0;
  std::istringstream ptx(artifact->ptx);
  for (std::string line; std::getline(ptx, line);) {
    std::smatch loc;
    if (std::regex_search(line, loc, std::regex("^\\s*\\.loc\\s+\\d+ (\\d+)")))
      op = std::string(tile.line(std::stoi(loc[1])));
    for (const Row& row : rows) {
      if (!std::regex_search(line, row.instruction)) continue;
      EXPECT_TRUE(std::regex_search(op, std::regex(row.op))) << line << " at " << op;
      ++seen;
    }
  }
  EXPECT_GT(seen, 500);
}

// Tiles over the border are moved back inside: their blocks copy as others do, and what they share
// with others is stored once (the machine would call it a race). What is lower than a tile is
// copied element by element.
TEST(Compile, MovesEdgeTilesInside) {
  const dsl::Result<Artifact> artifact =
      compiled(spec_of("tile 32x32x8 warp 32x32 thread 8x4 stages 3 epilogue acc"));
  ASSERT_TRUE(artifact);
  const auto instructions = [&](int64_t m, int64_t n) {
    const std::unique_ptr<Device> device = open_cpu({.counters = true, .threads = 1});
    const dsl::Result<RunResult> result = run_gemm(*device, *artifact, {.shape = {m, n, 64}}, {});
    EXPECT_TRUE(result && result->check->passed);
    return result ? static_cast<double>(result->counters->warp_instructions) : 0;
  };
  const double whole = instructions(64, 64);
  EXPECT_NEAR(instructions(40, 44), whole, 0.01 * whole);
  EXPECT_GT(instructions(20, 44), 0.6 * whole);  // two blocks in place of four
}

// C's rows may begin where its vectors may not: then the stores are guarded, and the copies are
// not.
TEST(Compile, CopiesUnguardedWhereOnlyCIsUnaligned) {
  const dsl::Result<Artifact> artifact =
      compiled(spec_of("tile 32x32x8 warp 32x32 thread 8x4 stages 3 layout nt"));
  ASSERT_TRUE(artifact);
  const auto instructions = [&](int64_t n) {
    const std::unique_ptr<Device> device = open_cpu({.counters = true, .threads = 1});
    GemmProblem problem{.shape = {64, n, 256}};
    problem.layout = artifact->spec.layout;
    const dsl::Result<RunResult> result = run_gemm(*device, *artifact, problem, {});
    EXPECT_TRUE(result && result->check->passed);
    return result ? static_cast<double>(result->counters->warp_instructions) : 0;
  };
  const double aligned = instructions(64);
  EXPECT_NEAR(instructions(61), aligned, 0.1 * aligned);
}

TEST(Compile, MovesEdgeTilesInsideForEveryDeal) {
  const char* specs[] = {
      "tile 32x32x8 warp 32x32 thread 8x4 stages 3 split_k 3",
      "tile 32x32x8 warp 32x32 thread 8x4 stages 3 cluster 1x1x3",
      "tile 32x64x8 warp 32x32 thread 4x8 stages 2 raster swizzle 2 layout tt",
      "tile 16x32x8 warp 16x32 thread 4x4 stages 2 persistent raster columns",
      "tile 16x32x8 thread 4x4 copy none layout tn epilogue acc+c",
      "tile 32x32x8 warp 32x32 thread 4x8 vector 1 layout nt",
  };
  for (const char* text : specs) {
    const dsl::Result<Artifact> artifact = compiled(spec_of(text));
    ASSERT_TRUE(artifact) << text;
    for (const auto& [m, n] : {std::pair{40, 76}, {33, 65}, {70, 100}, {31, 97}, {95, 30}})
      for (const float beta : {0.0F, 1.5F}) {
        GemmProblem problem{.shape = {m, n, 20}};
        problem.layout = artifact->spec.layout;
        problem.beta = beta;
        EXPECT_EQ(wrong_with(*cpu(), *artifact, problem), "") << text << " " << describe(problem);
      }
  }
}

// From sm_90 on the sum of the parts may start early, and waits by itself before it reads them.
TEST(Compile, LetsTheSumStartEarly) {
  for (const auto& [target, early] : {std::pair{"sm_90a", true}, {"sm_80", false}}) {
    const dsl::Result<Artifact> artifact =
        compiled(spec_of(std::string("tile 32x32 thread 4x4 split_k 2 target ") + target));
    ASSERT_TRUE(artifact);
    ASSERT_EQ(artifact->entries.size(), 2u);
    EXPECT_FALSE(artifact->entries[0].awaits_before);
    EXPECT_EQ(artifact->entries[1].awaits_before, early);
    const std::string& ptx = artifact->ptx;
    const std::string sum = ptx.substr(ptx.find(".entry " + artifact->entries[1].name));
    EXPECT_EQ(ptx.find("griddepcontrol.launch_dependents") != std::string::npos, early);
    EXPECT_EQ(sum.find("griddepcontrol.launch_dependents"), std::string::npos);
    EXPECT_EQ(sum.find("griddepcontrol.wait") != std::string::npos, early);
    if (early) EXPECT_LT(sum.find("griddepcontrol.wait"), sum.find("ld.global"));
  }
}

// The kernel's name is the entry's, and two compilations give the same text.
TEST(Compile, IsDeterministic) {
  const dsl::Spec spec = spec_of("kernel chosen { tile 64x64 thread 4x4 stages 2 }");
  const dsl::Result<Artifact> one = compiled(spec);
  const dsl::Result<Artifact> two = compiled(spec);
  ASSERT_TRUE(one);
  ASSERT_TRUE(two);
  EXPECT_EQ(one->ptx, two->ptx);
  EXPECT_NE(one->ptx.find(".entry chosen("), std::string::npos);
}

// A small kernel's LLVM IR, whole, as it stands after optimisation. TILEC_RENEW=1 renews it.
TEST(Compile, MatchesTheLlvmGolden) {
  const fs::path path = fs::path(TILEC_SOURCE_DIR) / "tests/compiler/golden/direct.ll";
  const dsl::Result<Artifact> artifact =
      compiled(spec_of("tile 2x2x1 copy none edges exact epilogue acc"));
  ASSERT_TRUE(artifact);
  if (std::getenv("TILEC_RENEW") != nullptr) std::ofstream(path) << artifact->llvm;
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(artifact->llvm, golden);
}

}  // namespace
}  // namespace tilec::test
