#include "dsl/source.h"

#include <gtest/gtest.h>

#include "dsl/diagnostics.h"
#include "dsl/error.h"
#include "dsl/text.h"

namespace tilec::dsl {
namespace {

TEST(Source, CountsLinesAndColumnsFromOne) {
  Source source{"s", "ab\ncd\n\nx"};
  struct Case {
    uint32_t offset;
    int line, column;
  };
  for (const Case& c : {Case{0, 1, 1},
                        {1, 1, 2},
                        {2, 1, 3},
                        {3, 2, 1},
                        {6, 3, 1},
                        {7, 4, 1},
                        {8, 4, 2},
                        {1000, 4, 2}}) {
    Position position = source.position(c.offset);
    EXPECT_EQ(position.line, c.line) << c.offset;
    EXPECT_EQ(position.column, c.column) << c.offset;
  }
}

TEST(Source, GivesLinesWithoutTheirEnds) {
  Source source{"s", "ab\r\ncd\n\nx"};
  EXPECT_EQ(source.line(1), "ab");
  EXPECT_EQ(source.line(2), "cd");
  EXPECT_EQ(source.line(3), "");
  EXPECT_EQ(source.line(4), "x");
  EXPECT_EQ(source.line(5), "");
}

std::string rendered(const std::string& text, Span span) {
  return render(user_error({"f.tile", text}, {diagnose(Fault::unknown_clause, span, "why")}));
}

TEST(Render, PutsTheCaretUnderTheSpan) {
  EXPECT_EQ(rendered("tile 4x4\nfoo bar", {13, 16}),
            "f.tile:2:5: error: why [unknown-clause]\n  foo bar\n      ^~~\n");
  EXPECT_EQ(rendered("", {0, 0}), "f.tile:1:1: error: why [unknown-clause]\n  \n  ^\n");
  EXPECT_EQ(rendered("ab", {2, 2}), "f.tile:1:3: error: why [unknown-clause]\n  ab\n    ^\n");
}

TEST(Render, KeepsTheCaretInPlaceBehindTabsAndWideCharacters) {
  EXPECT_EQ(rendered("\tfoo", {1, 4}), "f.tile:1:2: error: why [unknown-clause]\n   foo\n   ^~~\n");
  EXPECT_EQ(rendered("\xc3\xa9 foo", {3, 6}),
            "f.tile:1:4: error: why [unknown-clause]\n  \xc3\xa9 foo\n    ^~~\n");
}

TEST(Render, CutsLongLinesRoundTheCaret) {
  std::string text(5000, 'a');
  text += " here " + std::string(5000, 'b');
  std::string out = rendered(text, {5001, 5005});
  EXPECT_LT(out.size(), 500u);
  size_t line = out.find('\n') + 1, caret = out.find('^');
  size_t caret_line = out.rfind('\n', caret) + 1;
  EXPECT_EQ(out.substr(line + (caret - caret_line), 4), "here");
}

TEST(Render, NeverSendsControlBytesToATerminal) {
  std::string out = rendered(std::string("a\x1b[31m\x07 b\x7f", 9), {0, 1});
  for (char c : out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << int(c);
  EXPECT_EQ(out.find('\x7f'), std::string::npos);
}

TEST(Render, SpansOfSeveralLinesEndWithTheFirst) {
  EXPECT_EQ(rendered("kernel a {\n\n}", {0, 13}),
            "f.tile:1:1: error: why [unknown-clause]\n  kernel a {\n  ^~~~~~~~~~\n");
}

TEST(Render, HasNoPlaceWithoutASource) {
  Error error = Error::machine("no-driver", "there is no driver", "install one");
  EXPECT_EQ(render(error), "machine error: there is no driver [no-driver]\n  help: install one\n");
  EXPECT_NE(render(Error::internal("oops")).find("internal error: oops"), std::string::npos);
}

TEST(UserError, SortsByPlaceAndCutsOff) {
  std::vector<Diagnostic> found;
  found.reserve(100);
  for (uint32_t i = 0; i < 100; ++i) {
    found.push_back(diagnose(Fault::unknown_clause, {100 - i, 101 - i}, "m"));
  }
  Error error = user_error({"s", std::string(200, 'a')}, found);
  ASSERT_EQ(error.diagnostics.size(), kMostFaults + 1);
  EXPECT_EQ(error.diagnostics[0].span.begin, 1u);
  EXPECT_EQ(error.diagnostics.back().code, "too-many-faults");
  EXPECT_EQ(error.diagnostics.back().message, "there are more faults from here on");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("stages", "sages"), 1);
  EXPECT_EQ(edit_distance("wrap", "warp"), 1);  // two neighbours swapped
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Text, SuggestsOnlyWhatIsNear) {
  constexpr std::string_view kWords[] = {"stages", "warp", "tile"};
  EXPECT_EQ(nearest_word("STAGE", kWords), "stages");
  EXPECT_EQ(nearest_word("wrap", kWords), "warp");
  EXPECT_EQ(nearest_word("completely", kWords), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(5000, 'w'), kWords), std::nullopt);
}

TEST(Text, FindsTheFirstByteThatIsNoText) {
  struct Case {
    std::string text;
    std::optional<size_t> at;
  };
  for (const Case& c : {Case{"tile", std::nullopt},
                        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", std::nullopt},
                        {std::string("a\0b", 3), 1},
                        {"a\xff", 1},
                        {"\xc0\xaf", 0},          // overlong
                        {"a\xed\xa0\x80", 1},     // a surrogate
                        {"\xf4\x90\x80\x80", 0},  // past U+10FFFF
                        {"abc\xe2\x82", 3},       // cut short
                        {"\x7f\x45LF\x02\x01\x01", std::nullopt},
                        {std::string("\x7f\x45LF\x02\x01\x01\0", 8), 7}}) {
    EXPECT_EQ(first_binary_byte(c.text), c.at) << c.text;
  }
}

}  // namespace
}  // namespace tilec::dsl
