// Every row of the table of diagnostics has an input in must_fail/ that draws it, named by its
// code: CODE.tile is a spec, CODE.space a space, CODE.shape a shape. CODE.txt is what is said.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "dsl/diagnostics.h"
#include "dsl/read_source.h"
#include "dsl/shape.h"
#include "dsl/space.h"
#include "tests/dsl/support.h"

namespace tilec::dsl {
namespace {

const std::string kFolder = std::string(TILEC_SOURCE_DIR) + "/tests/dsl/must_fail/";

std::string extension(DrawnBy drawn_by) {
  switch (drawn_by) {
    case DrawnBy::space:
      return ".space";
    case DrawnBy::shape:
      return ".shape";
    default:
      return ".tile";
  }
}

// The error that the row's input draws; none if the input is accepted.
std::optional<Error> drawn(const FaultRow& row, const std::string& text) {
  std::string name = std::string(row.code) + extension(row.drawn_by);
  if (row.drawn_by == DrawnBy::spec) {
    auto specs = read_specs({name, text}, test::all_limits(), "sm_90a");
    if (!specs) return specs.error();
  } else if (row.drawn_by == DrawnBy::space) {
    auto asts = parse({name, text});
    if (!asts) return asts.error();
    auto members = expand(asts->front());
    if (!members) return members.error();
  } else {
    auto shape = parse_shape(text);
    if (!shape) return shape.error();
    auto blocks = grid_blocks(test::spec_of("tile 16x16 edges exact"), *shape);
    if (row.fault == Fault::grid_over_limit) {
      blocks = grid_blocks(test::spec_of("tile 16x16"), *shape);
    }
    if (!blocks) return blocks.error();
  }
  return std::nullopt;
}

TEST(MustFail, TheTableIsInOrderWithUniqueCodes) {
  std::set<std::string_view> codes;
  int index = 0;
  for (const FaultRow& row : fault_rows()) {
    EXPECT_EQ(static_cast<int>(row.fault), index++) << row.code;
    EXPECT_TRUE(codes.insert(row.code).second) << row.code;
    EXPECT_FALSE(row.meaning.empty()) << row.code;
    EXPECT_EQ(row.meaning.find('\n'), std::string_view::npos) << row.code;
  }
}

TEST(MustFail, EachRowIsDrawnByItsInputAndSaysWhatIsWritten) {
  for (const FaultRow& row : fault_rows()) {
    if (row.drawn_by == DrawnBy::argument) continue;  // read_source_test.cpp
    std::string stem = kFolder + std::string(row.code);
    ASSERT_TRUE(std::filesystem::exists(stem + extension(row.drawn_by))) << stem;
    std::string text = test::read_file(stem + extension(row.drawn_by));
    std::optional<Error> error = drawn(row, text);
    if (!error) {
      ADD_FAILURE() << row.code << " was not drawn";
      continue;
    }
    EXPECT_NE((" " + test::codes(*error) + " ").find(fmt::format(" {} ", row.code)),
              std::string::npos)
        << row.code << " expected, found " << test::codes(*error);
    test::expect_golden(stem + ".txt", render(*error));
  }
}

TEST(MustFail, NoFileIsLeftOver) {
  std::set<std::string> known;
  for (const FaultRow& row : fault_rows()) {
    known.insert(std::string(row.code) + ".txt");
    known.insert(std::string(row.code) + extension(row.drawn_by));
  }
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    EXPECT_TRUE(known.contains(entry.path().filename().string())) << entry.path();
  }
}

// Where a rule is broken, the text ends with a legal spec.
TEST(MustFail, TheWayOutOfEachRuleIsLegal) {
  for (const FaultRow& row : fault_rows()) {
    if (row.fault < Fault::warp_does_not_divide_tile || row.drawn_by != DrawnBy::spec) continue;
    std::string rendered = test::read_file(kFolder + std::string(row.code) + ".txt");
    std::string nearest = test::quoted_after(rendered, "nearest legal spec: ");
    ASSERT_NE(nearest, "") << row.code;
    EXPECT_EQ(test::faults_of(nearest), "") << nearest;
  }
}

}  // namespace
}  // namespace tilec::dsl
