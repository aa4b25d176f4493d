// `tilec report`: where the instructions of the assembled kernel go.
#include "compiler/report/report.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "compiler/report/json.h"
#include "compiler/report/text.h"
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

}  // namespace

dsl::Result<void> run(const ReportCommand& command) {
  dsl::Result<std::vector<dsl::Spec>> specs = read_specs(command.choice, gpu_target());
  if (!specs) return tl::unexpected(std::move(specs.error()));
  if (command.json) {
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
    if (&spec != &specs->front()) text = "\n" + text;
    if (auto written = write_output(text); !written) return written;
  }
  return {};
}

}  // namespace tilec
