// `tilec profile`: hardware counters beside the prediction; where there is no GPU, or no ncu that
// works, the CPU machine's counters stand in their place, and the result says so.
#include "compiler/report/profile.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "dsl/format.h"
#include "runtime/print.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/ncu.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

constexpr double kMostOnCpu = 4e9;  // multiply-adds that the CPU counts in seconds

double value_of(const Profile& profile, std::string_view metric) {
  for (const Counted& counter : profile.counters)
    if (counter.metric == metric) return counter.value;
  return 0;
}

void add(Profile& profile, const std::vector<CounterRow>& rows,
         const std::map<std::string, double>& values) {
  for (const CounterRow& row : rows) {
    const auto found = values.find(std::string(row.metric));
    if (found == values.end()) continue;
    profile.counters.push_back({std::string(row.metric), std::string(row.title), row.behind,
                                found->second, std::string(row.unit)});
  }
}

/// What ncu counts of a launch by this same program, and the time of another one without it.
dsl::Result<void> count_on_gpu(Profile& profile, Device& gpu, const std::string& ncu,
                               const dsl::Spec& spec, const dsl::GemmShape& shape) {
  std::vector<std::string> metrics;
  for (const CounterRow& row : hardware_counters()) metrics.emplace_back(row.metric);
  std::error_code fault;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", fault).string();
  const dsl::Result<std::map<std::string, double>> values =
      profile_launch(ncu, metrics, spec.name,
                     {self, "run", dsl::format(spec), "--shape", to_string(shape), "--device",
                      "gpu", "--no-bench"});
  if (!values) return tl::unexpected(values.error());
  profile.hardware = true;
  profile.source = fmt::format("ncu on {} at {}", gpu.info().name, to_string(shape));
  add(profile, hardware_counters(), *values);
  profile.issue_rate = value_of(profile, "smsp__issue_active.avg.per_cycle_elapsed");
  const double instructions = value_of(profile, "smsp__inst_executed.sum");
  if (instructions > 0)
    profile.fma_share = value_of(profile, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum") /
                        32 / instructions;
  RunOptions options;
  options.bench = BenchOptions{};
  const dsl::Result<RunResult> timed =
      run_kernel(gpu, spec, {.shape = shape}, options, Assembler::automatic);
  if (!timed) return tl::unexpected(timed.error());
  profile.blocks_per_sm = timed->blocks_per_sm.value_or(0);
  if (timed->time) {
    profile.measured_share_of_peak = timed->time->share_of_peak;
    profile.clock_mhz = timed->time->kernel.clock_mhz;
  }
  return {};
}

dsl::Result<void> count_by_machine(Profile& profile, const dsl::Spec& spec,
                                   const dsl::GemmShape& shape) {
  const double work =
      static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  const dsl::Result<RunResult> counted =
      count_on_cpu(spec, work <= kMostOnCpu ? std::optional(shape) : std::nullopt);
  if (!counted) return tl::unexpected(counted.error());
  profile.source = fmt::format("the CPU machine's, of a run of the PTX at {}: no hardware's",
                               to_string(counted->problem.shape));
  const auto json = nlohmann::json::parse(run_json(*counted))["counters"];
  std::map<std::string, double> values;
  for (const auto& [key, value] : json.items())
    if (value.is_number()) values.emplace(key, value.get<double>());
  add(profile, machine_counters(), values);
  return {};
}

/// The GPU and the ncu to count with; else why not.
struct Hardware {
  std::unique_ptr<Device> gpu;
  std::string ncu;
  std::string why_not;
};

Hardware find_hardware() {
  Hardware out;
  dsl::Result<std::unique_ptr<Device>> gpu = take_device("gpu");
  if (!gpu) {
    out.why_not = gpu.error().diagnostics.front().message;
    return out;
  }
  if (const std::optional<std::string> tool = find_ncu()) {
    out.ncu = *tool;
    out.gpu = std::move(*gpu);
  } else {
    out.why_not = "no ncu ($TILEC_NCU, PATH, /usr/local/cuda/bin)";
  }
  return out;
}

}  // namespace

dsl::Result<void> run(const ProfileCommand& command) {
  dsl::Result<std::vector<dsl::Spec>> specs = read_specs(command.choice, gpu_target());
  if (!specs) return tl::unexpected(std::move(specs.error()));
  const dsl::Result<dsl::Spec> spec = only_one(std::move(*specs), command.choice);
  if (!spec) return tl::unexpected(spec.error());
  const Target& target = target_of(*spec);
  const dsl::Result<Artifact> artifact = compile(*spec, target, {.assembler = command.assembler});
  if (!artifact) return tl::unexpected(artifact.error());
  const dsl::Result<Report> report = build_report(*artifact, target, command.shape);
  if (!report) return tl::unexpected(report.error());

  Profile profile{.report = *report};
  Hardware hardware = find_hardware();
  if (hardware.gpu != nullptr) {
    const dsl::Result<void> counted =
        count_on_gpu(profile, *hardware.gpu, hardware.ncu, *spec, command.shape);
    if (!counted) hardware.why_not = dsl::render(counted.error());
  }
  if (!profile.hardware) {
    fmt::print(stderr, "note: hardware counters are missing: {}{}", hardware.why_not,
               hardware.why_not.ends_with('\n') ? "" : "\n");
    if (auto counted = count_by_machine(profile, *spec, command.shape); !counted) return counted;
  }
  return write_output(command.json ? profile_json(profile) : profile_text(profile));
}

}  // namespace tilec
