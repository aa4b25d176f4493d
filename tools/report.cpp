// `tilec report`: where the instructions of the assembled kernel go, and what its speed comes to.
#include "compiler/report/report.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/report/json.h"
#include "compiler/report/page.h"
#include "compiler/report/text.h"
#include "compiler/report/view.h"
#include "runtime/print.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

/// As wide as the terminal, or of the usual width in a pipe.
TextStyle style_of_output() {
  TextStyle style;
  if (isatty(STDOUT_FILENO) == 0) return style;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60) style.width = size.ws_col;
  return style;
}

/// nvdisasm's text of the cubin. Without it the rest is given all the same, and standard error says
/// why: there is none, or it is too old for the cubin.
std::optional<sass::Disassembly> disassembly_of(const Artifact& artifact) {
  const std::optional<std::string> tool = sass::find_nvdisasm();
  if (!tool) {
    fmt::print(stderr,
               "note: no nvdisasm ($TILEC_NVDISASM, beside this program, PATH, /usr/local/cuda), "
               "so instructions are in our own words\n");
    return std::nullopt;
  }
  dsl::Result<sass::Disassembly> text = sass::disassemble(artifact.cubin, *tool);
  if (text) return std::move(*text);
  fmt::print(stderr, "note: {} cannot read this cubin, so instructions are in our own words:\n{}",
             *tool, dsl::render(text.error()));
  return std::nullopt;
}

dsl::Result<SassView> view_of(const Artifact& artifact, const Report& report) {
  const std::optional<sass::Disassembly> text = disassembly_of(artifact);
  return build_view(artifact, report, text ? &*text : nullptr);
}

dsl::Result<std::string> page_of(const dsl::Spec& spec, const Artifact& artifact,
                                 const Report& report, const Target& target) {
  std::optional<SassView> view;
  if (!artifact.cubin.empty()) {
    dsl::Result<SassView> built = view_of(artifact, report);
    if (!built) return tl::unexpected(std::move(built.error()));
    view = std::move(*built);
  }
  PageInput input{.artifact = artifact,
                  .report = report,
                  .target = target,
                  .view = view ? &*view : nullptr,
                  .neighbours = neighbours_of(ladder_results()),
                  .neighbours_note = "measured on an H200 at 4096x4096x4096"};
  if (const dsl::Result<RunResult> counted = count_on_cpu(spec, std::nullopt)) {
    input.counters = nlohmann::ordered_json::parse(run_json(*counted))["counters"].dump();
    input.counters_note = fmt::format("Counted by the CPU machine in a run of the PTX at {}.",
                                      to_string(counted->problem.shape));
  }
  return page_html(input);
}

}  // namespace

dsl::Result<void> run(const ReportCommand& command) {
  dsl::Result<std::vector<dsl::Spec>> specs = read_specs(command.choice, gpu_target());
  if (!specs) return tl::unexpected(std::move(specs.error()));
  if (command.json || !command.html.empty()) {
    if (auto one = only_one(*specs, command.choice); !one) return tl::unexpected(one.error());
  }
  for (const dsl::Spec& spec : *specs) {
    const Target& target = target_of(spec);
    dsl::Result<Artifact> artifact = compile(spec, target, {.assembler = command.assembler});
    if (!artifact) return tl::unexpected(std::move(artifact.error()));
    if (artifact->cubin.empty()) {
      fmt::print(stderr, "warning: no assembler, so the report ends at what the spec says: {}\n",
                 artifact->assembler.log);
    }
    dsl::Result<Report> report = build_report(*artifact, target, command.shape);
    if (!report) return tl::unexpected(std::move(report.error()));
    std::string text = command.json ? to_json(*report) : to_text(*report, style_of_output());
    if (command.sass_view && !artifact->cubin.empty()) {
      dsl::Result<SassView> view = view_of(*artifact, *report);
      if (!view) return tl::unexpected(std::move(view.error()));
      text = view_text(*view, *artifact, isatty(STDOUT_FILENO) != 0);
    }
    if (!command.html.empty()) {
      dsl::Result<std::string> page = page_of(spec, *artifact, *report, target);
      if (!page) return tl::unexpected(std::move(page.error()));
      if (auto written = write_file(command.html, *page); !written) {
        // The rest of the report is given all the same.
        if (auto said = write_output(text); !said) return said;
        return written;
      }
      if (!command.json) {
        fmt::print(stderr, "wrote {} ({} bytes)\n", command.html, page->size());
        continue;
      }
    }
    if (&spec != &specs->front()) text = "\n" + text;
    if (auto written = write_output(text); !written) return written;
  }
  return {};
}

}  // namespace tilec
