#include "tools/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "dsl/text.h"

namespace tilec {
namespace {

constexpr auto kMeasures = std::to_array<Measure>({
    {"registers", "registers per thread"},
    {"spills", "bytes of spill stores and loads"},
    {"stack", "bytes of stack per thread"},
    {"shared_bytes", "shared memory per block, bytes"},
    {"threads", "threads per block"},
    {"blocks_per_sm", "blocks that fit one SM"},
    {"ideal_share", "share of multiply-adds that the spec allows"},
    {"fma_share", "share of multiply-adds in the steady loop"},
    {"instructions", "instructions of the steady loop"},
    {"executed_fma_share", "share of multiply-adds over the whole kernel", true},
    {"conflicts", "wavefronts of shared accesses beyond what their bytes need", true},
    {"sectors_per_request", "32-byte sectors per global access, mean", true},
    {"wavefronts_per_shared_load", "passes per shared load, mean", true},
    {"max_error", "largest error as a share of its bound", true},
});

struct ComparisonRow {
  std::string_view sign;
  Comparison comparison;
};

// Longer signs first, so that `<=` is not read as `<`.
constexpr auto kComparisons = std::to_array<ComparisonRow>({
    {"<=", Comparison::at_most},
    {">=", Comparison::at_least},
    {"==", Comparison::equal},
    {"!=", Comparison::not_equal},
    {"<", Comparison::less},
    {">", Comparison::greater},
});

/// Reads one budget at a time from the text; the first fault is kept.
class Reader {
 public:
  explicit Reader(const std::string& text) : source_{"--require", text} {}

  dsl::Result<std::vector<Budget>> read() {
    std::vector<Budget> budgets;
    do {
      dsl::Result<Budget> budget = budget_here();
      if (!budget) return tl::unexpected(std::move(budget.error()));
      budgets.push_back(std::move(*budget));
    } while (take(","));
    if (at_ < text().size()) return fault("bad-budget", at_, text().size(), "a comma goes here");
    return budgets;
  }

 private:
  const std::string& text() const { return source_.text; }

  void skip_blanks() {
    while (at_ < text().size() && (text()[at_] == ' ' || text()[at_] == '\n')) ++at_;
  }

  bool take(std::string_view sign) {
    skip_blanks();
    if (text().compare(at_, sign.size(), sign) != 0) return false;
    at_ += sign.size();
    return true;
  }

  tl::unexpected<dsl::Error> fault(std::string code, size_t begin, size_t end, std::string message,
                                   std::string help = "") const {
    dsl::Error error = dsl::Error::user(std::move(code), std::move(message), std::move(help));
    error.diagnostics[0].span = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    error.source = source_;
    return tl::unexpected(std::move(error));
  }

  // budget = NAME ( "<=" | ">=" | "==" | "!=" | "<" | ">" ) NUMBER
  dsl::Result<Budget> budget_here() {
    Budget budget;
    skip_blanks();
    size_t begin = at_;
    while (at_ < text().size() && (isalnum(text()[at_]) != 0 || text()[at_] == '_')) ++at_;
    budget.name = text().substr(begin, at_ - begin);
    if (budget.name.empty()) {
      return fault("bad-budget", begin, begin, "a budget begins with what it is set on",
                   "as in: fma_share>=0.85, spills==0");
    }
    if (auto wrong = unknown(budget.name, begin)) return std::move(*wrong);

    skip_blanks();
    auto row = std::ranges::find_if(kComparisons, [&](auto& r) { return take(r.sign); });
    if (row == kComparisons.end()) {
      return fault("bad-budget", at_, at_, "one of <= >= == != < > goes here");
    }
    budget.comparison = row->comparison;

    skip_blanks();
    const char* first = text().data() + at_;
    const char* last = text().data() + text().size();
    auto [end, status] = std::from_chars(first, last, budget.number);
    if (status != std::errc() || !std::isfinite(budget.number)) {
      return fault("bad-budget", at_, at_, "a number goes here");
    }
    at_ += static_cast<size_t>(end - first);
    budget.text = fmt::format("{} {} {}", budget.name, row->sign, budget.number);
    return budget;
  }

  std::optional<tl::unexpected<dsl::Error>> unknown(const std::string& name, size_t begin) const {
    std::vector<std::string_view> names;
    for (const Measure& measure : kMeasures) names.push_back(measure.name);
    if (std::ranges::find(names, name) != names.end()) return std::nullopt;
    std::optional<std::string> near = dsl::nearest_word(name, names);
    return fault("unknown-measure", begin, begin + name.size(),
                 fmt::format("'{}' is not measured", dsl::quoted(name)),
                 fmt::format("{}there are {}", near ? "did you mean '" + *near + "'? " : "",
                             fmt::join(names, ", ")));
  }

  dsl::Source source_;
  size_t at_ = 0;
};

}  // namespace

std::span<const Measure> measures() {
  return kMeasures;
}

dsl::Result<std::vector<Budget>> parse_budgets(const std::string& text) {
  return Reader(text).read();
}

bool holds(const Budget& budget, double value) {
  switch (budget.comparison) {
    case Comparison::less:
      return value < budget.number;
    case Comparison::at_most:
      return value <= budget.number;
    case Comparison::equal:
      return value == budget.number;
    case Comparison::not_equal:
      return value < budget.number || value > budget.number;
    case Comparison::at_least:
      return value >= budget.number;
    case Comparison::greater:
      return value > budget.number;
  }
  return false;
}

}  // namespace tilec
