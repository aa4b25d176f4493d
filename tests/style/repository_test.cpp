// What a reader of the repository relies on: the README names its commands, the scripts run, and
// the source is as tools/lint wants it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "tests/style/shell.h"

namespace tilec {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = TILEC_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Repository, ReadmeNamesItsCommands) {
  std::string readme = text_of(kRoot / "README.md");
  for (const char* command :
       {"./tools/demo", "./tools/test", "tilec explain", "tilec compile", "tilec report",
        "tilec run", "tilec bench", "tilec opt", "tilec check", "tilec emulate"}) {
    EXPECT_NE(readme.find(command), std::string::npos) << "README.md does not name " << command;
  }
}

TEST(Repository, ReadmeEndsWithAGlossary) {
  std::string readme = text_of(kRoot / "README.md");
  size_t last = readme.rfind("\n## ");
  ASSERT_NE(last, std::string::npos);
  EXPECT_EQ(readme.substr(last, 12), "\n## Glossary") << "the last section is another";
}

TEST(Repository, ReadmePathsExist) {
  // Every relative link target of the form ](path) is a file or folder here.
  std::string readme = text_of(kRoot / "README.md");
  for (size_t at = readme.find("]("); at != std::string::npos; at = readme.find("](", at + 2)) {
    std::string target = readme.substr(at + 2, readme.find_first_of(")#", at + 2) - at - 2);
    if (target.empty() || target.find("://") != std::string::npos) continue;
    EXPECT_TRUE(fs::exists(kRoot / target)) << "README.md links to " << target;
  }
}

TEST(Repository, ScriptsAreExecutableAndParse) {
  for (const char* script :
       {"tools/setup", "tools/build", "tools/demo", "tools/test", "tools/lint", ".ci/run"}) {
    EXPECT_EQ(access((kRoot / script).c_str(), X_OK), 0) << script << " is not executable";
    Outcome outcome = shell(std::string("bash -n ") + script);
    EXPECT_EQ(outcome.code, 0) << script << ": " << outcome.output;
  }
}

TEST(Repository, SetupIsAQuickNoOpTheSecondTime) {
  if (!fs::exists(kRoot / ".deps/nvdisasm/nvdisasm")) {
    GTEST_SKIP() << "set-up could not get nvdisasm, and tries each time";
  }
  Outcome outcome = shell("timeout 5 ./tools/setup");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "setup: all there\n");
}

TEST(Repository, TopLevelHoldsOnlyWhatBelongsThere) {
  Outcome outcome = shell("git ls-files | cut -d/ -f1 | sort -u | grep -v '^\\.'");
  if (outcome.code != 0) GTEST_SKIP() << "not a git checkout";
  const std::string allowed =
      " CMakeLists.txt CMakePresets.json LICENSE README.md compiler dsl examples runtime tests "
      "tools ";
  std::istringstream names(outcome.output);
  for (std::string name; names >> name;) {
    EXPECT_NE(allowed.find(" " + name + " "), std::string::npos) << name;
  }
}

TEST(Repository, LintFindsNothingWrong) {
  if (shell("git rev-parse").code != 0) GTEST_SKIP() << "not a git checkout";
  Outcome outcome = shell("./tools/lint --no-tidy");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

}  // namespace
}  // namespace tilec
