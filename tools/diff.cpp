// `tilec diff`: two specs, or two results kept as JSON, down to counts and time.
#include "compiler/report/diff.h"

#include "compiler/report/json.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

/// The JSON of a side: the file's, or that of a report made now.
dsl::Result<std::string> side_of(const SpecChoice& choice, const DiffCommand& command) {
  if (choice.spec.ends_with(".json")) return read_file(choice.spec);
  dsl::Result<std::vector<dsl::Spec>> specs = read_specs(choice, gpu_target());
  if (!specs) return tl::unexpected(std::move(specs.error()));
  const dsl::Result<dsl::Spec> spec = only_one(std::move(*specs), choice);
  if (!spec) return tl::unexpected(spec.error());
  const Target& target = target_of(*spec);
  dsl::Result<Artifact> artifact = compile(*spec, target, {.assembler = command.assembler});
  if (!artifact) return tl::unexpected(std::move(artifact.error()));
  dsl::Result<Report> report = build_report(*artifact, target, command.shape);
  if (!report) return tl::unexpected(std::move(report.error()));
  return to_json(*report);
}

}  // namespace

dsl::Result<void> run(const DiffCommand& command) {
  const dsl::Result<std::string> before = side_of(command.before, command);
  if (!before) return tl::unexpected(before.error());
  const dsl::Result<std::string> after = side_of(command.after, command);
  if (!after) return tl::unexpected(after.error());
  const dsl::Result<Diff> diff = diff_reports(*before, *after);
  if (!diff) return tl::unexpected(diff.error());
  return write_output(command.json ? diff_json(*diff) : diff_text(*diff));
}

}  // namespace tilec
