// Who may include what: the table of folders in the design, enforced over every #include line.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tilec {
namespace {

namespace fs = std::filesystem;

struct Rule {
  std::string_view folder;                    // or one file
  std::vector<std::string_view> may_include;  // folders ("dsl/") and single headers
  std::vector<std::string_view> third_party;  // beginnings of <...> paths
};

// Every folder may include itself, the standard library, the system's headers and tl/expected.hpp.
const std::vector<std::string_view> kEverything = {"dsl/", "compiler/", "runtime/", "tools/",
                                                   "tests/"};
const std::vector<Rule> kRules = {
    {"dsl", {}, {"fmt/"}},
    {"compiler", {"dsl/"}, {"fmt/"}},
    // The pipeline is what brings the parts together.
    {"compiler/compile.cpp",
     {"dsl/", "compiler/ir/", "compiler/passes/", "compiler/codegen/", "compiler/sass/",
      "compiler/compile.h", "compiler/artifact.h", "compiler/target.h"},
     {"fmt/"}},
    {"compiler/ir", {"dsl/"}, {"fmt/"}},
    {"compiler/passes", {"dsl/", "compiler/ir/"}, {"fmt/"}},
    {"compiler/codegen",
     {"dsl/", "compiler/ir/", "compiler/passes/", "compiler/compile.h", "compiler/artifact.h",
      "compiler/target.h"},
     {"fmt/", "llvm/", "nvJitLink.h"}},
    {"compiler/sass",
     {"dsl/error.h", "dsl/source.h", "compiler/sass/data/", "compiler/artifact.h",
      "compiler/target.h"},
     {"fmt/"}},
    {"compiler/sass/loop",
     {"dsl/error.h", "compiler/sass/", "compiler/artifact.h", "compiler/target.h"},
     {"fmt/"}},
    {"compiler/report",
     {"dsl/", "compiler/sass/", "compiler/artifact.h", "compiler/target.h"},
     {"fmt/", "nlohmann/"}},
    {"runtime",
     {"dsl/", "compiler/artifact.h", "compiler/target.h", "runtime/cuda/", "runtime/ptx/"},
     {"fmt/", "nlohmann/", "sqlite3.h"}},
    {"runtime/cuda",
     {"dsl/error.h", "dsl/shape.h", "dsl/source.h", "dsl/spec.h", "compiler/artifact.h",
      "compiler/target.h", "runtime/"},
     {"fmt/", "cuda", "cublas", "nvml.h"}},
    {"runtime/ptx",
     {"dsl/error.h", "dsl/source.h", "dsl/spec.h", "compiler/artifact.h", "runtime/"},
     {"fmt/"}},
    {"tools", kEverything, {"fmt/", "CLI/", "nlohmann/"}},
    {"tests",
     kEverything,
     {"fmt/", "gtest/", "gmock/", "Eigen/", "nlohmann/", "cublas", "sqlite3.h"}},
};

struct Include {
  int line = 0;
  bool quoted = false;
  std::string path;
};

std::vector<Include> includes_of(std::istream& text) {
  std::vector<Include> found;
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    std::istringstream words(line);
    std::string directive;
    std::string path;
    words >> directive >> path;
    if (directive != "#include" || path.size() < 3) continue;
    found.push_back({number, path.front() == '"', path.substr(1, path.size() - 2)});
  }
  return found;
}

/// The longest rule that holds for `file`; null if none does.
const Rule* rule_of(std::string_view file) {
  const Rule* best = nullptr;
  for (const Rule& rule : kRules) {
    bool holds = file == rule.folder || file.starts_with(std::string(rule.folder) + "/");
    if (holds && (best == nullptr || rule.folder.size() > best->folder.size())) best = &rule;
  }
  return best;
}

bool starts_with_any(std::string_view path, const std::vector<std::string_view>& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view b) { return path.starts_with(b); });
}

/// Whether <path> is the standard library's (no dot: <vector>) or the system's.
bool is_system(std::string_view path) {
  static const std::vector<std::string_view> system = {
      "sys/",    "stddef.h", "stdint.h",    "stdlib.h", "unistd.h",       "dlfcn.h",
      "fcntl.h", "spawn.h",  "poll.h",      "signal.h", "link.h",         "glob.h",
      "elf.h",   "errno.h",  "immintrin.h", "fenv.h",   "tl/expected.hpp"};
  return path.find('.') == std::string_view::npos && path.find('/') == std::string_view::npos
             ? true
             : starts_with_any(path, system);
}

/// What is wrong with `include` in `file`; empty if nothing is.
std::string fault_of(const std::string& file, const Include& include) {
  const Rule* rule = rule_of(file);
  if (rule == nullptr) return "the folder has no rule";
  if (include.quoted) {
    std::string own = file.substr(0, file.rfind('/') + 1);
    bool allowed = (include.path.starts_with(own) &&
                    include.path.find('/', own.size()) == std::string::npos) ||
                   starts_with_any(include.path, rule->may_include);
    return allowed ? "" : std::string(rule->folder) + " may not include " + include.path;
  }
  bool allowed = is_system(include.path) || starts_with_any(include.path, rule->third_party);
  return allowed ? "" : std::string(rule->folder) + " may not include <" + include.path + ">";
}

TEST(IncludeRule, EveryFileKeepsIt) {
  const fs::path root = TILEC_SOURCE_DIR;
  int seen = 0;
  for (std::string_view top : {"dsl", "compiler", "runtime", "tools", "tests"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      std::string extension = entry.path().extension().string();
      // What lies in a data folder is read by tests, not compiled with them.
      if (entry.path().string().find("/data/") != std::string::npos) continue;
      if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".h")) continue;
      ++seen;
      std::ifstream text(entry.path());
      std::string file = fs::relative(entry.path(), root).string();
      for (const Include& include : includes_of(text)) {
        EXPECT_EQ(fault_of(file, include), "") << file << ":" << include.line;
      }
    }
  }
  EXPECT_GT(seen, 10) << "found next to no source files under " << root;
}

TEST(IncludeRule, FindsWhatBreaksIt) {
  struct Case {
    const char* file;
    const char* line;
    bool allowed;
  };
  const Case cases[] = {
      {"dsl/file.cpp", "#include \"dsl/spec.h\"", true},
      {"dsl/file.cpp", "#include <vector>", true},
      {"dsl/file.cpp", "#include <tl/expected.hpp>", true},
      {"dsl/file.cpp", "#include \"compiler/target.h\"", false},
      {"dsl/file.cpp", "#include <llvm/IR/IRBuilder.h>", false},
      {"compiler/file.cpp", "#include \"compiler/target.h\"", true},
      {"compiler/file.cpp", "#include \"compiler/ir/kernel.h\"", false},
      {"compiler/compile.cpp", "#include \"compiler/codegen/codegen.h\"", true},
      {"compiler/target.cpp", "#include \"compiler/codegen/codegen.h\"", false},
      {"compiler/passes/file.cpp", "#include \"compiler/ir/kernel.h\"", true},
      {"compiler/passes/file.cpp", "#include \"compiler/codegen/emit.h\"", false},
      {"compiler/codegen/file.cpp", "#include <llvm/IR/IRBuilder.h>", true},
      {"compiler/sass/file.cpp", "#include \"dsl/spec.h\"", false},
      {"compiler/sass/file.cpp", "#include \"dsl/error.h\"", true},
      {"compiler/report/file.cpp", "#include \"compiler/sass/decode.h\"", true},
      {"compiler/report/file.cpp", "#include \"compiler/ir/kernel.h\"", false},
      {"runtime/cuda/file.cpp", "#include <cuda.h>", true},
      {"runtime/ptx/file.cpp", "#include <cuda.h>", false},
      {"runtime/file.cpp", "#include \"compiler/codegen/emit.h\"", false},
      {"tools/file.cpp", "#include <CLI/CLI.hpp>", true},
      {"tools/file.cpp", "#include <llvm/IR/IRBuilder.h>", false},
      {"tests/dsl/file.cpp", "#include \"dsl/spec.h\"", true},
      {"somewhere/file.cpp", "#include <vector>", false},
  };
  for (const Case& c : cases) {
    std::istringstream text(c.line);
    std::vector<Include> found = includes_of(text);
    ASSERT_EQ(found.size(), 1u) << c.line;
    EXPECT_EQ(fault_of(c.file, found[0]).empty(), c.allowed) << c.file << ": " << c.line;
  }
}

}  // namespace
}  // namespace tilec
