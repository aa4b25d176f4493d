// What a user meets first: help, versions, and words that are wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/tilec_process.h"

namespace tilec {
namespace {

const std::vector<std::string> kCommands = {"explain", "compile", "report", "run",
                                            "bench",   "tune",    "opt",    "check",
                                            "emulate", "diff",    "climb",  "profile"};

TEST(Help, NamesEveryCommand) {
  Outcome help = tilec({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  for (const std::string& command : kCommands) {
    EXPECT_NE(help.out.find("\n  " + command), std::string::npos) << help.out;
  }
}

TEST(Help, EveryCommandHasAnExample) {
  for (const std::string& command : kCommands) {
    Outcome help = tilec({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    EXPECT_NE(help.out.find("\nExample:\n  tilec " + command + " "), std::string::npos) << help.out;
  }
}

// The example of each command, as printed, parses and does something; those that take a file of the
// user's or a GPU are run elsewhere.
TEST(Help, ExamplesRun) {
  for (const char* command : {"explain", "compile"}) {
    std::string help = tilec({command, "--help"}).out;
    size_t begin = help.find("  tilec ", help.find("\nExample:\n")) + 8;
    std::string line = help.substr(begin, help.find('\n', begin) - begin);
    std::vector<std::string> words;
    bool quoted = false;
    std::string word;
    for (char c : line + " ") {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ' ' && !quoted) {
        words.push_back(word);
        word.clear();
      } else {
        word += c;
      }
    }
    Folder folder;
    Surroundings inside;
    inside.directory = folder.path();
    Outcome outcome = tilec(words, inside);
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
  }
}

TEST(Help, Version) {
  Outcome version = tilec({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.out.starts_with("tilec ")) << version.out;
  EXPECT_EQ(version.err, "");
}

struct Wrong {
  std::vector<std::string> words;
  std::string says;  // part of standard error
};

TEST(CommandLine, WrongWordsAreRefused) {
  const Wrong table[] = {
      {{}, "tilec"},
      {{"explian", kMainSpec}, "did you mean `explain`"},
      {{"profile", kMainSpec}, "--shape"},
      {{"tune", kMainSpec}, "--shape"},
      {{"explain"}, "SPEC"},
      {{"explain", kMainSpec, "--colour"}, "--colour"},
      {{"explain", kMainSpec, "another"}, "another"},
      {{"compile", kMainSpec, "--emit", "ptxx"}, "did you mean `ptx`"},
      {{"compile", kMainSpec, "--target", "sm_70"}, "did you mean `sm_80`"},
      {{"compile", kMainSpec, "--emit", "cubin", "--assembler", "none"}, "assembler"},
      {{"compile", kMainSpec, "--emit"}, "--emit"},
      {{"compile", kMainSpec, "--assembler", "gas"}, "there is no assembler `gas`"},
      {{"compile", kMainSpec, "--emit", "tile,ptx"}, "-o"},
      {{"run", kMainSpec}, "--shape"},
      {{"run", kMainSpec, "--shape", "4096x-1x8"}, "4096x-1x8"},
      {{"run", kMainSpec, "--shape", "4096x4096"}, "4096x4096"},
      {{"run", kMainSpec, "--shape", "axbxc"}, "axbxc"},
      {{"run", kMainSpec, "--shape", "1x1x99999999999999999999"}, "99999999999999999999"},
      {{"run", kMainSpec, "--shape", "8x8x8", "--device", "tpu"}, "there is no device `tpu`"},
      {{"run", kMainSpec, "--shape", "8x8x8", "--alpha", "one"}, "one"},
      {{"run", kMainSpec, "--shape", "8x8x8", "--lda", "1.5"}, "1.5"},
      {{"run", kMainSpec, "--shape", "8x8x8", "--seed", "-1"}, "seed"},
      {{"bench", "8x8x8", "--shape", "8x8x8"}, "SPEC"},
      {{"opt"}, "FILE"},
      {{"check", kMainSpec}, "--require"},
      {{"check", kMainSpec, "--require", "fma_shar>=0.85"}, "did you mean `fma_share`"},
      {{"check", kMainSpec, "--require", "spills=0"}, "^"},
  };
  for (const Wrong& wrong : table) {
    Outcome outcome = tilec(wrong.words);
    std::string shown;
    for (const std::string& word : wrong.words) shown += " " + word;
    EXPECT_EQ(outcome.code, 2) << shown << "\n" << outcome.err;
    EXPECT_TRUE(outcome.out.empty()) << shown;
    EXPECT_NE(outcome.err.find(wrong.says), std::string::npos) << shown << "\n" << outcome.err;
  }
}

TEST(CommandLine, OptionsMayStandAnywhere) {
  Outcome first = tilec({"explain", "--json", kMainSpec});
  Outcome last = tilec({"explain", kMainSpec, "--json"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, last.out);
}

TEST(CommandLine, AFullDiskIsTheMachinesFault) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::string command =
      std::string("'") + TILEC_BINARY + "' explain '" + kMainSpec + "' >/dev/full 2>/dev/null";
  int status = system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 4);
}

}  // namespace
}  // namespace tilec
