// The manual is true: its examples complete, its spaces expand, its refusal is what is said, and
// no clause is missing from it.
#include <gtest/gtest.h>

#include "dsl/ast.h"
#include "dsl/space.h"
#include "tests/dsl/support.h"

namespace tilec::dsl {
namespace {

const std::string kManual = test::read_file(std::string(TILEC_SOURCE_DIR) + "/dsl/README.md");

// The bodies of the blocks fenced as `fence`.
std::vector<std::string> blocks(const std::string& fence) {
  std::vector<std::string> out;
  std::string open = "\n```" + fence + "\n";
  for (size_t at = kManual.find(open); at != std::string::npos; at = kManual.find(open, at)) {
    at += open.size();
    size_t end = kManual.find("```\n", at);
    out.push_back(kManual.substr(at, end - at));
    at = end + 3;
  }
  return out;
}

TEST(Manual, ItsExamplesComplete) {
  std::vector<std::string> examples = blocks("tile");
  EXPECT_GE(examples.size(), 10u);
  for (const std::string& example : examples) EXPECT_EQ(test::faults_of(example), "") << example;
}

TEST(Manual, ItsSpacesExpand) {
  std::vector<std::string> spaces = blocks("space");
  ASSERT_EQ(spaces.size(), 1u);
  auto asts = parse({"<space>", spaces[0]});
  ASSERT_TRUE(asts);
  auto members = expand(asts->front());
  ASSERT_TRUE(members);
  EXPECT_EQ(members->size(), 16u);
  for (const SpecAst& member : *members) {
    EXPECT_TRUE(complete(member, test::all_limits(), "sm_90a"));
  }
}

TEST(Manual, ItsRefusalIsWhatIsSaid) {
  std::vector<std::string> refusals = blocks("text");
  ASSERT_EQ(refusals.size(), 1u);
  auto spec = test::complete("tile 128x128 warp 64x48 thread 8x12 stages 2");
  ASSERT_FALSE(spec);
  EXPECT_EQ(render(spec.error()), refusals[0]);
}

TEST(Manual, NoClauseIsMissing) {
  for (const ClauseRow& row : clause_rows()) {
    EXPECT_NE(kManual.find("`" + std::string(row.word)), std::string::npos) << row.word;
  }
}

TEST(Manual, NoTargetIsMissing) {
  for (const Limits& target : test::all_limits()) {
    EXPECT_NE(kManual.find("`" + target.target + "`"), std::string::npos) << target.target;
  }
}

}  // namespace
}  // namespace tilec::dsl
