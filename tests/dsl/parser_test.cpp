#include "dsl/parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/space.h"
#include "tests/dsl/support.h"

namespace tilec::dsl {
namespace {

std::string role_name(Role role) {
  constexpr std::string_view kNames[] = {"m",      "n",        "k",           "value",   "global",
                                         "shared", "order",    "orientation", "padding", "swizzled",
                                         "width",  "producer", "consumer"};
  return std::string(kNames[static_cast<size_t>(role)]);
}

// name: clause(role=value, ...) ...
std::string print(const SpecAst& ast) {
  std::string out = ast.name + ":";
  for (const Clause& clause : ast.clauses) {
    std::vector<std::string> slots;
    slots.reserve(clause.slots.size() + 1);
    for (const Slot& slot : clause.slots) {
      std::vector<std::string> choices;
      choices.reserve(slot.choices.size());
      for (const Atom& atom : slot.choices) {
        choices.push_back(atom.word.empty() ? fmt::format("{}", atom.number) : atom.word);
      }
      std::string_view operand = slot.operand == Operand::a   ? "a."
                                 : slot.operand == Operand::b ? "b."
                                                              : "";
      slots.push_back(fmt::format("{}{}={}{}", operand, role_name(slot.role),
                                  slot.at_most ? "<=" : "", fmt::join(choices, "|")));
    }
    if (clause.kind == ClauseKind::epilogue) slots.push_back(to_string(clause.expression));
    out += fmt::format(" {}({})", row_of(clause.kind).word, fmt::join(slots, ", "));
  }
  return out;
}

std::string parsed(const std::string& text) {
  auto asts = parse({"<spec>", text});
  if (!asts) return "! " + test::codes(asts.error());
  std::string out;
  for (const SpecAst& ast : *asts) out += (out.empty() ? "" : "; ") + print(ast);
  return out;
}

struct Case {
  std::string text, printed;
};

TEST(Parser, ReadsEveryClause) {
  for (const Case& c : {
           Case{"tile 128x64", "gemm: tile(m=128, n=64)"},
           {"tile 128x64x8", "gemm: tile(m=128, n=64, k=8)"},
           {"tile 128 x 64 x 8", "gemm: tile(m=128, n=64, k=8)"},
           {"warp 64x32 thread 8x8", "gemm: warp(m=64, n=32) thread(m=8, n=8)"},
           {"mma 16x8x8", "gemm: mma(m=16, n=8, k=8)"},
           {"stages 3 registers 128", "gemm: stages(value=3) registers(value=128)"},
           {"copy tma", "gemm: copy(value=tma)"},
           {"vector 4", "gemm: vector(global=4)"},
           {"vector at_most 4", "gemm: vector(global=<=4)"},
           {"vector global 4 shared 2", "gemm: vector(global=4, shared=2)"},
           {"vector shared 2 global 4", "gemm: vector(shared=2, global=4)"},
           {"vector global at_most 4 shared at_most 2", "gemm: vector(global=<=4, shared=<=2)"},
           {"vector 4 shared plain", "gemm: vector(global=4) shared(orientation=plain)"},
           {"vector global 4 shared plain", "gemm: vector(global=4) shared(orientation=plain)"},
           {"lanes rows", "gemm: lanes(order=rows)"},
           {"lanes 8x4", "gemm: lanes(m=8, n=4)"},
           {"lanes 8x4 rows", "gemm: lanes(m=8, n=4, order=rows)"},
           {"lanes columns 8x4", "gemm: lanes(order=columns, m=8, n=4)"},
           {"fragment split", "gemm: fragment(value=split)"},
           {"shared padded 4", "gemm: shared(padding=4)"},
           {"shared a transposed padded 4 b plain",
            "gemm: shared(a.orientation=transposed, a.padding=4, b.orientation=plain)"},
           {"shared b swizzled", "gemm: shared(b.swizzled=swizzled)"},
           {"blocks_per_sm 2", "gemm: blocks_per_sm(value=2)"},
           {"raster swizzle 8", "gemm: raster(order=swizzle, width=8)"},
           {"raster columns", "gemm: raster(order=columns)"},
           {"split_k 4", "gemm: split_k(value=4)"},
           {"stream_k persistent", "gemm: stream_k() persistent()"},
           {"cluster 2x1", "gemm: cluster(m=2, n=1)"},
           {"cluster 1x1x4", "gemm: cluster(m=1, n=1, k=4)"},
           {"roles producer 1 consumer 2", "gemm: roles(producer=1, consumer=2)"},
           {"type f16 accumulate f32 output bf16",
            "gemm: type(value=f16) accumulate(value=f32) output(value=bf16)"},
           {"layout tn edges exact sass off target sm_80",
            "gemm: layout(value=tn) edges(value=exact) sass(value=off) target(value=sm_80)"},
           {"epilogue alpha*acc stages 1", "gemm: epilogue(alpha*acc) stages(value=1)"},
       }) {
    EXPECT_EQ(parsed(c.text), c.printed) << c.text;
  }
}

TEST(Parser, ExamplesOfTheClauseTableParse) {
  for (const ClauseRow& row : clause_rows()) {
    EXPECT_EQ(parsed(std::string(row.example)).substr(0, 6 + row.word.size()),
              "gemm: " + std::string(row.word))
        << row.example;
  }
}

TEST(Parser, ReadsCommentsLinesAndKernels) {
  EXPECT_EQ(parsed("tile 8x8 # comment: warp 3\r\n\tthread 1x1"),
            "gemm: tile(m=8, n=8) thread(m=1, n=1)");
  EXPECT_EQ(parsed("kernel a { tile 8x8 } kernel b_2 { tile 4x4 stages 2 }"),
            "a: tile(m=8, n=8); b_2: tile(m=4, n=4) stages(value=2)");
  EXPECT_EQ(parsed("\xef\xbb\xbftile 8x8"), "gemm: tile(m=8, n=8)");
  EXPECT_EQ(parsed("# nothing\n  # at all\n"), "! empty-spec");
}

TEST(Parser, ReadsSets) {
  for (const Case& c : {
           Case{"tile {64,128}x{32..34}x8", "gemm: tile(m=64|128, n=32|33|34, k=8)"},
           {"stages { 2 .. 4 , 9 }", "gemm: stages(value=2|3|4|9)"},
           {"stages {2,2,3}", "gemm: stages(value=2|3)"},
           {"copy {register,async}", "gemm: copy(value=register|async)"},
           {"vector global {1,4} shared at_most {1,2}", "gemm: vector(global=1|4, shared=<=1|2)"},
           {"vector global 4 shared {1,2}", "gemm: vector(global=4, shared=1|2)"},
           {"vector global 4 shared {plain,transposed}",
            "gemm: vector(global=4) shared(orientation=plain|transposed)"},
           {"lanes {rows,columns} layout {nn,tt}",
            "gemm: lanes(order=rows|columns) layout(value=nn|tt)"},
           {"kernel a { stages {1,2} } kernel b { stages 1 }",
            "a: stages(value=1|2); b: stages(value=1)"},
           {"raster swizzle {2,4}", "gemm: raster(order=swizzle, width=2|4)"},
           {"stages {5..2}", "! range-backwards"},
           {"stages {}", "! expected-number"},
           {"stages {1,}", "! expected-number"},
           {"stages {1 2}", "! malformed-set"},
           {"stages {1", "! malformed-set"},
           {"stages {1..9223372036854775807}", "! set-too-long"},
           {"stages {-9223372036854775807..9223372036854775807}", "! set-too-long"},
           {"raster {rows,swizzle} 4", "! malformed-set"},
           {"copy {register,1}", "! expected-word"},
           {"stages {1,two}", "! expected-number"},
           {"stages {1,two tile 4x4", "! expected-number"},
       }) {
    EXPECT_EQ(parsed(c.text), c.printed) << c.text;
  }
}

TEST(Parser, GoesOnBehindAFault) {
  for (const Case& c : {
           Case{"tile 8 stages x copy foo", "! expected-cross expected-number unknown-word"},
           {"sages 2 foo 3 stages y", "! unknown-clause unknown-clause expected-number"},
           {"coppy async tile 8x8 8", "! unknown-clause stray-token"},
           {"stages 2 3 tile 8x8 }", "! stray-token stray-token"},
           {"tile 8x8x8x8 stages 2 2", "! stray-token stray-token"},
           {"kernel { tile 8x8 } kernel 3 { tile 8 } kernel tile { stages 1 }",
            "! bad-kernel-name bad-kernel-name expected-cross reserved-kernel-name"},
           {"kernel a { tile 8x8 kernel a { tile 4x4",
            "! unterminated-block unterminated-block duplicate-kernel"},
           {"kernel a tile 8x8 }", "! expected-block"},
           {"tile 8x8 kernel a { tile 4x4 } stages 1", "! clause-outside-kernel"},
           {"kernel a-b { tile 4x4 }", "! bad-kernel-name"},
           {"tile 8x8 tile 4x4 tile 2x2", "! clause-twice clause-twice"},
           {"@ tile 8x8 ! stages 1", "! unexpected-character unexpected-character"},
           {"tile 8x8 \xe2\x82\xac\xe2\x82\xac", "! unexpected-character"},
           {"tile 128X128", "! malformed-number"},
           {"tile 8x8warp 4x4", "! malformed-number"},
           {"tile 99999999999999999999x8", "! number-too-large"},
           {"stages 1.5", "! expected-number"},
           {"vector", "! expected-number"},
           {"lanes", "! expected-word"},
           {"lanes 8", "! expected-cross"},
           {"shared", "! expected-word"},
           {"shared a", "! expected-word"},
           {"shared a b plain", "! expected-word"},
           {"shared padded 4 padd 3", "! unknown-clause"},
           {"shared padd 3", "! unknown-word"},
           {"shared padded", "! expected-number"},
           {"roles producer 1", "! expected-word"},
           {"roles consumer 1", "! expected-word"},
           {"epilogue", "! expected-operand"},
           {"epilogue alpha acc", "! unknown-clause"},
           {"epilogue acc / 2", "! division"},
           {"epilogue (acc + c", "! unclosed-parenthesis"},
           {"epilogue acc + stages 2", "! expected-operand"},
           {"epilogue relu acc", "! activation-not-built expected-operand"},
           {"epilogue relu(acc + bias)", "! activation-not-built bias-not-built"},
           {"epilogue alfa*acc", "! unknown-operand"},
       }) {
    EXPECT_EQ(parsed(c.text), c.printed) << c.text;
  }
}

TEST(Parser, SuggestsWhatWasMeant) {
  struct Suggestion {
    std::string text, help;
  };
  for (const Suggestion& c : {
           Suggestion{"sages 2", "did you mean `stages`?"},
           {"TILE 8x8", "did you mean `tile`?"},
           {"copy asynch", "did you mean `async`?"},
           {"swizzle 4", "`swizzle` is a word of the clause `raster`"},
           {"epilogue alpha acc", "joined by `*`"},
           {"tile 64X32", "small `x`"},
           {"epilogue betta*c", "did you mean `beta`?"},
       }) {
    auto asts = parse({"<spec>", c.text});
    ASSERT_FALSE(asts) << c.text;
    EXPECT_NE(asts.error().diagnostics[0].help.find(c.help), std::string::npos)
        << render(asts.error());
  }
}

TEST(Parser, RefusesWhatIsNoText) {
  EXPECT_EQ(parsed(std::string("tile 8x8\0", 9)), "! not-text");
  EXPECT_EQ(parsed("tile \xff"), "! not-text");
  EXPECT_EQ(parsed(std::string(kMostSourceBytes + 1, ' ')), "! source-too-large");
  EXPECT_EQ(parsed(std::string(kMostSourceBytes, ' ')), "! empty-spec");
}

TEST(Parser, LongInputIsReadInGoodTime) {
  std::string many;
  while (many.size() < kMostSourceBytes - 100) many += "foo 3 { } ( ";
  auto asts = parse({"<spec>", many});
  ASSERT_FALSE(asts);
  EXPECT_EQ(asts.error().diagnostics.size(), 21u);
  EXPECT_EQ(asts.error().diagnostics.back().code, "too-many-faults");
}

TEST(Space, CountsAndExpandsItsMembers) {
  auto asts = parse({"<space>", "tile {64,128}x32x{8,16} copy {register,async} stages {2..4}"});
  ASSERT_TRUE(asts);
  const SpecAst& space = asts->front();
  EXPECT_TRUE(is_space(space));
  EXPECT_EQ(count_members(space), 24);
  auto members = expand(space);
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 24u);
  EXPECT_EQ(print((*members)[0]),
            "gemm: tile(m=64, n=32, k=8) copy(value=register) stages(value=2)");
  EXPECT_EQ(print((*members)[1]),
            "gemm: tile(m=64, n=32, k=8) copy(value=register) stages(value=3)");
  EXPECT_EQ(print((*members)[23]),
            "gemm: tile(m=128, n=32, k=16) copy(value=async) stages(value=4)");
  for (const SpecAst& member : *members) {
    EXPECT_FALSE(is_space(member));
    EXPECT_TRUE(complete(member, test::all_limits(), "sm_90a") ||
                member.find(ClauseKind::tile));  // legal or not, it has no set
  }
}

TEST(Space, ASpecIsItsOnlyMember) {
  auto asts = parse({"<space>", "tile 64x{32}"});
  ASSERT_TRUE(asts);
  EXPECT_FALSE(is_space(asts->front()));
  auto members = expand(asts->front());
  ASSERT_TRUE(members);
  EXPECT_EQ(members->size(), 1u);
}

TEST(Space, IsBounded) {
  auto asts = parse({"<space>", "tile {1..1000}x{1..1000}x{1..256} stages {1..16}"});
  ASSERT_TRUE(asts);
  auto members = expand(asts->front());
  ASSERT_FALSE(members);
  EXPECT_EQ(test::codes(members.error()), "space-too-large");
  auto few = parse({"<space>", "tile {1..10}x{1..10}"});
  EXPECT_TRUE(expand(few->front(), 100));
  EXPECT_FALSE(expand(few->front(), 99));
}

}  // namespace
}  // namespace tilec::dsl
