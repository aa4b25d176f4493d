// README.md says what there is: commands, options, environment variables and exit codes.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <vector>

#include "tests/examples/shell.h"

namespace tilec {
namespace {

const std::string kReadme = text_of(kRoot / "README.md");

std::set<std::string> all_matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found.insert(it->str(1));
  return found;
}

std::string section(const std::string& title) {
  const size_t begin = kReadme.find("\n## " + title + "\n");
  EXPECT_NE(begin, std::string::npos) << title;
  return kReadme.substr(begin, kReadme.find("\n## ", begin + 4) - begin);
}

std::string help_of(const std::string& command) {
  return shell("'" TILEC_BINARY "' " + command + " --help").output;
}

TEST(Readme, TableOfCommandsIsTheProgramsOwn) {
  const std::string help = help_of("");
  const std::string commands = help.substr(help.find("Subcommands:"));
  EXPECT_EQ(all_matches(section("The command line"), "\n\\| `tilec ([a-z]+) "),
            all_matches(commands.substr(0, commands.find("\n\n")), "\n  ([a-z]+) "));
}

TEST(Readme, OptionsExist) {
  const std::string table = section("The command line");
  for (const std::string& row : all_matches(table, "\n(\\| `tilec [a-z]+ [^\n]*)")) {
    const std::string command = *all_matches(row, "`tilec ([a-z]+) ").begin();
    for (const std::string& option : all_matches(row, "(--[a-z-]+)"))
      EXPECT_NE(help_of(command).find(option), std::string::npos) << command << " " << option;
  }
}

TEST(Readme, EnvironmentVariablesAreThoseThatAreRead) {
  std::set<std::string> read;
  for (const char* folder : {"dsl", "compiler", "runtime", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      read.merge(all_matches(text_of(entry.path()), "getenv\\(\"(TILEC_[A-Z_]+)\"\\)"));
    }
  }
  EXPECT_FALSE(read.empty());
  EXPECT_EQ(all_matches(section("The command line"), "\n\\| `(TILEC_[A-Z_]+)`"), read);
}

TEST(Readme, WhatIsNotBuiltIsRefused) {
  // Each clause that the README calls missing is refused by a diagnostic of its own.
  struct Case {
    const char* word;
    const char* spec;
  };
  const std::string missing = section("What it cannot do yet");
  for (const Case& c :
       {Case{"`mma`", "tile 64x64 mma 16x8x8"}, Case{"`type`", "tile 64x64 type f16"},
        Case{"`copy tma`", "tile 64x64 copy tma"}, Case{"`cluster`", "tile 64x64 cluster 2x1"},
        Case{"`roles`", "tile 64x64 roles producer 1 consumer 2"},
        Case{"`bias`", "tile 64x64 epilogue acc + bias"}}) {
    EXPECT_NE(missing.find(c.word), std::string::npos) << c.word;
    const Outcome outcome =
        shell("'" TILEC_BINARY "' explain '" + std::string(c.spec) + " thread 8x4'");
    EXPECT_EQ(outcome.code, 1) << c.spec << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("-not-built]"), std::string::npos) << outcome.output;
  }
}

TEST(Readme, GlossaryIsInOrder) {
  std::string last;
  const std::string glossary = section("Glossary");
  const std::regex entry("\n- \\*\\*([^*]+)\\*\\*");
  for (std::sregex_iterator it(glossary.begin(), glossary.end(), entry), end; it != end; ++it) {
    std::string word = it->str(1);
    for (char& letter : word) letter = static_cast<char>(std::tolower(letter));
    EXPECT_LT(last, word);
    last = word;
  }
  EXPECT_FALSE(last.empty());
}

}  // namespace
}  // namespace tilec
