// `tilec bench`: timing alone, every spec at every shape. Results are checked all the same: the
// time of a wrong kernel is worth nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "runtime/print.h"
#include "runtime/problem.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

/// What came of all runs: rows for the table, and the worst thing that happened.
struct Rows {
  std::vector<RunResult> results;
  int left_out = 0;
  std::optional<dsl::Error> wrong;
};

/// A pair of spec and shape that is refused costs its row, not the table; a machine that fails ends
/// it, with the rows so far.
Rows time_all(Device& device, const std::vector<dsl::Spec>& specs, const BenchCommand& command) {
  RunOptions options;
  options.bench = BenchOptions{};
  Rows rows;
  for (const dsl::GemmShape& shape : command.shapes) {
    for (const dsl::Spec& spec : specs) {
      say_progress(fmt::format("{} at {}", spec.name, to_string(shape)));
      GemmProblem problem{.shape = shape, .seed = command.seed};
      dsl::Result<RunResult> result =
          run_kernel(device, spec, problem, options, Assembler::automatic);
      if (result) {
        if (result->check && !result->check->passed) rows.wrong = wrong_result(*result);
        rows.results.push_back(std::move(*result));
        continue;
      }
      if (result.error().road != dsl::Road::user) {
        rows.wrong = std::move(result.error());
        return rows;
      }
      ++rows.left_out;
      fmt::print(stderr, "{} at {} is left out: {}", spec.name, to_string(shape),
                 dsl::render(result.error()));
    }
  }
  return rows;
}

}  // namespace

dsl::Result<void> run(const BenchCommand& command) {
  dsl::Result<std::unique_ptr<Device>> device = take_device("gpu");
  if (!device) return tl::unexpected(std::move(device.error()));
  std::vector<dsl::Spec> specs;
  for (const SpecChoice& choice : command.choices) {
    dsl::Result<std::vector<dsl::Spec>> found = read_specs(choice, (*device)->info().target);
    if (!found) return tl::unexpected(std::move(found.error()));
    std::ranges::move(*found, std::back_inserter(specs));
  }
  Rows rows = time_all(**device, specs, command);
  std::string text = command.json ? bench_json(rows.results) : bench_text(rows.results);
  if (!rows.results.empty()) {
    if (auto written = write_output(text); !written) return written;
  }
  if (rows.wrong) return tl::unexpected(std::move(*rows.wrong));
  if (rows.left_out == 0) return {};
  return tl::unexpected(dsl::Error::user(
      "rows-left-out", fmt::format("{} of {} pairs of spec and shape were refused", rows.left_out,
                                   specs.size() * command.shapes.size())));
}

}  // namespace tilec
