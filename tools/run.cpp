// `tilec run`: runs a kernel, checks it, and on a GPU times it beside cuBLAS.
#include "runtime/run.h"

#include <fmt/format.h>

#include "runtime/print.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/read_specs.h"

namespace tilec {

dsl::Result<void> run(const RunCommand& command) {
  dsl::Result<std::unique_ptr<Device>> device = take_device(command.device);
  if (!device) return tl::unexpected(std::move(device.error()));
  dsl::Result<std::vector<dsl::Spec>> specs = read_specs(command.choice, (*device)->info().target);
  if (!specs) return tl::unexpected(std::move(specs.error()));
  if (command.json) {
    if (auto one = only_one(*specs, command.choice); !one) return tl::unexpected(one.error());
  }

  RunOptions options;
  if (command.bench) options.bench = BenchOptions{};
  options.counters = command.counters;
  std::optional<dsl::Error> wrong;
  for (const dsl::Spec& spec : *specs) {
    dsl::Result<RunResult> result =
        run_kernel(**device, spec, command.problem, options, command.assembler);
    if (!result) return tl::unexpected(std::move(result.error()));
    std::string text = command.json ? run_json(*result) : run_text(*result);
    if (specs->size() > 1) text = fmt::format("kernel     {}\n{}\n", spec.name, text);
    if (auto written = write_output(text); !written) return written;
    if (result->check && !result->check->passed) wrong = wrong_result(*result);
  }
  if (wrong) return tl::unexpected(std::move(*wrong));
  return {};
}

}  // namespace tilec
