// `tilec compile`: any stage of a kernel, to standard output or to files.
#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "compiler/sass/disassemble.h"
#include "compiler/sass/listing.h"
#include "dsl/format.h"
#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/json.h"
#include "tools/read_specs.h"

namespace tilec {
namespace {

struct StageRow {
  Stage stage;
  std::string_view extension;
  bool assembled;  // needs a cubin
};

// In the order of the road. The file of the tile IR bears the name that the PTX's debug locations
// point to.
constexpr auto kStages = std::to_array<StageRow>({
    {Stage::spec, ".spec", false},
    {Stage::tile, ".tile", false},
    {Stage::llvm, ".ll", false},
    {Stage::ptx, ".ptx", false},
    {Stage::cubin, ".cubin", true},
    {Stage::sass, ".sass", true},
});

bool wants(const CompileCommand& command, Stage stage) {
  if (!command.emit.empty()) return std::ranges::find(command.emit, stage) != command.emit.end();
  if (!command.directory.empty()) return true;
  return command.dump_after.empty() && stage == Stage::ptx;
}

bool is_sass_pass(const std::string& pass) {
  return std::ranges::count(sass_passes(), pass) != 0;
}

dsl::Result<std::string> sass_text(std::span<const uint8_t> cubin) {
  if (!sass::find_nvdisasm()) {
    fmt::print(stderr,
               "warning: no nvdisasm was found (tools/setup unpacks one): SASS text comes from our "
               "own tables, without most modifiers\n");
  }
  return sass::list_cubin(cubin);
}

/// One stage's bytes. Errors: machine, where there is no assembler.
dsl::Result<std::string> bytes_of(Stage stage, const Artifact& artifact) {
  if (artifact.cubin.empty() && (stage == Stage::cubin || stage == Stage::sass)) {
    const std::string& why = artifact.assembler.log;
    return tl::unexpected(
        dsl::Error::machine("no-assembler", why.empty() ? "the assembler was left out" : why));
  }
  switch (stage) {
    case Stage::spec:
      return dsl::format(artifact.spec);
    case Stage::tile:
      return artifact.tile;
    case Stage::llvm:
      return artifact.llvm;
    case Stage::ptx:
      return artifact.ptx;
    case Stage::cubin:
      return std::string(artifact.cubin.begin(), artifact.cubin.end());
    case Stage::sass:
      return sass_text(artifact.cubin);
  }
  return std::string();
}

std::string file_name(const dsl::Spec& spec, const StageRow& row) {
  return spec.name + std::string(row.extension);
}

/// Of a stage behind the assembler: as it was before our own passes.
std::string assembled_name(const dsl::Spec& spec, const StageRow& row) {
  return fmt::format("{}.assembled{}", spec.name, row.extension);
}

/// What the command makes of one kernel, ready to be written.
struct Made {
  Artifact artifact;
  std::vector<OutputFile> files;      // of the stages, in order
  std::vector<OutputFile> dumps;      // NAME.PASS.tile, NAME.PASS.sass
  std::vector<std::string> left_out;  // files that could not be made and were not asked for by name
};

CompileOptions options_of(const CompileCommand& command) {
  const bool emits = std::ranges::any_of(
      kStages, [&](const StageRow& row) { return row.assembled && wants(command, row.stage); });
  const bool dumps = std::ranges::any_of(command.dump_after, is_sass_pass);
  const bool all = std::ranges::count(command.dump_after, "all") != 0;
  CompileOptions options;
  options.dump_after = command.dump_after;
  options.assembler = emits || dumps || all ? command.assembler : Assembler::none;
  options.assemble_required = (emits && !command.emit.empty()) || dumps;
  return options;
}

/// The code before our own passes, beside each stage that they changed.
dsl::Result<void> add_assembled(const CompileCommand& command, const dsl::Spec& spec, Made& made) {
  const SassReport& sass = made.artifact.sass;
  for (const StageRow& row : kStages) {
    if (!row.assembled || !wants(command, row.stage) || command.directory.empty()) continue;
    if (!sass.rewritten) {
      made.left_out.push_back(assembled_name(spec, row));
      continue;
    }
    dsl::Result<std::string> bytes = std::string(sass.assembled.begin(), sass.assembled.end());
    if (row.stage == Stage::sass) bytes = sass_text(sass.assembled);
    if (!bytes) return tl::unexpected(std::move(bytes.error()));
    made.files.push_back({assembled_name(spec, row), std::move(*bytes)});
  }
  return {};
}

/// Says why a pass that was asked for left no dump.
void warn_of_missing(const CompileCommand& command, const Artifact& artifact) {
  for (const std::string& pass : command.dump_after) {
    if (!is_sass_pass(pass) || std::ranges::count(artifact.dumps, pass, &Dump::pass) != 0) continue;
    fmt::print(stderr, "warning: nothing after {}: {}\n", pass,
               artifact.spec.sass ? artifact.sass.why_not : "the spec says `sass off`");
  }
}

dsl::Result<Made> make(const CompileCommand& command, const dsl::Spec& spec) {
  const CompileOptions options = options_of(command);
  dsl::Result<Artifact> artifact = compile(spec, target_of(spec), options);
  if (!artifact) return tl::unexpected(std::move(artifact.error()));

  Made made{.artifact = std::move(*artifact)};
  for (const StageRow& row : kStages) {
    if (!wants(command, row.stage)) continue;
    dsl::Result<std::string> bytes = bytes_of(row.stage, made.artifact);
    if (bytes) {
      made.files.push_back({file_name(spec, row), std::move(*bytes)});
    } else if (command.emit.empty() && bytes.error().road == dsl::Road::machine) {
      made.left_out.push_back(file_name(spec, row));
      fmt::print(stderr, "warning: no {}: {}\n", made.left_out.back(),
                 bytes.error().diagnostics.front().message);
    } else {
      return tl::unexpected(std::move(bytes.error()));
    }
  }
  if (auto added = add_assembled(command, spec, made); !added)
    return tl::unexpected(std::move(added.error()));
  warn_of_missing(command, made.artifact);
  for (const Dump& dump : made.artifact.dumps) {
    const char* extension = is_sass_pass(dump.pass) ? "sass" : "tile";
    made.dumps.push_back({fmt::format("{}.{}.{}", spec.name, dump.pass, extension), dump.text});
  }
  return made;
}

void print_times(const dsl::Spec& spec, const std::vector<StageTime>& times) {
  double total = 0;
  for (const StageTime& time : times) total += time.ms;
  fmt::print(stderr, "{}: milliseconds, share\n", spec.name);
  for (const StageTime& time : times) {
    fmt::print(stderr, "  {:<20} {:8.2f} {:5.1f} %\n", time.stage, time.ms,
               total > 0 ? 100 * time.ms / total : 0);
  }
  fmt::print(stderr, "  {:<20} {:8.2f}\n", "total", total);
}

/// The files of this command for `spec`, whether or not they could be made; never the spec's own.
std::vector<std::string> names_of(const CompileCommand& command, const dsl::Spec& spec) {
  std::vector<std::string> names;
  for (const StageRow& row : kStages) {
    if (!wants(command, row.stage)) continue;
    names.push_back(file_name(spec, row));
    if (row.assembled) names.push_back(assembled_name(spec, row));
  }
  return names;
}

/// Whether one of `names` in the command's folder is the file that the spec came from.
std::optional<dsl::Error> overwrites_input(const CompileCommand& command,
                                           const std::vector<std::string>& names) {
  namespace fs = std::filesystem;
  for (const std::string& name : names) {
    std::error_code fault;
    if (!fs::equivalent(fs::path(command.directory) / name, command.choice.spec, fault)) continue;
    return dsl::Error::user("would-overwrite",
                            fmt::format("{} in {} is the spec itself", name, command.directory),
                            "choose another folder with -o, or other stages with --emit");
  }
  return std::nullopt;
}

dsl::Result<void> to_files(const CompileCommand& command, const std::vector<dsl::Spec>& specs) {
  std::vector<std::string> names;
  for (const dsl::Spec& spec : specs)
    std::ranges::move(names_of(command, spec), std::back_inserter(names));
  if (auto error = overwrites_input(command, names)) return tl::unexpected(std::move(*error));

  std::vector<OutputFile> files;
  std::vector<std::string> stale;
  std::vector<Artifact> artifacts;
  for (const dsl::Spec& spec : specs) {
    dsl::Result<Made> made = make(command, spec);
    if (!made) {
      remove_files(command.directory, names);
      return tl::unexpected(std::move(made.error()));
    }
    if (command.time_passes) print_times(spec, made->artifact.times);
    std::ranges::move(made->files, std::back_inserter(files));
    std::ranges::move(made->dumps, std::back_inserter(files));
    std::ranges::move(made->left_out, std::back_inserter(stale));
    artifacts.push_back(std::move(made->artifact));
  }
  if (auto written = write_files(command.directory, files); !written) {
    remove_files(command.directory, names);
    return written;
  }
  remove_files(command.directory, stale);
  if (command.json) return write_output(compile_json(artifacts.front(), files, false));
  for (const OutputFile& file : files) {
    fmt::print(stderr, "wrote {}\n",
               (std::filesystem::path(command.directory) / file.name).string());
  }
  return {};
}

std::string dump_text(const std::vector<Dump>& dumps) {
  std::string text;
  for (const Dump& dump : dumps) text += fmt::format("// after {}\n{}", dump.pass, dump.text);
  return text;
}

dsl::Result<void> to_output(const CompileCommand& command, const dsl::Spec& spec) {
  dsl::Result<Made> made = make(command, spec);
  if (!made) return tl::unexpected(std::move(made.error()));
  if (command.time_passes) print_times(spec, made->artifact.times);
  if (command.json) return write_output(compile_json(made->artifact, made->files, true));
  std::string dumps = dump_text(made->artifact.dumps);
  if (made->files.empty()) return write_output(dumps);
  fmt::print(stderr, "{}", dumps);
  return write_output(made->files.front().bytes);
}

}  // namespace

dsl::Result<void> run(const CompileCommand& command) {
  dsl::Result<std::vector<dsl::Spec>> specs = read_specs(command.choice, gpu_target());
  if (!specs) return tl::unexpected(std::move(specs.error()));
  if (!command.directory.empty() && !command.json) return to_files(command, *specs);
  dsl::Result<dsl::Spec> spec = only_one(std::move(*specs), command.choice);
  if (!spec) return tl::unexpected(std::move(spec.error()));
  return command.directory.empty() ? to_output(command, *spec) : to_files(command, {*spec});
}

}  // namespace tilec
