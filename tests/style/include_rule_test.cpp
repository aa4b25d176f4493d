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
  std::string_view folder;                    // its own files only, not its subfolders'
  std::vector<std::string_view> may_include;  // folders ("dsl/") and single headers
  std::vector<std::string_view> third_party;  // beginnings of <...> paths
};

// Every folder may include itself, the standard library, the system's headers and tl/expected.hpp.
const std::vector<std::string_view> kEverything = {"dsl/", "compiler/", "runtime/", "tools/",
                                                   "tests/"};
const std::vector<Rule> kRules = {
    {"dsl", {}, {"fmt/"}},
    {"compiler", {"dsl/"}, {"fmt/"}},
    {"compiler/ir", {"dsl/"}, {"fmt/"}},
    {"compiler/passes", {"dsl/", "compiler/ir/"}, {"fmt/"}},
    {"compiler/codegen",
     {"dsl/", "compiler/ir/", "compiler/passes/", "compiler/compile.h", "compiler/artifact.h",
      "compiler/target.h"},
     {"fmt/", "llvm/", "nvJitLink.h"}},
    {"compiler/sass",
     {"dsl/error.h", "dsl/source.h", "compiler/artifact.h", "compiler/target.h"},
     {"fmt/"}},
    {"compiler/report",
     {"dsl/", "compiler/sass/", "compiler/artifact.h", "compiler/target.h"},
     {"fmt/", "nlohmann/"}},
    {"runtime",
     {"dsl/", "compiler/artifact.h", "compiler/target.h", "runtime/cuda/", "runtime/ptx/"},
     {"fmt/", "nlohmann/", "sqlite3.h"}},
    {"runtime/cuda",
     {"dsl/error.h", "dsl/source.h", "compiler/artifact.h", "compiler/target.h", "runtime/"},
     {"fmt/", "cuda", "cublas", "nvml.h"}},
    {"runtime/ptx",
     {"dsl/error.h", "dsl/source.h", "compiler/artifact.h", "compiler/target.h", "runtime/"},
     {"fmt/"}},
    {"tools", kEverything, {"fmt/", "CLI/", "nlohmann/"}},
    {"tests", kEverything, {"fmt/", "gtest/", "gmock/", "Eigen/", "nlohmann/"}},
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

/// The longest rule whose folder holds `folder`; null if none does.
const Rule* rule_of(std::string_view folder) {
  const Rule* best = nullptr;
  for (const Rule& rule : kRules) {
    bool holds = folder == rule.folder || folder.starts_with(std::string(rule.folder) + "/");
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
      "sys/",   "unistd.h", "dlfcn.h", "fcntl.h",     "spawn.h", "poll.h",         "signal.h",
      "link.h", "elf.h",    "errno.h", "immintrin.h", "fenv.h",  "tl/expected.hpp"};
  return path.find('.') == std::string_view::npos && path.find('/') == std::string_view::npos
             ? true
             : starts_with_any(path, system);
}

/// What is wrong with `include` in a file of `folder`; empty if nothing is.
std::string fault_of(const std::string& folder, const Include& include) {
  const Rule* rule = rule_of(folder);
  if (rule == nullptr) return "the folder has no rule";
  if (include.quoted) {
    std::string own = folder + "/";
    bool allowed = (include.path.starts_with(own) &&
                    include.path.find('/', own.size()) == std::string::npos) ||
                   starts_with_any(include.path, rule->may_include);
    return allowed ? "" : std::string(rule->folder) + "/ may not include " + include.path;
  }
  bool allowed = is_system(include.path) || starts_with_any(include.path, rule->third_party);
  return allowed ? "" : std::string(rule->folder) + "/ may not include <" + include.path + ">";
}

TEST(IncludeRule, EveryFileKeepsIt) {
  const fs::path root = TILEC_SOURCE_DIR;
  int seen = 0;
  for (std::string_view top : {"dsl", "compiler", "runtime", "tools", "tests"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".h")) continue;
      ++seen;
      std::ifstream text(entry.path());
      std::string folder = fs::relative(entry.path().parent_path(), root).string();
      for (const Include& include : includes_of(text)) {
        EXPECT_EQ(fault_of(folder, include), "")
            << fs::relative(entry.path(), root).string() << ":" << include.line;
      }
    }
  }
  EXPECT_GT(seen, 10) << "found next to no source files under " << root;
}

TEST(IncludeRule, FindsWhatBreaksIt) {
  struct Case {
    const char* folder;
    const char* line;
    bool allowed;
  };
  const Case cases[] = {
      {"dsl", "#include \"dsl/spec.h\"", true},
      {"dsl", "#include <vector>", true},
      {"dsl", "#include <tl/expected.hpp>", true},
      {"dsl", "#include \"compiler/target.h\"", false},
      {"dsl", "#include <llvm/IR/IRBuilder.h>", false},
      {"compiler", "#include \"compiler/target.h\"", true},
      {"compiler", "#include \"compiler/ir/kernel.h\"", false},
      {"compiler/passes", "#include \"compiler/ir/kernel.h\"", true},
      {"compiler/passes", "#include \"compiler/codegen/emit.h\"", false},
      {"compiler/codegen", "#include <llvm/IR/IRBuilder.h>", true},
      {"compiler/sass", "#include \"dsl/spec.h\"", false},
      {"compiler/sass", "#include \"dsl/error.h\"", true},
      {"compiler/report", "#include \"compiler/sass/decode.h\"", true},
      {"compiler/report", "#include \"compiler/ir/kernel.h\"", false},
      {"runtime/cuda", "#include <cuda.h>", true},
      {"runtime/ptx", "#include <cuda.h>", false},
      {"runtime", "#include \"compiler/codegen/emit.h\"", false},
      {"tools", "#include <CLI/CLI.hpp>", true},
      {"tools", "#include <llvm/IR/IRBuilder.h>", false},
      {"tests/dsl", "#include \"dsl/spec.h\"", true},
      {"somewhere", "#include <vector>", false},
  };
  for (const Case& c : cases) {
    std::istringstream text(c.line);
    std::vector<Include> found = includes_of(text);
    ASSERT_EQ(found.size(), 1u) << c.line;
    EXPECT_EQ(fault_of(c.folder, found[0]).empty(), c.allowed) << c.folder << ": " << c.line;
  }
}

}  // namespace
}  // namespace tilec
