// `tilec climb`: a table of kernels, rung by rung, from a GPU or from model and CPU machine.
#include "compiler/report/climb.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/report/report.h"
#include "runtime/print.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

double tflops(const dsl::GemmShape& shape, double us) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) / us / 1e6;
}

struct Speed {
  double us = 0;
  double share = 0;
  double clock_mhz = 0;
};

/// Measured where there is a device, else predicted.
dsl::Result<Speed> speed_of(Device* device, const dsl::Spec& spec, const Artifact& artifact,
                            const Target& target, const dsl::GemmShape& shape, Report& report) {
  dsl::Result<Report> built = build_report(artifact, target, shape);
  if (!built) return tl::unexpected(std::move(built.error()));
  report = std::move(*built);
  if (device != nullptr) {
    RunOptions options;
    options.bench = BenchOptions{};
    dsl::Result<RunResult> result =
        run_kernel(*device, spec, {.shape = shape}, options, Assembler::automatic);
    if (!result) return tl::unexpected(std::move(result.error()));
    if (result->check && !result->check->passed) return tl::unexpected(wrong_result(*result));
    if (result->time)
      return Speed{result->time->kernel.median_us, result->time->share_of_peak,
                   result->time->kernel.clock_mhz};
  }
  if (!report.prediction)
    return tl::unexpected(dsl::Error::machine(
        "no-prediction", fmt::format("{}: no assembler was found, or the kernel has no loop that "
                                     "multiplies, so there is nothing to predict from",
                                     spec.name)));
  return Speed{report.prediction->kernel_us, report.prediction->share_of_peak,
               report.prediction->clock_mhz};
}

dsl::Result<Rung> rung_of(Device* device, const dsl::Spec& spec, const std::string& name,
                          const std::vector<dsl::GemmShape>& shapes) {
  const Target& target = target_of(spec);
  const dsl::Result<Artifact> artifact = compile(spec, target, {});
  if (!artifact) return tl::unexpected(artifact.error());
  Report report;
  Rung rung{.name = name, .shape = shapes.front(), .measured = device != nullptr};
  for (const dsl::GemmShape& shape : shapes) {
    say_progress(fmt::format("{} at {}", name, to_string(shape)));
    Report of_shape;
    const dsl::Result<Speed> speed = speed_of(device, spec, *artifact, target, shape, of_shape);
    if (!speed) return tl::unexpected(speed.error());
    if (&shape != &shapes.front()) {
      rung.sizes.push_back({shape, speed->share});
      continue;
    }
    report = std::move(of_shape);
    rung.kernel_us = speed->us;
    rung.tflops = tflops(shape, speed->us);
    rung.clock_mhz = speed->clock_mhz;
    rung.share_of_peak = speed->share;
  }
  rung.spec = report.spec;
  if (report.executed) rung.fma_share = report.executed->fma_share;
  rung.registers = report.registers;
  rung.spills = report.spills();
  rung.blocks_per_sm = report.occupancy.blocks_per_sm;
  rung.warps_per_sm = report.occupancy.warps_per_sm;
  const dsl::Result<RunResult> counted = count_on_cpu(spec, std::nullopt);
  if (!counted) return tl::unexpected(counted.error());
  rung.sectors_per_request = counted->counters->sectors_per_request;
  if (counted->counters->wavefronts_per_shared_load > 0)
    rung.wavefronts_per_shared_load = counted->counters->wavefronts_per_shared_load;
  return rung;
}

/// What a table calls a kernel: its file's name, else the kernel's, else the spec as written.
std::string name_of(const SpecChoice& choice, const dsl::Spec& spec, bool several) {
  const std::filesystem::path path(choice.spec);
  if (path.extension() != ".tile") return spec.name == "gemm" ? choice.spec : spec.name;
  return several ? fmt::format("{}:{}", path.stem().string(), spec.name) : path.stem().string();
}

}  // namespace

dsl::Result<void> run(const ClimbCommand& command) {
  std::unique_ptr<Device> device;
  if (command.device != "model") {
    dsl::Result<std::unique_ptr<Device>> opened = take_device(command.device);
    if (!opened) return tl::unexpected(std::move(opened.error()));
    if ((*opened)->info().kind == DeviceKind::gpu) device = std::move(*opened);
  }
  Climb climb;
  for (const SpecChoice& choice : command.choices) {
    const dsl::Result<std::vector<dsl::Spec>> specs =
        read_specs(choice, device ? device->info().target : gpu_target());
    if (!specs) return tl::unexpected(specs.error());
    for (const dsl::Spec& spec : *specs) {
      const dsl::Result<Rung> rung =
          rung_of(device.get(), spec, name_of(choice, spec, specs->size() > 1), command.shapes);
      if (!rung) return tl::unexpected(rung.error());
      climb.rungs.push_back(*rung);
      if (climb.device.empty()) climb.device = target_of(spec).rates.device;
    }
  }
  if (device) climb.device = device->info().name;
  climb.note = device
                   ? "Speed and share of peak are measured, at the clock that each kernel ran at; "
                     "sectors and wavefronts are counted by the CPU machine."
                   : "Predicted: no GPU ran these kernels. Speed and share of peak come from the "
                     "loop model, sectors and wavefronts from the CPU machine.";
  if (!command.html.empty()) {
    auto written = write_file(command.html, climb_html(climb));
    if (written && !command.json) return written;
    if (!written) {
      if (auto said = write_output(climb_markdown(climb)); !said) return said;
      return written;
    }
  }
  return write_output(command.json ? climb_json(climb) : climb_markdown(climb));
}

}  // namespace tilec
