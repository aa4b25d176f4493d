// Input that is wrong, end to end: the exit code, the place, the rule in numbers, the way out. The
// rules themselves are tested in tests/dsl; here each kind of bad input takes the user's road.
#include <gtest/gtest.h>

#include "tests/cli/tilec_process.h"

namespace tilec {
namespace {

struct Bad {
  std::string spec;
  std::vector<std::string> says;  // parts of standard error, in order
};

// `says` begins with place and rule; where there is a way out, it ends with it.
const Bad kBad[] = {
    {"tile 128x128 warp 64x48 thread 8x8",
     {"<spec>:1:14: error: warp tile 64x48 does not divide block tile 128x128: 48 does not divide "
      "128; 64x32 and 64x64 do [warp-does-not-divide-tile]",
      "\n               ^~~~~~~~~~\n"}},
    {"tile 128x128 warp 64x32 thread 8x16", {"<spec>:1:25: ", "16 lanes", "32", "nearest"}},
    {"tile 256x256 thread 4x4", {"<spec>:1:14: ", "4096 threads", "1024", "nearest"}},
    {"tile 128x128x128 warp 64x32 thread 8x8 stages 4",
     {"<spec>:1:40: ", "524288 bytes", "232448", "`stages 1` fits"}},
    {"tile 512x512 warp 128x64 thread 32x8", {"<spec>:1:26: ", "registers", "255"}},
    {"tile 128x128x8 thread 8x8 vector 16", {"<spec>:1:34: ", "vector 16", "4"}},
    {"tile 128x128x6 warp 64x32 thread 8x8 vector 4", {"<spec>:1:38: ", "vector"}},
    {"tile 128x128x8 threads 8x8", {"<spec>:1:16: ", "`threads`", "did you mean `thread`?"}},
    {"tile 128x128x8 tile 64x64", {"<spec>:1:16: ", "stands twice"}},
    {"tile 0x128", {"<spec>:1:6: ", "out of range"}},
    {"tile 128x99999999999999999999", {"<spec>:1:10: ", "64 bits"}},
    {"", {"<spec>:1:1: ", "empty"}},
    {"   # nothing but a comment", {"empty"}},
    {"tile 128x128 target sm_70", {"<spec>:1:14: ", "sm_70", "sm_80"}},
    {"tile {64,128}x128", {"<spec>:1:6: "}},
    {"mma 16x8x8 tile 128x128", {"<spec>:1:1: ", "mma"}},
    {"tile 128x128 copy tma", {"tma"}},
    {"tile 128x128 type f16", {"f16"}},
    {"tile 128x128 split_k 999", {"<spec>:1:22: ", "256"}},
    {"tile 128x128 stream_k split_k 2", {"<spec>:1:14: ", "stream_k", "split_k 2"}},
    {"tile 128x128 epilogue relu(acc)", {"relu"}},
};

TEST(BadSpec, IsRefusedWithPlaceRuleAndWayOut) {
  for (const Bad& bad : kBad) {
    Outcome outcome = tilec({"explain", bad.spec});
    EXPECT_EQ(outcome.code, 1) << bad.spec << "\n" << outcome.err;
    EXPECT_TRUE(outcome.out.empty()) << bad.spec;
    size_t at = 0;
    for (const std::string& part : bad.says) {
      at = outcome.err.find(part, at);
      ASSERT_NE(at, std::string::npos) << "no '" << part << "' in\n" << outcome.err;
    }
  }
}

TEST(BadSpec, EveryCommandRefusesIt) {
  const std::string spec = "tile 128x128 warp 64x48 thread 8x8";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"explain", spec},
                                             {"explain", spec, "--json"},
                                             {"compile", spec},
                                             {"report", spec, "--json"},
                                             {"run", spec, "--shape", "8x8x8", "--device", "cpu"},
                                             {"check", spec, "--require", "spills==0"}}) {
    Outcome outcome = tilec(words);
    EXPECT_EQ(outcome.code, 1) << words[0] << "\n" << outcome.err;
    EXPECT_TRUE(outcome.out.empty()) << words[0];
    EXPECT_NE(outcome.err.find("[warp-does-not-divide-tile]"), std::string::npos) << outcome.err;
  }
}

TEST(BadSpec, SeveralFaultsAreReportedTogether) {
  Outcome outcome = tilec({"explain", "tile 128x128 warp 64x48 thread 7x8 stagez 2 vector 3"});
  EXPECT_EQ(outcome.code, 1);
  for (const char* code : {"[warp-does-not-divide-tile]", "[thread-does-not-divide-warp]",
                           "[unknown-clause]", "[vector-not-a-power]"}) {
    EXPECT_NE(outcome.err.find(code), std::string::npos) << code << " not in\n" << outcome.err;
  }
}

TEST(BadSpec, FilesThatAreNoSpecs) {
  Folder folder;
  folder.write("binary.tile", std::string("\x7f"
                                          "ELF\0\0\0\xff\xfe",
                                          9));
  folder.write("empty.tile", "");
  folder.write("huge.tile", std::string(2 << 20, ' '));
  struct Case {
    std::string argument;
    std::string says;
  };
  for (const Case& c :
       {Case{folder.path("nowhere.tile"), "nowhere.tile"},
        Case{folder.path("binary.tile"), "not text"}, Case{folder.path("empty.tile"), "empty"},
        Case{folder.path("huge.tile"), "2097152"}, Case{folder.path(), "folder"}}) {
    Outcome outcome = tilec({"explain", c.argument});
    EXPECT_EQ(outcome.code, 1) << c.argument << "\n" << outcome.err;
    EXPECT_TRUE(outcome.out.empty());
    EXPECT_NE(outcome.err.find(c.says), std::string::npos) << outcome.err;
  }
}

TEST(BadSpec, NeverPutsControlBytesOnTheTerminal) {
  Folder folder;
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  folder.write("bytes.tile", bytes);
  Outcome outcome = tilec({"explain", folder.path("bytes.tile")});
  EXPECT_EQ(outcome.code, 1);
  for (char c : outcome.err) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  }
}

TEST(Spec, FromAStringAFileAndStandardInput) {
  Folder folder;
  folder.write("main.tile", kMainSpec + "\n");
  folder.write("no_extension", kMainSpec + "\n");
  std::string expected = tilec({"explain", kMainSpec}).out;
  ASSERT_NE(expected, "");
  EXPECT_EQ(tilec({"explain", folder.path("main.tile")}).out, expected);
  EXPECT_EQ(tilec({"explain", folder.path("no_extension")}).out, expected);
  EXPECT_EQ(tilec({"explain", "-"}, {.input = kMainSpec}).out, expected);
}

TEST(Spec, TheCompletedSpecExplainsToItself) {
  Outcome first = tilec({"compile", kMainSpec, "--emit", "spec"});
  ASSERT_EQ(first.code, 0) << first.err;
  Outcome second = tilec({"compile", "-", "--emit", "spec"}, {.input = first.out});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(first.out, second.out);
}

TEST(Spec, TargetOfTheCommandLineCountsMost) {
  Outcome outcome = tilec({"explain", kMainSpec + " target sm_80", "--target", "sm_89"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("target sm_89"), std::string::npos) << outcome.out;
}

constexpr const char* kTwoKernels = R"(
kernel small { tile 32x32 thread 2x2 }
kernel large { tile 64x64 thread 4x4 }
)";

TEST(SeveralKernels, EachInTurnOrOneByName) {
  Folder folder;
  folder.write("two.tile", kTwoKernels);
  std::string file = folder.path("two.tile");
  std::string both = tilec({"explain", file}).out;
  EXPECT_NE(both.find("small"), std::string::npos) << both;
  EXPECT_NE(both.find("large"), std::string::npos) << both;
  std::string one = tilec({"explain", file, "--kernel", "large"}).out;
  EXPECT_EQ(one.find("small"), std::string::npos) << one;
  EXPECT_NE(one.find("tile 64x64"), std::string::npos) << one;
}

TEST(SeveralKernels, ARefusalNamesThem) {
  Folder folder;
  folder.write("two.tile", kTwoKernels);
  std::string file = folder.path("two.tile");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"compile", file},
                                             {"explain", file, "--json"},
                                             {"report", file, "--json"},
                                             {"check", file, "--require", "threads==256", "--json"},
                                             {"explain", file, "--kernel", "medium"}}) {
    Outcome outcome = tilec(words);
    EXPECT_EQ(outcome.code, 1) << words[0] << "\n" << outcome.err;
    EXPECT_TRUE(outcome.out.empty()) << words[0];
    EXPECT_NE(outcome.err.find("small"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("large"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace tilec
