#include "compiler/report/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "dsl/text.h"

namespace tilec {
namespace {

struct Operator {
  std::string_view text;
  Comparison comparison;
};

// Longer ones first: `<=` is not `<` and a stray `=`.
constexpr std::array<Operator, 6> kOperators = {{
    {"==", Comparison::equal},
    {"!=", Comparison::not_equal},
    {"<=", Comparison::less_equal},
    {">=", Comparison::greater_equal},
    {"<", Comparison::less},
    {">", Comparison::greater},
}};

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Parser {
 public:
  Parser(std::string_view text, std::vector<std::string_view> names)
      : text_(text), names_(std::move(names)) {}

  dsl::Result<std::vector<Budget>> parse() {
    std::vector<Budget> budgets;
    skip_spaces();
    if (at_ == text_.size()) report("budget-empty", at_, at_, "no budget is given", kExample);
    while (at_ < text_.size()) {
      if (std::optional<Budget> budget = parse_budget()) {
        budgets.push_back(std::move(*budget));
      } else {
        at_ = std::min(text_.find(',', at_), text_.size());
      }
      skip_spaces();
      if (at_ == text_.size()) break;
      if (text_[at_] != ',') {
        report("budget-separator", at_, at_ + 1, "a comma is expected between budgets");
        at_ = std::min(text_.find(',', at_), text_.size());
        if (at_ == text_.size()) break;
      }
      ++at_;
      skip_spaces();
      if (at_ == text_.size())
        report("budget-empty", at_, at_, "a budget is expected after the comma", kExample);
    }
    if (error_.diagnostics.empty()) return budgets;
    error_.road = dsl::Road::user;
    error_.source = {"<require>", std::string(text_)};
    return tl::unexpected(std::move(error_));
  }

 private:
  static constexpr std::string_view kExample = "for example `fma_share>=0.85, spills==0`";

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }

  void report(std::string code, size_t begin, size_t end, std::string message,
              std::string_view help = "") {
    error_.diagnostics.push_back(
        {std::move(code),
         {static_cast<uint32_t>(begin), static_cast<uint32_t>(std::min(end, text_.size()))},
         std::move(message),
         std::string(help)});
  }

  // budget = figure operator number
  std::optional<Budget> parse_budget() {
    const size_t begin = at_;
    Budget budget;
    const bool has_figure = parse_figure(budget);
    if (at_ == begin) return std::nullopt;  // no name at all: nothing to go on from
    skip_spaces();
    if (!parse_operator(budget)) return std::nullopt;
    skip_spaces();
    if (!parse_number(budget) || !has_figure) return std::nullopt;
    budget.text = text_.substr(begin, at_ - begin);
    return budget;
  }

  bool parse_figure(Budget& budget) {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (std::ranges::find(names_, name) != names_.end()) {
      budget.figure = name;
      return true;
    }
    if (name.empty()) {
      report("budget-figure", begin, begin + 1, "the name of a figure is expected", kExample);
      return false;
    }
    const std::optional<std::string> nearest = dsl::nearest_word(name, names_);
    report("budget-figure", begin, at_, fmt::format("there is no figure {}", dsl::quoted(name)),
           nearest ? fmt::format("did you mean `{}`?", *nearest)
                   : fmt::format("figures are {}", dsl::join(names_, " and ")));
    return false;
  }

  bool parse_operator(Budget& budget) {
    for (const Operator& op : kOperators) {
      if (!text_.substr(at_).starts_with(op.text)) continue;
      budget.comparison = op.comparison;
      at_ += op.text.size();
      return true;
    }
    const bool assigns = at_ < text_.size() && text_[at_] == '=';
    report("budget-operator", at_, at_ + 1, "a comparison is expected",
           assigns ? "did you mean `==`?" : "one of ==, !=, <, <=, > or >=");
    return false;
  }

  bool parse_number(Budget& budget) {
    const char* first = text_.data() + at_;
    const char* last = text_.data() + text_.size();
    const auto [end, error] = std::from_chars(first, last, budget.bound);
    const size_t begin = at_;
    if (error != std::errc{} || !std::isfinite(budget.bound)) {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ' ') ++at_;
      report("budget-number", begin, std::max(at_, begin + 1), "a number is expected");
      return false;
    }
    at_ = static_cast<size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == '%') {
      budget.bound /= 100;
      ++at_;
    }
    if (at_ < text_.size() && is_name(text_[at_])) {
      while (at_ < text_.size() && is_name(text_[at_])) ++at_;
      report("budget-number", begin, at_,
             fmt::format("{} is no number", dsl::quoted(text_.substr(begin, at_ - begin))),
             "figures are plain numbers; shares may end in %");
      return false;
    }
    return true;
  }

  std::string_view text_;
  std::vector<std::string_view> names_;
  size_t at_ = 0;
  dsl::Error error_;
};

bool holds(double value, Comparison comparison, double bound) {
  switch (comparison) {
    case Comparison::equal:
      return value == bound;
    case Comparison::not_equal:
      return value != bound;
    case Comparison::less:
      return value < bound;
    case Comparison::less_equal:
      return value <= bound;
    case Comparison::greater:
      return value > bound;
    case Comparison::greater_equal:
      return value >= bound;
  }
  return false;
}

// Why the report has no value for a figure that it knows.
std::string missing_because(const Report& report, std::string_view figure) {
  if (!report.code) return "no assembler was found, so there is no code to count";
  if (figure.starts_with("executed_")) return "it needs a shape";
  return "the kernel has no loop that multiplies";
}

}  // namespace

dsl::Result<std::vector<Budget>> parse_budgets(std::string_view text, const Report& report,
                                               const ExtraFigures& extra) {
  const std::vector<Figure> known = figures(report);
  std::vector<std::string_view> names;
  names.reserve(known.size() + extra.size());
  for (const Figure& figure : known) names.push_back(figure.name);
  for (const auto& [name, value] : extra)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return Parser(text, std::move(names)).parse();
}

std::vector<Judgement> judge(const std::vector<Budget>& budgets, const Report& report,
                             const ExtraFigures& extra) {
  const std::vector<Figure> known = figures(report);
  std::vector<Judgement> out;
  for (const Budget& budget : budgets) {
    Judgement judgement{.budget = budget};
    const auto given = extra.find(budget.figure);
    const auto figure = std::ranges::find(known, budget.figure, &Figure::name);
    if (given != extra.end()) {
      judgement.value = given->second;
    } else if (figure != known.end()) {
      judgement.value = figure->value;
    }
    if (judgement.value) {
      judgement.passed = holds(*judgement.value, budget.comparison, budget.bound);
    } else {
      judgement.missing = missing_because(report, budget.figure);
    }
    out.push_back(std::move(judgement));
  }
  return out;
}

bool all_passed(const std::vector<Judgement>& judgements) {
  return std::ranges::all_of(judgements, &Judgement::passed);
}

std::string format_judgements(const std::vector<Judgement>& judgements) {
  size_t width = 0;
  for (const Judgement& judgement : judgements)
    width = std::max(width, judgement.budget.text.size());
  std::string out;
  for (const Judgement& judgement : judgements)
    out += fmt::format(
        "{}  {:<{}}  {}\n", judgement.passed ? "passed" : "failed", judgement.budget.text, width,
        judgement.value ? fmt::format("{:.6g}", *judgement.value) : judgement.missing);
  return out;
}

}  // namespace tilec
