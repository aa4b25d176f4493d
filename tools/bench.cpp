// `tilec bench`: timing alone, every spec at every shape. Results are checked all the same: the
// time of a wrong kernel is worth nothing.
#include <fmt/format.h>

#include "runtime/print.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/read_specs.h"

namespace tilec {

dsl::Result<void> run(const BenchCommand& command) {
  dsl::Result<std::unique_ptr<Device>> device = take_device("gpu");
  if (!device) return tl::unexpected(std::move(device.error()));
  std::vector<dsl::Spec> specs;
  for (const SpecChoice& choice : command.choices) {
    dsl::Result<std::vector<dsl::Spec>> found = read_specs(choice, (*device)->info().target);
    if (!found) return tl::unexpected(std::move(found.error()));
    std::ranges::move(*found, std::back_inserter(specs));
  }

  RunOptions options;
  options.bench = BenchOptions{};
  std::vector<RunResult> results;
  std::optional<dsl::Error> wrong;
  for (const dsl::GemmShape& shape : command.shapes) {
    for (const dsl::Spec& spec : specs) {
      GemmProblem problem{.shape = shape, .seed = command.seed};
      dsl::Result<RunResult> result =
          run_kernel(**device, spec, problem, options, Assembler::automatic);
      if (!result) return tl::unexpected(std::move(result.error()));
      if (result->check && !result->check->passed) wrong = wrong_result(*result);
      results.push_back(std::move(*result));
    }
  }
  auto written = write_output(command.json ? bench_json(results) : bench_text(results));
  if (!written) return written;
  if (wrong) return tl::unexpected(std::move(*wrong));
  return {};
}

}  // namespace tilec
