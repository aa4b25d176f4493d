// Words in, a plain struct out. With command_options.cpp the only place that knows CLI11.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>

#include "compiler/passes/passes.h"
#include "dsl/text.h"
#include "tools/command_options.h"
#include "tools/commands.h"

namespace tilec {
namespace {

constexpr int kWrongCommandLine = 2;

// The kernel of every example.
constexpr const char* kSpec = "\"tile 128x128 warp 64x32 thread 8x8 stages 2\"";

constexpr const char* kAbout =
    "tilec makes a GPU f32 matrix-multiply kernel of a one-line tiling spec, shows every stage on\n"
    "the way, runs and checks it on a GPU or on the CPU, and says where its instructions go.";

constexpr const char* kExitCodes =
    "Exit codes: 0 fine, 1 the spec is refused, 2 the command line is wrong, 3 a check or a\n"
    "budget failed, 4 the machine failed. Results go to standard output, all else to standard\n"
    "error.";

/// Everything that CLI11 writes to, and the subcommand of each.
struct Parsed {
  ExplainCommand explain;
  CompileCommand compile;
  ReportCommand report;
  RunCommand run;
  BenchCommand bench;
  BenchWords bench_words;
  TuneCommand tune;
  TuneWords tune_words;
  OptCommand opt;
  CheckCommand check;
  EmulateCommand emulate;
  DiffCommand diff;
  ClimbCommand climb;
  BenchWords climb_words;
  ProfileCommand profile;
};

struct Row {
  const char* name;
  const char* summary;
  std::string example;  // after `tilec NAME `
  std::function<void(CLI::App*, Parsed&)> set_up;
  std::function<Command(Parsed&)> take;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"explain", "the completed spec and what follows from it", kSpec,
       [](CLI::App* app, Parsed& p) { set_up(app, p.explain); },
       [](Parsed& p) -> Command { return p.explain; }},
      {"compile", "any stage of a kernel, to standard output or to files",
       fmt::format("{} --emit tile,ptx -o out", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.compile); },
       [](Parsed& p) -> Command {
         finish(p.compile);
         return p.compile;
       }},
      {"report", "where the instructions go: the report on the assembled kernel",
       fmt::format("{} --shape 4096x4096x4096", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.report); },
       [](Parsed& p) -> Command {
         finish(p.report);
         return p.report;
       }},
      {"run", "run and check a kernel; on a GPU, time it beside cuBLAS",
       fmt::format("{} --shape 512x512x512 --device cpu", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.run); },
       [](Parsed& p) -> Command {
         finish(p.run);
         return p.run;
       }},
      {"bench", "time several specs at several shapes on a GPU",
       fmt::format("{} --shape 2048x2048x2048,4096x4096x4096", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.bench, p.bench_words); },
       [](Parsed& p) -> Command {
         finish(p.bench, p.bench_words);
         return p.bench;
       }},
      {"tune", "search a space for the fastest kernel of a shape, verify it and remember it",
       "'tile {64,128}x128x16 warp {32,64}x32 thread 8x{4,8} stages {2..4}' --shape 1024x1024x1024",
       [](CLI::App* app, Parsed& p) { set_up(app, p.tune, p.tune_words); },
       [](Parsed& p) -> Command {
         finish(p.tune, p.tune_words);
         return p.tune;
       }},
      {"opt", "run passes on tile IR text",
       fmt::format("--pass {} gemm.tile", passes::all().front().name),
       [](CLI::App* app, Parsed& p) { set_up(app, p.opt); },
       [](Parsed& p) -> Command { return p.opt; }},
      {"check", "hold a kernel to budgets, for courses and CI",
       fmt::format("{} --require 'fma_share>=0.85, spills==0, conflicts==0'", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.check); },
       [](Parsed& p) -> Command {
         finish(p.check);
         return p.check;
       }},
      {"diff", "what two kernels differ in, the cause first",
       fmt::format("{} \"tile 128x128x16 warp 64x32 thread 8x8 stages 2 blocks_per_sm 2\"", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.diff); },
       [](Parsed& p) -> Command {
         finish(p.diff);
         return p.diff;
       }},
      {"climb", "a table of kernels, rung by rung: speed, shares, what is read and held",
       "examples/01_naive.tile examples/08_split_fragments.tile examples/12_best.tile",
       [](CLI::App* app, Parsed& p) { set_up(app, p.climb, p.climb_words); },
       [](Parsed& p) -> Command {
         finish(p.climb, p.climb_words);
         return p.climb;
       }},
      {"profile", "hardware counters beside the prediction; without a GPU, what the CPU counts",
       fmt::format("{} --shape 256x256x64", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.profile); },
       [](Parsed& p) -> Command { return p.profile; }},
      {"emulate", "run any PTX on the CPU, look for its faults and count; or launch it on a GPU",
       "examples/axpy.ptx --grid 4 --block 256 --arg 1000 --arg 2.5 --arg f32:1000=random:1 "
       "--arg f32:1000=fill:1 --out y=y.npy",
       [](CLI::App* app, Parsed& p) { set_up(app, p.emulate); },
       [](Parsed& p) -> Command {
         finish(p.emulate);
         return p.emulate;
       }},
  };
  return table;
}

/// Says what is wrong and where help is.
int complain(const std::string& command, const std::string& message) {
  std::string prefix = command.empty() ? "tilec" : "tilec " + command;
  bool ends_line = message.ends_with('\n');
  fmt::print(stderr, "{}: {}{}See {} --help.\n", prefix, message, ends_line ? "" : "\n", prefix);
  return kWrongCommandLine;
}

/// The command named by the first word, if it is one at all.
std::optional<std::string> unknown_command(int count, const char* const* words) {
  if (count < 2 || words[1][0] == '-') return std::nullopt;
  std::vector<std::string_view> names;
  for (const Row& row : rows()) names.emplace_back(row.name);
  if (std::ranges::find(names, words[1]) != names.end()) return std::nullopt;
  std::optional<std::string> near = dsl::nearest_word(words[1], names);
  return fmt::format("there is no command {}; {}{}", dsl::quoted(words[1]),
                     near ? "did you mean `" + *near + "`? There are " : "there are ",
                     fmt::join(names, ", "));
}

}  // namespace

tl::expected<Command, int> parse_command_line(int count, const char* const* words) {
  if (auto message = unknown_command(count, words)) return tl::unexpected(complain("", *message));

  CLI::App app(kAbout, "tilec");
  app.set_version_flag("--version", std::string("tilec " TILEC_VERSION));
  app.footer(fmt::format("\nExample:\n  tilec explain {}\n\n{}", kSpec, kExitCodes));
  Parsed parsed;
  for (const Row& row : rows()) {
    CLI::App* command = app.add_subcommand(row.name, row.summary);
    command->footer(fmt::format("\nExample:\n  tilec {} {}", row.name, row.example));
    row.set_up(command, parsed);
  }
  auto chosen = [&app]() -> std::string {
    auto subcommands = app.get_subcommands();
    return subcommands.empty() ? "" : subcommands.front()->get_name();
  };
  try {
    app.parse(count, words);
    for (const Row& row : rows()) {
      if (app.got_subcommand(row.name)) return row.take(parsed);
    }
  } catch (const CLI::Success& request) {  // --help, --version
    return tl::unexpected(app.exit(request));
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(complain(chosen(), error.what()));
  }
  fmt::print(stderr, "{}", app.help());
  return tl::unexpected(kWrongCommandLine);
}

}  // namespace tilec
