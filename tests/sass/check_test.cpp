#include "compiler/report/check.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/sass/report_support.h"

namespace tilec {
namespace {

const Report& sgemm() {
  static const Report report = report_of("sm_90a");
  return report;
}

struct VerdictRow {
  const char* budget;
  bool passed;
};

TEST(Check, JudgesEveryComparison) {
  const VerdictRow rows[] = {
      {"fma_share>=0.85", true},
      {"fma_share>=85%", true},
      {"fma_share >= 90%", false},
      {"fma == 512", true},
      {"fma != 512", false},
      {"fma<512", false},
      {"fma<=512", true},
      {"fma>512", false},
      {"fma>=512", true},
      {"spills==0", true},
      {"conflicts==0", false},
      {"registers<=128", true},
      {"register_conflicts<0.1", false},
      {"threads==2.56e2", true},
      {"blocks_per_sm>=2", true},
      {"shared_bytes<=16384", true},
      {"unknown==0", true},
      {"instructions<600", true},
  };
  for (const VerdictRow& row : rows) {
    const auto budgets = parse_budgets(row.budget, sgemm());
    ASSERT_TRUE(budgets) << dsl::render(budgets.error());
    const std::vector<Judgement> judgements = judge(*budgets, sgemm());
    ASSERT_EQ(judgements.size(), 1U);
    EXPECT_EQ(judgements[0].passed, row.passed) << row.budget;
    EXPECT_EQ(all_passed(judgements), row.passed);
  }
}

TEST(Check, ReadsSeveralBudgets) {
  const auto budgets = parse_budgets(" fma_share >= 0.85 ,spills==0,\n conflicts==0 ", sgemm());
  ASSERT_TRUE(budgets);
  ASSERT_EQ(budgets->size(), 3U);
  EXPECT_EQ((*budgets)[0].text, "fma_share >= 0.85");
  EXPECT_EQ((*budgets)[1].figure, "spills");
  EXPECT_EQ((*budgets)[2].text, "conflicts==0");
}

struct FaultRow {
  const char* text;
  const char* code;
  uint32_t begin, end;  // the span
  const char* help;     // part of it
};

TEST(Check, PointsAtEveryFault) {
  const FaultRow rows[] = {
      {"", "budget-empty", 0, 0, "for example"},
      {"  ", "budget-empty", 2, 2, "for example"},
      {"spills==0,", "budget-empty", 10, 10, "for example"},
      {"spils==0", "budget-figure", 0, 5, "did you mean `spills`?"},
      {"zzzzzzzz==0", "budget-figure", 0, 8, "figures are registers, spills"},
      {"==0", "budget-figure", 0, 1, "for example"},
      {"spills 0", "budget-operator", 7, 8, "one of =="},
      {"spills=0", "budget-operator", 6, 7, "did you mean `==`?"},
      {"spills", "budget-operator", 6, 6, "one of =="},
      {"spills==", "budget-number", 8, 8, ""},
      {"spills==zero", "budget-number", 8, 12, ""},
      {"spills==nan", "budget-number", 8, 11, ""},
      {"spills==1e999", "budget-number", 8, 13, ""},
      {"shared_bytes<=48kB", "budget-number", 14, 18, "plain numbers"},
      {"spills==0 fma>3", "budget-separator", 10, 11, ""},
  };
  for (const FaultRow& row : rows) {
    const auto budgets = parse_budgets(row.text, sgemm());
    ASSERT_FALSE(budgets) << row.text;
    EXPECT_EQ(budgets.error().road, dsl::Road::user);
    ASSERT_EQ(budgets.error().diagnostics.size(), 1U) << dsl::render(budgets.error());
    const dsl::Diagnostic& fault = budgets.error().diagnostics[0];
    EXPECT_EQ(fault.code, row.code) << row.text;
    EXPECT_EQ(fault.span, (dsl::Span{row.begin, row.end})) << row.text;
    EXPECT_NE(fault.help.find(row.help), std::string::npos) << fault.help;
  }
}

TEST(Check, ReportsSeveralFaultsTogether) {
  const auto budgets = parse_budgets("spils==0, fma_share>=0.8, registers=128, fma>x", sgemm());
  ASSERT_FALSE(budgets);
  EXPECT_EQ(budgets.error().diagnostics.size(), 3U);
  const std::string text = dsl::render(budgets.error());
  EXPECT_NE(text.find("^~~~~"), std::string::npos) << text;
}

TEST(Check, ExtraFiguresStandBeforeTheReports) {
  const ExtraFigures extra = {{"conflicts", 3}, {"sectors_per_request", 4}};
  const auto budgets = parse_budgets("conflicts==0, sectors_per_request<=4", sgemm(), extra);
  ASSERT_TRUE(budgets);
  const std::vector<Judgement> judgements = judge(*budgets, sgemm(), extra);
  EXPECT_FALSE(judgements[0].passed);
  EXPECT_EQ(judgements[0].value, 3);
  EXPECT_TRUE(judgements[1].passed);
  EXPECT_FALSE(parse_budgets("sectors_per_request<=4", sgemm()));
}

TEST(Check, AMissingFigureFailsAndSaysWhy) {
  const auto budgets = parse_budgets("executed_fma_share>=0", sgemm());
  ASSERT_TRUE(budgets);
  const std::vector<Judgement> judgements = judge(*budgets, sgemm());
  EXPECT_FALSE(judgements[0].passed);
  EXPECT_EQ(judgements[0].missing, "it needs a shape");
  EXPECT_EQ(format_judgements(judgements), "failed  executed_fma_share>=0  it needs a shape\n");

  const Artifact artifact = artifact_of(kSgemmSpec, "");
  const auto bare = build_report(artifact, *find_target("sm_90a"), {});
  ASSERT_TRUE(bare);
  const std::vector<Judgement> without_code = judge(*parse_budgets("fma_share>=0", *bare), *bare);
  EXPECT_NE(without_code[0].missing.find("no assembler"), std::string::npos);
}

TEST(Check, FigureNamesDiffer) {
  std::set<std::string_view> names;
  for (const Figure& figure : figures(sgemm())) {
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
    EXPECT_FALSE(figure.meaning.empty());
  }
}

}  // namespace
}  // namespace tilec
