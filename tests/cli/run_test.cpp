// Running, reporting and checking as a user does, on the CPU; and what is said on a machine where
// something is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/tilec_process.h"

namespace tilec {
namespace {

using nlohmann::json;

const Surroundings kNoCuda = nothing_installed();

std::vector<std::string> run_words(const std::string& spec, const std::string& shape,
                                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"run", spec, "--shape", shape, "--device", "cpu"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Run, PassesItsCheckOnTheCpu) {
  Outcome outcome = tilec(run_words(kSmallSpec, kSmallShape));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("passed"), std::string::npos) << outcome.out;
}

TEST(Run, TakesEveryOptionOfTheProblem) {
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--alpha", "-0.5", "--beta", "1"},
           {"--beta=-0.5"},
           {"--lda", "11", "--ldb", "40", "--ldc", "37"},
           {"--offset-a", "1", "--offset-b", "2", "--offset-c", "3"},
           {"--seed", "7"},
           {"--no-bench"},
           {"--no-cublas"},
           {"--target", "sm_80"}}) {
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      // Leading dimensions are those of the layout nn; others get room for any.
      std::vector<std::string> words = more;
      if (more[0] == "--lda" && std::string(layout) != "nn") words = {"--lda", "40", "--ldb", "41"};
      Outcome outcome = tilec(run_words(kSmallSpec + " layout " + layout, kSmallShape, words));
      EXPECT_EQ(outcome.code, 0) << more[0] << " " << layout << "\n" << outcome.err << outcome.out;
    }
  }
}

TEST(Run, EmptyAndTinyShapes) {
  for (const char* shape : {"1x1x1", "64x64x0", "0x64x64", "64x0x64", "0x0x0", "16"}) {
    Outcome outcome = tilec(run_words(kSmallSpec, shape));
    EXPECT_EQ(outcome.code, 0) << shape << "\n" << outcome.err << outcome.out;
  }
}

TEST(Run, ShapesThatAKernelRefuses) {
  Outcome exact = tilec(run_words(kSmallSpec + " edges exact", kSmallShape));
  EXPECT_EQ(exact.code, 1) << exact.err;
  EXPECT_EQ(exact.out, "");
  Outcome narrow = tilec(run_words(kSmallSpec, kSmallShape, {"--lda", "8"}));
  EXPECT_EQ(narrow.code, 1) << narrow.err;
  EXPECT_NE(narrow.err.find('A'), std::string::npos) << narrow.err;
  Outcome far = tilec(run_words(kSmallSpec, kSmallShape, {"--offset-b", "-1"}));
  EXPECT_EQ(far.code, 1) << far.err;
}

TEST(Run, SaysWhichDeviceItTook) {
  Outcome outcome = tilec({"run", kSmallSpec, "--shape", kSmallShape, "--no-bench"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("running on the ")) << outcome.err;
}

TEST(Run, EachKernelOfAFileInTurn) {
  Folder folder;
  folder.write("two.tile", "kernel one { tile 16x16 } kernel two { tile 32x32x8 thread 2x2 }");
  Outcome outcome = tilec(run_words(folder.path("two.tile"), kSmallShape));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  size_t one = outcome.out.find("kernel     one\n");
  EXPECT_NE(one, std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("kernel     two\n", one), std::string::npos) << outcome.out;
}

TEST(Run, Json) {
  Outcome outcome = tilec(run_words(kSmallSpec, kSmallShape, {"--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  json result = json::parse(outcome.out);
  EXPECT_EQ(result["schema"], "tilec.run/1");
  EXPECT_EQ(result["device"], "cpu");
  EXPECT_EQ(result["shape"], kSmallShape);
  EXPECT_EQ(result["check"]["passed"], true);
  EXPECT_TRUE(result["check"].contains("bit_equal"));
  EXPECT_LE(result["check"]["max_error"].get<double>(), 1);
  // 32x32 tiles of 16x16 threads of 2x2: 33x31 takes 2x1 tiles of 8 warps; each thread makes 4
  // multiply-adds for each k of two slices.
  EXPECT_EQ(result["counters"]["fma"].get<int64_t>() % 8, 0);
  for (const char* name : {"warp_instructions", "fma_share", "sectors_per_request",
                           "wavefronts_per_shared_load", "bank_conflicts"}) {
    EXPECT_TRUE(result["counters"][name].is_number()) << name;
  }
}

TEST(Run, TheSameSeedGivesTheSameResult) {
  std::vector<std::string> words = run_words(kSmallSpec, kSmallShape, {"--json"});
  EXPECT_EQ(tilec(words).out, tilec(words).out);
}

TEST(Explain, Json) {
  Outcome outcome = tilec({"explain", kMainSpec, "--json", "--shape", "512x512x64"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  json result = json::parse(outcome.out);
  EXPECT_EQ(result["schema"], "tilec.explain/1");
  EXPECT_EQ(result["threads"], 256);
  EXPECT_EQ(result["blocks"], 16);
  EXPECT_EQ(result["slices"], 8);
  EXPECT_NEAR(result["ideal_share"].get<double>(), 64.0 / 68, 1e-12);
}

TEST(Report, Json) {
  Outcome outcome = tilec({"report", kMainSpec, "--json", "--shape", "512x512x512"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  json result = json::parse(outcome.out);
  for (const char* key :
       {"schema", "spec", "target", "registers", "spills", "shared_bytes", "threads"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
  if (!result.contains("steady_loop")) GTEST_SKIP() << "no assembler here: " << outcome.err;
  EXPECT_GE(result["steady_loop"]["fma_share"].get<double>(), 0.85);
  EXPECT_NEAR(result["steady_loop"]["ideal_share"].get<double>(), 64.0 / 68, 1e-12);
  EXPECT_EQ(result["spills"], 0);
  EXPECT_TRUE(result["executed_fma_share"].is_number());
}

TEST(Report, EachKernelInTurn) {
  Folder folder;
  folder.write("two.tile", "kernel one { tile 16x16 } kernel two { tile 32x32x8 thread 2x2 }");
  Outcome outcome = tilec({"report", folder.path("two.tile")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  size_t one = outcome.out.find("one for sm_");
  ASSERT_NE(one, std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("two for sm_", one), std::string::npos) << outcome.out;
}

TEST(Check, BudgetsThatHoldAndThatDoNot) {
  struct Case {
    const char* budgets;
    int code;
  };
  for (const Case& c :
       {Case{"ideal_share>=0.94, threads==256", 0}, Case{"threads==256,shared_bytes<100", 3},
        Case{"bank_conflicts>=0, max_error<=1", 0}, Case{"warp_instructions<1", 3},
        Case{"ideal_share>=94%", 0}}) {
    Outcome outcome = tilec({"check", kMainSpec, "--require", c.budgets, "--shape", "128x128x16"});
    EXPECT_EQ(outcome.code, c.code) << c.budgets << "\n" << outcome.out << outcome.err;
    EXPECT_NE(outcome.out, "") << c.budgets;
    Outcome in_json = tilec({"check", kMainSpec, "--require", c.budgets, "--json"}, kNoCuda);
    EXPECT_EQ(in_json.code, c.code);
    json result = json::parse(in_json.out);
    EXPECT_EQ(result["passed"], c.code == 0) << in_json.out;
  }
}

TEST(Check, SeveralRequirements) {
  Outcome outcome =
      tilec({"check", kMainSpec, "--require", "threads==256", "--require", "shared_bytes<100"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
}

TEST(Check, EveryKernelOfAFile) {
  Folder folder;
  folder.write("two.tile", "kernel one { tile 16x16 } kernel two { tile 32x32x8 thread 2x2 }");
  std::string file = folder.path("two.tile");
  EXPECT_EQ(tilec({"check", file, "--require", "threads==256"}).code, 0);
  Outcome outcome = tilec({"check", file, "--require", "ideal_share>0.4"});
  EXPECT_EQ(outcome.code, 3) << outcome.out;
  EXPECT_NE(outcome.out.find("two\n"), std::string::npos) << outcome.out;
}

TEST(Opt, PrintsRunsAndRefuses) {
  Outcome first = tilec({"compile", kSmallSpec, "--dump-after", "build_kernel"});
  ASSERT_EQ(first.code, 0) << first.err;
  std::string text = first.out.substr(first.out.find('\n') + 1);
  Outcome same = tilec({"opt", "-"}, {.input = text});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out, text);

  // All passes one after the other make what compile makes.
  Outcome whole = tilec({"opt", "-", "--pass", "split_edges,lower_copies,pipeline_slices", "--pass",
                         "split_epilogue,unroll_slices,insert_barriers"},
                        {.input = text});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(whole.out, tilec({"compile", kSmallSpec, "--emit", "tile"}).out);

  Outcome unknown = tilec({"opt", "-", "--pass", "split_edge"}, {.input = text});
  EXPECT_EQ(unknown.code, 2);
  Outcome nonsense = tilec({"opt", "-"}, {.input = "kernel ?"});
  EXPECT_EQ(nonsense.code, 1);
  EXPECT_EQ(nonsense.out, "");
  EXPECT_TRUE(nonsense.err.starts_with("<stdin>:1:8: error: ")) << nonsense.err;
  Outcome missing = tilec({"opt", "/nonexistent/gemm.tile"});
  EXPECT_EQ(missing.code, 1);
}

// --- a machine where something is missing
// ----------------------------------------------------------

TEST(Missing, WithNothingInstalledAllButAssemblingWorks) {
  const Surroundings bare = nothing_installed();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"explain", kSmallSpec},
                                             {"compile", kSmallSpec, "--emit", "ptx"},
                                             {"report", kSmallSpec},
                                             {"report", kSmallSpec, "--json"},
                                             {"check", kSmallSpec, "--require", "threads==256"},
                                             run_words(kSmallSpec, kSmallShape)}) {
    Outcome outcome = tilec(words, bare);
    EXPECT_EQ(outcome.code, 0) << words[0] << "\n" << outcome.err;
    EXPECT_NE(outcome.out, "") << words[0];
  }
}

struct Lack {
  std::vector<std::string> words;
  std::vector<std::string> says;  // parts of standard error: what is missing, what still works
};

TEST(Missing, IsSaidPlainlyWithWhatStillWorks) {
  const Surroundings bare = nothing_installed();
  const Lack table[] = {
      {{"compile", kSmallSpec, "--emit", "cubin"},
       {"[no-assembler]", "nvJitLink", "ptxas", "help:"}},
      {{"compile", kSmallSpec, "--emit", "sass"}, {"[no-assembler]", "help:"}},
      {{"compile", kSmallSpec, "--emit", "cubin", "--assembler", "ptxas"}, {"ptxas"}},
      {{"compile", kSmallSpec, "--emit", "cubin", "--assembler", "nvjitlink"}, {"nvJitLink"}},
  };
  for (const Lack& lack : table) {
    Outcome outcome = tilec(lack.words, bare);
    EXPECT_EQ(outcome.code, 4) << lack.words[0] << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << lack.words[0];
    for (const std::string& part : lack.says) {
      EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " not in\n" << outcome.err;
    }
  }
}

TEST(Missing, AReportWithoutAssemblerSaysSo) {
  Outcome outcome = tilec({"report", kSmallSpec}, nothing_installed());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("no assembler"), std::string::npos) << outcome.err;
}

TEST(Missing, BudgetsThatNeedAnAssemblerFail) {
  Outcome outcome =
      tilec({"check", kSmallSpec, "--require", "fma_share>=0.1"}, nothing_installed());
  EXPECT_EQ(outcome.code, 3) << outcome.err << outcome.out;
}

TEST(Missing, NvdisasmAlone) {
  Outcome cubin = tilec({"compile", kSmallSpec, "--emit", "cubin"});
  if (cubin.code == 4) GTEST_SKIP() << "no assembler here";
  Outcome outcome = tilec({"compile", kSmallSpec, "--emit", "sass"},
                          {.environment = {"TILEC_NVDISASM=/nonexistent"}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("FFMA"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("warning: no nvdisasm"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("tools/setup"), std::string::npos) << outcome.err;
}

TEST(Missing, AGpu) {
  Outcome outcome = tilec({"run", kSmallSpec, "--shape", kSmallShape, "--device", "gpu"});
  if (outcome.code == 0) GTEST_SKIP() << "there is a GPU here";
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("driver"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--device cpu"), std::string::npos) << outcome.err;
  Outcome bench = tilec({"bench", kSmallSpec, "--shape", kSmallShape});
  EXPECT_EQ(bench.code, 4) << bench.err;
  EXPECT_NE(bench.err.find("tilec report"), std::string::npos) << bench.err;
}

// On sm_100a two neighbours are multiplied at once where `vector` puts them together. Each lane is
// rounded as a multiply-add of its own, so the results are those of other targets.
TEST(Run, PackedMultiplyAddsAreRightOnTheCpu) {
  struct Case {
    const char* spec;
    bool packed;
  };
  for (const Case& c :
       {Case{"tile 64x64x8 warp 32x32 thread 8x4 stages 2", true},
        Case{"tile 64x128x8 warp 32x64 thread 8x8 stages 3 layout tn", true},
        Case{"tile 64x64x8 warp 32x32 thread 4x8 vector 2", true},
        Case{"tile 64x64x8 warp 32x32 thread 8x4 vector 1 fragment split", false}}) {
    const auto words = [&](const char* target) {
      return std::string(c.spec) + " target " + target;
    };
    const Outcome ptx = tilec({"compile", words("sm_100a"), "--emit", "ptx"});
    ASSERT_EQ(ptx.code, 0) << ptx.err;
    EXPECT_EQ(ptx.out.find("fma.rn.f32x2") != std::string::npos, c.packed) << c.spec;
    EXPECT_EQ(tilec({"compile", words("sm_90a"), "--emit", "ptx"}).out.find("f32x2"),
              std::string::npos);
    for (const char* shape : {"128x128x32", "67x70x19"}) {
      const auto run = [&](const char* target) {
        const Outcome outcome =
            tilec({"run", words(target), "--shape", shape, "--device", "cpu", "--json"});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out)["check"];
      };
      const nlohmann::json packed = run("sm_100a");
      EXPECT_EQ(packed["passed"], true) << c.spec << " at " << shape;
      EXPECT_EQ(packed["max_error"], run("sm_90a")["max_error"]) << c.spec << " at " << shape;
    }
    const nlohmann::json report =
        nlohmann::json::parse(tilec({"report", words("sm_100a"), "--json"}).out);
    if (!report.contains("steady_loop")) continue;  // no assembler
    const double each = report["steady_loop"]["fma_per_instruction"];
    if (c.packed)
      EXPECT_GT(each, 1) << c.spec;
    else
      EXPECT_LT(each, 1) << c.spec;
  }
}

}  // namespace
}  // namespace tilec
