// `tilec run`: runs a kernel, checks it, and on a GPU times it beside cuBLAS.
#include "runtime/run.h"

#include <fmt/format.h>

#include "runtime/print.h"
#include "tools/choice/choose.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

// Nobody named a spec: the best known for the device and the shape, else the model's choice.
dsl::Result<std::vector<dsl::Spec>> best_known(const RunCommand& command, const Device& device,
                                               std::string& why) {
  dsl::Result<GemmProblem> problem = complete(command.problem);
  if (!problem) return tl::unexpected(std::move(problem.error()));
  const DeviceInfo& info = device.info();
  std::string target = command.choice.target.empty() ? info.target : command.choice.target;
  if (target.empty()) target = "sm_90a";
  const std::string file = command.tuning.empty() ? usual_tuning_file() : command.tuning;
  dsl::Result<Choice> choice =
      choose(info, target, tool_versions(info.kind == DeviceKind::gpu), *problem, file);
  if (!choice) return tl::unexpected(std::move(choice.error()));
  for (const std::string& note : choice->notes) fmt::print(stderr, "{}\n", note);
  why = choice->why;
  return std::vector{choice->spec};
}

}  // namespace

dsl::Result<void> run(const RunCommand& command) {
  dsl::Result<std::unique_ptr<Device>> device = take_device(command.device, command.cublas);
  if (!device) return tl::unexpected(std::move(device.error()));
  RunOptions options;
  dsl::Result<std::vector<dsl::Spec>> specs =
      command.choice.spec.empty() ? best_known(command, **device, options.choice)
                                  : read_specs(command.choice, (*device)->info().target);
  if (!specs) return tl::unexpected(std::move(specs.error()));
  if (command.json) {
    if (auto one = only_one(*specs, command.choice); !one) return tl::unexpected(one.error());
  }

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
