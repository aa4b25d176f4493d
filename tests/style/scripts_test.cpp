// The scripts that judge: they have to find what they are for.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/style/shell.h"

namespace tilec {
namespace {

namespace fs = std::filesystem;

class Scripts : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tilec_scripts_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  Outcome count() const { return shell("./tools/count_tests '" + folder_.string() + "'"); }

  fs::path folder_;
};

const std::string kPassed =
    R"(<testsuite><testcase name="a" status="run" result="completed" time="0" />
<testcase name="b" status="run" result="completed" time="0" />
<testcase name="c" status="notrun" result="suppressed" time="0" /></testsuite>)";
const std::string kSkipped = R"(<testcase name="d" status="run" result="skipped" time="0">
<skipped message="no GPU&#x0A;"><![CDATA[]]></skipped></testcase>)";
const std::string kFailed = R"(<testcase name="e" status="run" result="completed" time="0">
<failure message="one" type=""></failure>
<failure message="two" type=""></failure></testcase>)";

std::string row(const std::string& name, const std::string& status) {
  return "<testcase name=\"" + name + "\" classname=\"" + name + "\" status=\"" + status + "\">\n";
}

TEST_F(Scripts, CountsCasesNotPrograms) {
  write("test_one.xml", kPassed);
  write("test_two.xml", kPassed + "\n" + kSkipped);
  write("ctest.junit", row("one", "run") + row("two", "run"));
  Outcome outcome = count();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, "skipped 1: no GPU\n4 passed, 0 failed, 1 skipped\n");
}

TEST_F(Scripts, CountsAFailedCaseOnce) {
  write("test_one.xml", kPassed + "\n" + kFailed);
  write("ctest.junit", row("one", "fail"));
  Outcome outcome = count();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.output, "2 passed, 1 failed, 0 skipped\n");
}

TEST_F(Scripts, CountsAProgramThatDied) {
  write("test_one.xml", kPassed);
  write("test_two.xml", kPassed);
  write("ctest.junit", row("one", "run") + row("two", "fail") + row("three", "fail"));
  Outcome outcome = count();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.output.find("three died"), std::string::npos) << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with("4 passed, 2 failed, 0 skipped\n")) << outcome.output;
}

TEST_F(Scripts, CountsOtherTestsAndNone) {
  write("ctest.junit", row("lint", "run"));
  EXPECT_EQ(count().output, "1 passed, 0 failed, 0 skipped\n");
  write("ctest.junit", "<testsuite>\n");
  Outcome none = count();
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.output, "0 passed, 0 failed, 0 skipped\n");
}

TEST_F(Scripts, LintFindsWhatItIsFor) {
  for (const char* name : {"tools/lint", ".clang-format"}) {
    fs::create_directories((folder_ / name).parent_path());
    fs::copy(fs::path(TILEC_SOURCE_DIR) / name, folder_ / name);
  }
  std::string there = "cd '" + folder_.string() + "' && ";
  if (shell(there + "git init -q . && git add .").code != 0) GTEST_SKIP() << "no git here";
  write("right.cpp", "int right();\n");
  Outcome right = shell(there + "./tools/lint --no-tidy");
  EXPECT_EQ(right.code, 0) << right.output;

  struct Case {
    const char* name;
    std::string text;
    std::string says;
  };
  // The words are put together here so that lint does not find them in this file.
  const Case cases[] = {
      {"format.cpp", "int   f( ){return 1;}\n", "format.cpp: "},
      {"wide.h", "// " + std::string(100, 'w') + "\n", "wide.h:1:"},
      {"open.cpp", std::string("// TO") + "DO: later\nint open();\n", "open.cpp:1:"},
      {"place.md", std::string("see /wo") + "rk/main\n", "place.md:1:"},
  };
  for (const Case& c : cases) {
    write(c.name, c.text);
    Outcome outcome = shell(there + "./tools/lint --no-tidy");
    EXPECT_EQ(outcome.code, 1) << c.name;
    EXPECT_NE(outcome.output.find(c.says), std::string::npos) << outcome.output;
    fs::remove(folder_ / c.name);
  }

  std::string body;
  for (int i = 0; i < 70; ++i) body += "  ++i;\n";
  write("long.cpp", "int f(int i) {\n" + body + "  return i;\n}\n" + std::string(400, '\n'));
  Outcome budgets = shell(there + "./tools/lint --no-tidy");
  EXPECT_NE(budgets.output.find("long.cpp:1: f: 73"), std::string::npos) << budgets.output;
  EXPECT_NE(budgets.output.find("long.cpp: 473"), std::string::npos) << budgets.output;
}

TEST(Usage, EveryScriptSaysHowItIsUsed) {
  for (const char* script : {"tools/setup", "tools/lint"}) {
    Outcome help = shell(std::string("./") + script + " --help");
    EXPECT_EQ(help.code, 0) << script;
    EXPECT_NE(help.output.find("Usage: "), std::string::npos) << help.output;
    Outcome wrong = shell(std::string("./") + script + " --nonsense");
    EXPECT_EQ(wrong.code, 2) << script;
  }
}

}  // namespace
}  // namespace tilec
