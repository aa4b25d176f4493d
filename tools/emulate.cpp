// `tilec emulate`: any PTX on the CPU machine, with what it finds and counts; or, for comparison,
// on a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>

#include "runtime/npy.h"
#include "runtime/try.h"
#include "tools/commands.h"
#include "tools/emulate_arguments.h"
#include "tools/emulate_print.h"
#include "tools/emulate_run.h"
#include "tools/files.h"

namespace tilec {
namespace {

using dsl::Error;
using dsl::Result;

Result<ptx::Module> read_module(const std::string& file) {
  Result<std::string> text = read_file(file);
  if (!text) return tl::unexpected(std::move(text.error()));
  return ptx::parse({file == "-" ? "<stdin>" : file, std::move(*text)});
}

Result<std::string> choose_entry(const ptx::Module& module, const std::string& wanted) {
  const std::vector<std::string> entries = module.entries();
  const std::string list = fmt::format("there is: {}", fmt::join(entries, ", "));
  if (entries.empty())
    return tl::unexpected(Error::user("launch-no-entry", "the file has no entry"));
  if (wanted.empty() && entries.size() == 1) return entries.front();
  if (wanted.empty())
    return tl::unexpected(Error::user(
        "emulate-entry",
        fmt::format("the file has {} entries: name one with --entry", entries.size()), list));
  if (std::ranges::find(entries, wanted) != entries.end()) return wanted;
  return tl::unexpected(Error::user("launch-no-entry", fmt::format("no entry `{}`", wanted), list));
}

/// "2=file.npy" for each word of `option`.
Result<std::vector<EmulateOutput>> find_buffers(std::span<const EmulateArgument> arguments,
                                                std::span<const std::string> words,
                                                std::string_view option) {
  std::vector<EmulateOutput> found;
  for (const std::string& word : words) {
    const size_t sign = word.find('=');
    const Result<size_t> index =
        find_buffer(arguments, std::string_view(word).substr(0, sign), option);
    if (!index) return tl::unexpected(index.error());
    found.push_back({*index, word.substr(sign + 1)});
  }
  return found;
}

/// A buffer's contents as they should be, read before the run: a file that is wrong costs no run.
struct Wanted {
  EmulateOutput from;
  std::vector<std::byte> elements;
};

struct Plan {
  std::vector<EmulateOutput> outputs;
  std::vector<Wanted> wanted;
  std::optional<size_t> unit_of;
};

Result<Plan> make_plan(const EmulateCommand& command, std::span<const EmulateArgument> arguments) {
  Plan plan;
  Result<std::vector<EmulateOutput>> outputs = find_buffers(arguments, command.outputs, "--out");
  if (!outputs) return tl::unexpected(std::move(outputs.error()));
  plan.outputs = std::move(*outputs);
  const auto expected = find_buffers(arguments, command.expected, "--expect");
  if (!expected) return tl::unexpected(expected.error());
  if (!command.unit_of.empty()) {
    const Result<size_t> index = find_buffer(arguments, command.unit_of, "--unit");
    if (!index) return tl::unexpected(index.error());
    plan.unit_of = *index;
  }
  for (const EmulateOutput& each : *expected) {
    const BufferArgument& buffer = arguments[each.argument].buffer;
    if (plan.unit_of) {
      const BufferArgument& unit = arguments[*plan.unit_of].buffer;
      if (unit.type != buffer.type || unit.bytes != buffer.bytes)
        return tl::unexpected(Error::user(
            "emulate-no-buffer",
            fmt::format("--unit {}: not of the type and length of {}", command.unit_of,
                        name_argument(each.argument, arguments[each.argument].parameter))));
    }
    Result<std::vector<std::byte>> elements = read_elements(each.file, buffer);
    if (!elements) return tl::unexpected(std::move(elements.error()));
    plan.wanted.push_back({each, std::move(*elements)});
  }
  return plan;
}

Expectation compare(const EmulateCommand& command, const Plan& plan, const Wanted& wanted,
                    std::span<const EmulateArgument> arguments, const EmulateRun& run) {
  const size_t index = wanted.from.argument;
  std::span<const std::byte> magnitudes;
  if (plan.unit_of) magnitudes = run.after[*plan.unit_of];
  Expectation made{.argument = index, .file = wanted.from.file};
  made.comparison = compare_elements(*arguments[index].buffer.type, run.after[index],
                                     wanted.elements, magnitudes);
  made.held = made.comparison.first_unequal < 0 || made.comparison.largest_units <= command.within;
  return made;
}

/// All files or, of one folder, none.
Result<void> write_outputs(std::span<const EmulateOutput> outputs,
                           std::span<const EmulateArgument> arguments, const EmulateRun& run) {
  std::map<std::string, std::vector<OutputFile>> folders;
  for (const EmulateOutput& each : outputs) {
    const BufferArgument& buffer = arguments[each.argument].buffer;
    const std::filesystem::path path(each.file);
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    folders[folder].push_back({path.filename().string(),
                               write_npy(*buffer.type, buffer.shape, run.after[each.argument])});
  }
  for (const auto& [folder, files] : folders) TILEC_TRY(write_files(folder, files));
  return {};
}

/// A kernel that was given up is the machine's end, not a finding about what it did until then.
Error findings_error(const ptx::Module& module, const ptx::LaunchResult& result) {
  Error error = ptx::to_error(module, result);
  for (size_t i = 0; i < result.findings.size(); ++i) {
    if (result.findings[i].kind != ptx::FindingKind::too_long) continue;
    error.road = dsl::Road::machine;
    error.diagnostics[i].help = "a kernel that only takes long: raise --max-instructions";
  }
  return error;
}

Result<void> run_module(const EmulateCommand& command) {
  const Result<ptx::Module> module = read_module(command.file);
  if (!module) return tl::unexpected(module.error());
  const Result<std::string> entry = choose_entry(*module, command.entry);
  if (!entry) return tl::unexpected(entry.error());
  const auto arguments = read_arguments(module->parameters(*entry), command.arguments);
  if (!arguments) return tl::unexpected(arguments.error());
  const Result<Plan> plan = make_plan(command, *arguments);
  if (!plan) return tl::unexpected(plan.error());

  const Result<EmulateRun> run = emulate(command, *module, *entry, *arguments);
  if (!run) return tl::unexpected(run.error());
  EmulateReport report{.command = &command,
                       .module = &*module,
                       .entry = *entry,
                       .arguments = *arguments,
                       .run = &*run};
  const bool clean = run->result.clean();
  bool held = true;
  for (const Wanted& wanted : plan->wanted) {
    report.expected.push_back(compare(command, *plan, wanted, *arguments, *run));
    held = held && report.expected.back().held;
  }
  if (clean) {
    TILEC_TRY(write_outputs(plan->outputs, *arguments, *run));
    report.outputs = plan->outputs;
  }
  TILEC_TRY(write_output(command.json ? emulate_json(report) : emulate_text(report)));
  if (!clean) return tl::unexpected(findings_error(*module, run->result));
  if (held) return {};
  Error error = Error::user("not-as-expected", "not every --expect holds");
  error.road = dsl::Road::check;
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<void> run(const EmulateCommand& command) {
  try {
    return run_module(command);
  } catch (const std::bad_alloc&) {
    return tl::unexpected(Error::machine("no-memory", "the buffers do not fit the host's memory"));
  }
}

}  // namespace tilec
