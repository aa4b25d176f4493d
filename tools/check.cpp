// `tilec check`: holds a kernel to budgets, for courses and CI.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "compiler/report/json.h"
#include "tools/budgets.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

struct CountedRow {
  Figure figure;
  double (*value)(const RunResult&);
};

const std::vector<CountedRow>& counted() {
  static const std::vector<CountedRow> rows = {
      {{"bank_conflicts", "extra wavefronts of shared memory, counted in a run on the CPU", {}},
       [](const RunResult& r) { return static_cast<double>(r.counters->bank_conflicts); }},
      {{"sectors_per_request", "32-byte sectors a global access touches, mean, counted", {}},
       [](const RunResult& r) { return r.counters->sectors_per_request; }},
      {{"wavefronts_per_shared_load", "passes a shared load takes, mean, counted", {}},
       [](const RunResult& r) { return r.counters->wavefronts_per_shared_load; }},
      {{"warp_instructions", "warp instructions of the whole run, counted", {}},
       [](const RunResult& r) { return static_cast<double>(r.counters->warp_instructions); }},
      {{"counted_fma", "warp instructions of the whole run that are multiply-adds, counted", {}},
       [](const RunResult& r) { return static_cast<double>(r.counters->fma); }},
      {{"counted_fma_share", "counted_fma / warp_instructions", {}},
       [](const RunResult& r) { return r.counters->fma_share; }},
      {{"blocks", "blocks of the run", {}},
       [](const RunResult& r) { return static_cast<double>(r.counters->blocks); }},
      {{"barriers", "barriers of the run, warp instructions", {}},
       [](const RunResult& r) { return static_cast<double>(r.counters->barriers); }},
      {{"max_error", "largest error of the run, as a share of its bound", {}},
       [](const RunResult& r) {
         return r.check ? r.check->max_error : std::numeric_limits<double>::quiet_NaN();
       }},
  };
  return rows;
}

dsl::Result<ExtraFigures> count(const dsl::Spec& spec, std::optional<dsl::GemmShape> shape) {
  dsl::Result<RunResult> result = count_on_cpu(spec, shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  fmt::print(stderr, "counted on the CPU at {}\n", to_string(result->problem.shape));
  return counted_figures(*result);
}

dsl::Result<std::vector<Judgement>> judge_spec(const CheckCommand& command, const dsl::Spec& spec) {
  const Target& target = target_of(spec);
  dsl::Result<Artifact> artifact = compile(spec, target, {.assembler = command.assembler});
  if (!artifact) return tl::unexpected(std::move(artifact.error()));
  dsl::Result<Report> report = build_report(*artifact, target, command.shape);
  if (!report) return tl::unexpected(std::move(report.error()));
  dsl::Result<std::vector<Budget>> budgets = read_budgets(command.budgets, *report);
  if (!budgets) return tl::unexpected(std::move(budgets.error()));
  ExtraFigures extra;
  if (needs_run(*budgets)) {
    dsl::Result<ExtraFigures> found = count(spec, command.shape);
    if (!found) return tl::unexpected(std::move(found.error()));
    extra = std::move(*found);
  }
  return judge(*budgets, *report, extra);
}

}  // namespace

std::vector<Figure> budget_figures() {
  std::vector<Figure> all = figures(Report());
  for (const CountedRow& row : counted()) all.push_back(row.figure);
  return all;
}

dsl::Result<std::vector<Budget>> read_budgets(const std::string& text, const Report& report) {
  ExtraFigures names;
  for (const CountedRow& row : counted()) names.emplace(row.figure.name, 0);
  return parse_budgets(text, report, names);
}

bool needs_run(const std::vector<Budget>& budgets) {
  return std::ranges::any_of(budgets, [](const Budget& budget) {
    return std::ranges::any_of(
        counted(), [&](const CountedRow& row) { return row.figure.name == budget.figure; });
  });
}

ExtraFigures counted_figures(const RunResult& result) {
  ExtraFigures values;
  if (!result.counters) return values;
  for (const CountedRow& row : counted()) values.emplace(row.figure.name, row.value(result));
  return values;
}

dsl::Result<void> run(const CheckCommand& command) {
  dsl::Result<std::vector<dsl::Spec>> specs = read_specs(command.choice, gpu_target());
  if (!specs) return tl::unexpected(std::move(specs.error()));
  if (command.json) {
    if (auto one = only_one(*specs, command.choice); !one) return tl::unexpected(one.error());
  }
  bool held = true;
  for (const dsl::Spec& spec : *specs) {
    dsl::Result<std::vector<Judgement>> judgements = judge_spec(command, spec);
    if (!judgements) return tl::unexpected(std::move(judgements.error()));
    held = held && all_passed(*judgements);
    std::string text = command.json ? to_json(*judgements) : format_judgements(*judgements);
    if (specs->size() > 1) text = fmt::format("{}\n{}", spec.name, text);
    if (auto written = write_output(text); !written) return written;
  }
  if (held) return {};
  dsl::Error error = dsl::Error::user("over-budget", "not every budget holds");
  error.road = dsl::Road::check;
  return tl::unexpected(std::move(error));
}

}  // namespace tilec
