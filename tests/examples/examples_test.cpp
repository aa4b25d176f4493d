// The examples themselves: numbered, explained, and assembled for every machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <regex>
#include <vector>

#include "compiler/target.h"
#include "dsl/complete.h"
#include "dsl/parser.h"
#include "dsl/space.h"
#include "tests/examples/shell.h"

namespace tilec {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_ending(const std::string& end) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / "examples")) {
    if (entry.path().extension() == end) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> ladder() {
  std::vector<std::string> names = files_ending(".tile");
  std::erase_if(names, [](const std::string& name) { return std::isdigit(name[0]) == 0; });
  return names;
}

std::vector<dsl::Limits> all_limits() {
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  return limits;
}

TEST(Examples, RungsAreNumberedWithoutGaps) {
  const std::vector<std::string> names = ladder();
  ASSERT_GE(names.size(), 11U);
  for (size_t i = 0; i < names.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    const std::string digits = (number < 10 ? "0" : "") + std::to_string(number);
    EXPECT_TRUE(std::regex_match(names[i], std::regex(digits + "_[a-z_]+\\.tile"))) << names[i];
  }
}

TEST(Examples, SayTheirIdeaAndWhatToLookAt) {
  std::vector<std::string> names = files_ending(".tile");
  std::ranges::copy(files_ending(".space"), std::back_inserter(names));
  for (const std::string& name : names) {
    const std::string text = text_of(kRoot / "examples" / name);
    EXPECT_TRUE(text.starts_with("# ")) << name;
    if (name.ends_with(".tile")) {
      EXPECT_NE(text.find("\n# Look at: "), std::string::npos) << name;
    }
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      EXPECT_LE(text.find('\n', at) - at, 100U) << name;
    }
  }
}

// One idea a rung: its spec is one line, and is the one that examples/README.md speaks of.
TEST(Examples, RungsAreTheOnesOfTheWalk) {
  const std::string walk = text_of(kRoot / "examples/README.md");
  size_t at = 0;
  for (const std::string& name : ladder()) {
    const std::string text = text_of(kRoot / "examples" / name);
    const std::string spec = text.substr(text.rfind('\n', text.size() - 2) + 1);
    EXPECT_TRUE(spec.starts_with("tile ")) << name << " has more than one line of spec";
    const size_t section = walk.find("\n## " + name.substr(0, 2) + " ", at);
    ASSERT_NE(section, std::string::npos) << "README.md has no section on " << name;
    const size_t shown = walk.find("\n    " + spec, section);
    EXPECT_NE(shown, std::string::npos) << "README.md does not show the spec of " << name;
    EXPECT_LT(shown, walk.find("\n## ", section + 1)) << name << " is shown elsewhere";
    at = section;
  }
}

// Down to a cubin where there is an assembler, else down to PTX.
TEST(Examples, AssembleForEveryTarget) {
  const bool assembles =
      shell("'" TILEC_BINARY "' compile 'tile 16x16' --emit cubin >/dev/null").code == 0;
  const std::string stage = assembles ? "cubin" : "ptx --assembler none";
  std::vector<std::future<std::pair<std::string, Outcome>>> runs;
  for (const Target& target : targets()) {
    runs.push_back(std::async(std::launch::async, [&target, &stage] {
      std::pair<std::string, Outcome> worst{target.limits.target, {.code = 0, .output = ""}};
      for (const std::string& name : files_ending(".tile")) {
        const Folder folder;
        const Outcome outcome =
            shell("'" TILEC_BINARY "' compile examples/" + name + " --target " +
                  target.limits.target + " --emit " + stage + " -o '" + folder.path() + "'");
        if (outcome.code != 0) worst.second = {outcome.code, name + "\n" + outcome.output};
      }
      return worst;
    }));
  }
  for (auto& run : runs) {
    const auto [target, worst] = run.get();
    EXPECT_EQ(worst.code, 0) << target << ", " << worst.output;
  }
  if (!assembles) GTEST_SKIP() << "no assembler here: examples were compiled down to PTX alone";
}

std::vector<std::string> kernels_of(const std::string& name) {
  const auto asts = dsl::parse({name, text_of(kRoot / "examples" / name)});
  EXPECT_TRUE(asts) << dsl::render(asts.error());
  std::vector<std::string> kernels;
  if (asts) std::ranges::transform(*asts, std::back_inserter(kernels), &dsl::SpecAst::name);
  return kernels;
}

TEST(Examples, SpillNothingOnTheMachineTheyAreMeasuredOn) {
  for (const std::string& name : files_ending(".tile")) {
    for (const std::string& kernel : kernels_of(name)) {
      const Outcome outcome = shell("'" TILEC_BINARY "' report examples/" + name + " --kernel " +
                                    kernel + " --target sm_90a --json");
      ASSERT_EQ(outcome.code, 0) << name << " " << kernel << outcome.output;
      if (outcome.output.find("\"steady_loop\"") == std::string::npos)
        GTEST_SKIP() << "no assembler";
      const auto report = nlohmann::json::parse(outcome.output);
      EXPECT_EQ(report["spills"], 0) << name << " " << kernel;
      EXPECT_EQ(report["stack"], 0) << name << " " << kernel;
    }
  }
}

// A space has as many members as its comment says, the best spec among them, and each is legal or
// refused by name.
TEST(Examples, SpacesExpand) {
  for (const std::string& name : files_ending(".space")) {
    const std::string text = text_of(kRoot / "examples" / name);
    const auto asts = dsl::parse({name, text});
    ASSERT_TRUE(asts) << dsl::render(asts.error());
    ASSERT_EQ(asts->size(), 1U);
    EXPECT_TRUE(dsl::is_space(asts->front()));
    const auto members = dsl::expand(asts->front());
    ASSERT_TRUE(members) << dsl::render(members.error());
    std::smatch said;
    ASSERT_TRUE(std::regex_search(text, said, std::regex("= ([0-9]+) specs"))) << name;
    EXPECT_EQ(members->size(), std::stoul(said[1])) << name;

    const auto best =
        dsl::read_specs({"12", text_of(kRoot / "examples/12_best.tile")}, all_limits(), "sm_90a");
    ASSERT_TRUE(best) << dsl::render(best.error());
    int legal = 0;
    bool best_is_there = false;
    for (const dsl::SpecAst& member : *members) {
      const auto spec = dsl::complete(member, all_limits(), "sm_90a");
      if (!spec) {
        EXPECT_EQ(spec.error().road, dsl::Road::user) << dsl::render(spec.error());
        continue;
      }
      ++legal;
      best_is_there = best_is_there || *spec == best->front();
    }
    EXPECT_GT(legal, 1) << name;
    EXPECT_TRUE(best_is_there) << name;
  }
}

}  // namespace
}  // namespace tilec
