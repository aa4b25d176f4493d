// Stages to standard output and to files: whole, or not there at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/tilec_process.h"

namespace tilec {
namespace {

const Surroundings kNoCuda = nothing_installed();

TEST(Compile, EachTextStageGoesToStandardOutput) {
  struct Case {
    const char* stage;
    const char* says;
  };
  for (const Case& c :
       {Case{"spec", "tile 32x32x8"}, Case{"tile", "kernel gemm target sm_90a"},
        Case{"llvm", "nvptx64-nvidia-cuda"}, Case{"ptx", ".visible .entry gemm("}}) {
    Outcome outcome = tilec({"compile", kSmallSpec, "--emit", c.stage}, kNoCuda);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << c.stage;
    EXPECT_NE(outcome.out.find(c.says), std::string::npos) << outcome.out;
  }
  EXPECT_EQ(tilec({"compile", kSmallSpec}).out,
            tilec({"compile", kSmallSpec, "--emit", "ptx"}).out);
}

TEST(Compile, IsTheSameEachTime) {
  for (const char* stage : {"tile", "llvm", "ptx"}) {
    EXPECT_EQ(tilec({"compile", kSmallSpec, "--emit", stage}).out,
              tilec({"compile", kSmallSpec, "--emit", stage}).out)
        << stage;
  }
}

TEST(Compile, StagesGoToFilesAlone) {
  Folder folder;
  std::string directory = folder.path("new/folder");
  Outcome outcome = tilec({"compile", "kernel mine { " + kSmallSpec + " }", "--emit",
                           "spec,tile,llvm,ptx", "-o", directory},
                          kNoCuda);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.empty());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"mine.ll", "mine.ptx", "mine.spec", "mine.tile"}));
}

// The tile IR file is the one that the PTX's debug locations name.
TEST(Compile, DebugLocationsNameTheTileFile) {
  Outcome ptx = tilec({"compile", "kernel mine { " + kSmallSpec + " }"});
  EXPECT_NE(ptx.out.find("mine.tile\""), std::string::npos) << ptx.out;
}

TEST(Compile, SeveralKernelsEachHaveTheirFiles) {
  Folder folder;
  Outcome outcome = tilec({"compile", "-", "--emit", "ptx", "-o", folder.path()},
                          {.input = "kernel one { " + kSmallSpec + " } kernel two { tile 16x16 }"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"one.ptx", "two.ptx"}));
}

TEST(Compile, FailureLeavesNothingAndNothingStale) {
  Folder folder;
  folder.write("gemm.cubin", "of an earlier command");
  folder.write("gemm.ptx", "of an earlier command");
  folder.write("other.ptx", "somebody else's");
  Surroundings bare = nothing_installed();
  Outcome outcome =
      tilec({"compile", kSmallSpec, "--emit", "ptx,cubin", "-o", folder.path()}, bare);
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_TRUE(outcome.out.empty());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"other.ptx"});
}

TEST(Compile, WhatCannotBeMadeIsSaidAndNotLeftStale) {
  Folder folder;
  folder.write("gemm.cubin", "of an earlier command");
  Outcome outcome = tilec({"compile", kSmallSpec, "-o", folder.path()}, nothing_installed());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("warning: no gemm.cubin"), std::string::npos) << outcome.err;
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"gemm.ll", "gemm.ptx", "gemm.spec", "gemm.tile"}));
}

TEST(Compile, NeverOverwritesItsInput) {
  Folder folder;
  folder.write("gemm.tile", kSmallSpec);
  Outcome outcome = tilec({"compile", folder.path("gemm.tile"), "-o", folder.path()});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("[would-overwrite]"), std::string::npos) << outcome.err;
  EXPECT_EQ(folder.read("gemm.tile"), kSmallSpec);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"gemm.tile"});
}

TEST(Compile, AFolderThatCannotBeMadeIsTheMachinesFault) {
  Folder folder;
  folder.write("file", "");
  Outcome outcome = tilec({"compile", kSmallSpec, "--emit", "ptx", "-o", folder.path("file/x")});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("[cannot-write]"), std::string::npos) << outcome.err;
}

TEST(Compile, DumpsAndTimes) {
  Outcome all = tilec({"compile", kSmallSpec, "--dump-after", "all"}, kNoCuda);
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(all.err, "");
  for (const char* pass : {"build_kernel", "split_edges", "insert_barriers"}) {
    EXPECT_NE(all.out.find(std::string("// after ") + pass + "\n"), std::string::npos) << all.out;
  }
  Outcome both =
      tilec({"compile", kSmallSpec, "--dump-after", "split_edges", "--emit", "ptx"}, kNoCuda);
  EXPECT_NE(both.err.find("// after split_edges\n"), std::string::npos);
  EXPECT_EQ(both.out, tilec({"compile", kSmallSpec}, kNoCuda).out);
  Outcome wrong = tilec({"compile", kSmallSpec, "--dump-after", "split_edge"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("did you mean `split_edges`"), std::string::npos) << wrong.err;
  Outcome times = tilec({"compile", kSmallSpec, "--time-passes"}, kNoCuda);
  for (const char* stage : {"split_edges", "ptx", "total"}) {
    EXPECT_NE(times.err.find(stage), std::string::npos) << times.err;
  }
  EXPECT_EQ(times.out, both.out);
}

TEST(Compile, EveryTargetTakesTheSpec) {
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    Outcome outcome = tilec({"compile", kSmallSpec, "--target", target}, kNoCuda);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(std::string(".target ") + target + "\n"), std::string::npos);
  }
}

TEST(Compile, CubinAndSass) {
  Outcome cubin = tilec({"compile", kSmallSpec, "--emit", "cubin"});
  if (cubin.code == 4) GTEST_SKIP() << "no assembler here: " << cubin.err;
  EXPECT_EQ(cubin.code, 0) << cubin.err;
  EXPECT_TRUE(
      cubin.out.starts_with("\x7f"
                            "ELF"));
  Outcome sass = tilec({"compile", kSmallSpec, "--emit", "sass"});
  EXPECT_EQ(sass.code, 0) << sass.err;
  EXPECT_NE(sass.out.find("FFMA"), std::string::npos) << sass.out;
}

TEST(Compile, SassBeforeAndAfterOurOwnPasses) {
  const std::string spec = "tile 128x256x8 warp 64x64 thread 8x16 stages 4 target sm_90a sass ";
  Folder folder;
  folder.write("gemm.assembled.sass", "of an earlier command");
  Outcome off = tilec({"compile", spec + "off", "--emit", "cubin,sass", "-o", folder.path()});
  if (off.code == 4) GTEST_SKIP() << "no assembler here: " << off.err;
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"gemm.cubin", "gemm.sass"}));
  Outcome on = tilec({"compile", spec + "on", "--emit", "cubin,sass", "-o", folder.path()});
  EXPECT_EQ(on.code, 0) << on.err;
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"gemm.assembled.cubin", "gemm.assembled.sass",
                                                      "gemm.cubin", "gemm.sass"}));
  EXPECT_NE(folder.read("gemm.cubin"), folder.read("gemm.assembled.cubin"));
  EXPECT_NE(folder.read("gemm.sass"), folder.read("gemm.assembled.sass"));
}

TEST(Compile, PointersOfWideCopiesAreNotMovedInTheLoop) {
  Outcome out = tilec({"compile",
                       "tile 128x256x8 warp 64x64 thread 8x16 stages 4 layout tn target sm_90a "
                       "sass on",
                       "--dump-after", "assemble,pair_pointers,set_control"});
  if (out.code == 4) GTEST_SKIP() << "no assembler here: " << out.err;
  ASSERT_EQ(out.code, 0) << out.err;
  const auto moves = [&](const std::string& from, const std::string& to) {
    const size_t begin = out.out.find("// after " + from);
    const size_t end = to.empty() ? out.out.size() : out.out.find("// after " + to);
    int count = 0;
    for (size_t at = out.out.find("  MOV R", begin); at < end; at = out.out.find("  MOV R", at + 1))
      ++count;
    return count;
  };
  const int assembled = moves("assemble", "pair_pointers");
  EXPECT_EQ(moves("pair_pointers", "set_control"), 0) << assembled;
  EXPECT_EQ(moves("set_control", ""), 0);
  EXPECT_GT(assembled, 0);
}

TEST(Compile, DumpsOfThePassesBehindTheAssembler) {
  EXPECT_EQ(
      tilec({"compile", kSmallSpec, "--dump-after", "order_loop", "--assembler", "none"}).code, 2);
  EXPECT_EQ(tilec({"compile", kSmallSpec, "--dump-after", "order_loop"}, kNoCuda).code, 4);
  Outcome wrong = tilec({"compile", kSmallSpec, "--dump-after", "order_lop"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("did you mean `order_loop`"), std::string::npos) << wrong.err;
  EXPECT_NE(tilec({"compile", "--help"}).out.find("place_registers"), std::string::npos);

  Outcome off = tilec({"compile", kSmallSpec + " sass off", "--dump-after", "order_loop"});
  if (off.code == 4) GTEST_SKIP() << "no assembler here: " << off.err;
  EXPECT_EQ(off.code, 0);
  EXPECT_EQ(off.out, "");
  EXPECT_NE(off.err.find("nothing after order_loop: the spec says `sass off`"), std::string::npos);
  Outcome on =
      tilec({"compile", "tile 128x256x8 warp 64x64 thread 8x16 stages 4 target sm_90a sass on",
             "--dump-after", "assemble,set_control", "--time-passes"});
  EXPECT_EQ(on.code, 0) << on.err;
  EXPECT_NE(on.out.find("// after assemble\n"), std::string::npos);
  EXPECT_NE(on.out.find("// after set_control\n"), std::string::npos);
  for (const char* part : {"rewrite_loop", "verify_edit", "replace_code"})
    EXPECT_NE(on.err.find(part), std::string::npos) << on.err;
}

TEST(Compile, Json) {
  Outcome outcome = tilec({"compile", kSmallSpec, "--emit", "tile,ptx", "--json"}, kNoCuda);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["schema"], "tilec.compile/1");
  EXPECT_EQ(json["target"], "sm_90a");
  EXPECT_EQ(json["stages"]["ptx"], tilec({"compile", kSmallSpec}, kNoCuda).out);
  EXPECT_TRUE(json["times"].is_array());
}

}  // namespace
}  // namespace tilec
