// The one file that knows CLI11: words in, a plain struct out.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

#include "compiler/passes/passes.h"
#include "compiler/target.h"
#include "dsl/text.h"
#include "tools/budgets.h"
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
    "Exit codes: 0 fine, 1 the spec is refused, 2 the command line is wrong, 3 a check or a "
    "budget\n"
    "failed, 4 the machine failed. Results go to standard output, all else to standard error.";

const std::map<std::string, Assembler> kAssemblers = {{"auto", Assembler::automatic},
                                                      {"nvjitlink", Assembler::nvjitlink},
                                                      {"ptxas", Assembler::ptxas},
                                                      {"none", Assembler::none}};

const std::map<std::string, Stage> kStages = {{"spec", Stage::spec},   {"tile", Stage::tile},
                                              {"llvm", Stage::llvm},   {"ptx", Stage::ptx},
                                              {"cubin", Stage::cubin}, {"sass", Stage::sass}};

/// A fault of the command line that CLI11 could not know of.
CLI::ValidationError fault(const std::string& message) {
  return CLI::ValidationError(message);
}

dsl::GemmShape shape_of(const std::string& word) {
  dsl::Result<dsl::GemmShape> shape = dsl::parse_shape(word);
  if (!shape) throw fault(dsl::render(shape.error()));
  return *shape;
}

template <class Value>
Value named(const std::map<std::string, Value>& table, const std::string& name,
            const std::string& what) {
  if (auto row = table.find(name); row != table.end()) return row->second;
  std::vector<std::string_view> names;
  for (const auto& [key, value] : table) names.push_back(key);
  std::optional<std::string> near = dsl::nearest_word(name, names);
  throw fault(fmt::format("there is no {} {}; {}: {}", what, dsl::quoted(name),
                          near ? "did you mean `" + *near + "`? There are" : "there are",
                          fmt::join(names, ", ")));
}

// --- options that several commands share
// -----------------------------------------------------------

void add_target(CLI::App* app, std::string& target) {
  std::map<std::string, std::string> names;
  for (const Target& row : targets()) names.emplace(row.limits.target, row.limits.target);
  std::string list;
  for (const Target& row : targets()) list += row.limits.target + " ";
  app->add_option_function<std::string>(
      "--target",
      [&target, names](const std::string& name) { target = named(names, name, "target"); },
      list + "(default: the spec's, else the device's, else sm_90a)");
}

void add_spec(CLI::App* app, SpecChoice& choice) {
  app->add_option("SPEC", choice.spec, "a .tile file, a spec in quotes, or - for standard input")
      ->required();
  app->add_option("--kernel", choice.kernel, "which kernel of a file that holds several");
  add_target(app, choice.target);
}

void add_json(CLI::App* app, bool& json) {
  app->add_flag("--json", json, "print JSON of a stable schema");
}

void add_shape(CLI::App* app, std::optional<dsl::GemmShape>& shape, const std::string& why) {
  app->add_option_function<std::string>(
         "--shape", [&shape](const std::string& word) { shape = shape_of(word); }, why)
      ->type_name("MxNxK");
}

void add_seed(CLI::App* app, uint64_t& seed) {
  // CLI11 by itself would take -1 for 2^64 - 1.
  app->add_option("--seed", seed, "of the random operands (default: 1)")
      ->check(CLI::NonNegativeNumber);
}

void add_assembler(CLI::App* app, Assembler& assembler) {
  app->add_option_function<std::string>(
      "--assembler",
      [&assembler](const std::string& name) { assembler = named(kAssemblers, name, "assembler"); },
      "auto nvjitlink ptxas none (default: auto, the first that works)");
}

void add_device(CLI::App* app, std::string& device) {
  app->add_option_function<std::string>(
      "--device",
      [&device](const std::string& name) {
        const std::map<std::string, std::string> devices = {{"gpu", "gpu"}, {"cpu", "cpu"}};
        device = named(devices, name, "device");
      },
      "gpu or cpu (default: the GPU if there is one)");
}

// --- one function a command
// ------------------------------------------------------------------------

void set_up(CLI::App* app, ExplainCommand& command) {
  add_spec(app, command.choice);
  add_shape(app, command.shape, "say the waves and the slices for this shape too");
  add_json(app, command.json);
}

void set_up(CLI::App* app, CompileCommand& command) {
  add_spec(app, command.choice);
  app->add_option_function<std::vector<std::string>>(
         "--emit",
         [&command](const std::vector<std::string>& names) {
           for (const std::string& name : names) {
             command.emit.push_back(named(kStages, name, "stage"));
           }
         },
         "spec tile llvm ptx cubin sass, one or several with commas between (default: ptx; with "
         "-o: all of them)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("-o,--output", command.directory, "folder for files NAME.tile, NAME.ptx, ...")
      ->type_name("DIR");
  std::map<std::string, std::string> passes = {{"all", "all"}, {"build_kernel", "build_kernel"}};
  for (const passes::PassInfo& pass : passes::all()) passes.emplace(pass.name, pass.name);
  app->add_option_function<std::vector<std::string>>(
         "--dump-after",
         [&command, passes](const std::vector<std::string>& words) {
           for (const std::string& word : words) {
             command.dump_after.push_back(named(passes, word, "pass"));
           }
         },
         "the tile IR after these passes ('all': after each); without --emit it is the result, "
         "else it goes to standard error, with -o to files")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("PASS");
  app->add_flag("--time-passes", command.time_passes, "say on standard error what took how long");
  add_assembler(app, command.assembler);
  add_json(app, command.json);
}

/// What makes no sense together. `cubin` goes to standard output only where no person reads it.
void finish(const CompileCommand& command) {
  const std::vector<Stage>& emit = command.emit;
  auto emits = [&emit](Stage stage) { return std::ranges::find(emit, stage) != emit.end(); };
  if (command.assembler == Assembler::none && (emits(Stage::cubin) || emits(Stage::sass))) {
    throw fault("without an assembler there is neither cubin nor sass");
  }
  if (!command.directory.empty()) return;
  if (emit.size() > 1 && !command.json) throw fault("several stages need a folder: -o DIR");
  if (emits(Stage::cubin) && (command.json || isatty(STDOUT_FILENO) != 0)) {
    throw fault("a cubin is no text: give a folder with -o DIR, or redirect standard output");
  }
}

void set_up(CLI::App* app, ReportCommand& command) {
  add_spec(app, command.choice);
  add_shape(app, command.shape, "say what is executed for this shape too");
  add_assembler(app, command.assembler);
  add_json(app, command.json);
}

void set_up(CLI::App* app, RunCommand& command) {
  add_spec(app, command.choice);
  app->add_option_function<std::string>(
         "--shape", [&command](const std::string& word) { command.problem.shape = shape_of(word); },
         "rows and columns of C, and the length of the sums")
      ->required()
      ->type_name("MxNxK");
  add_device(app, command.device);
  app->add_option("--alpha", command.problem.alpha, "factor of the product (default: 1)");
  app->add_option("--beta", command.problem.beta, "factor of C as it was (default: 0)");
  GemmProblem& problem = command.problem;
  for (auto [name, value] : {std::pair{"--lda", &problem.lda}, std::pair{"--ldb", &problem.ldb},
                             std::pair{"--ldc", &problem.ldc}}) {
    app->add_option(name, *value, "elements from one stored row to the next (default: the row's)");
  }
  for (auto [name, value] :
       {std::pair{"--offset-a", &problem.offset_a}, std::pair{"--offset-b", &problem.offset_b},
        std::pair{"--offset-c", &problem.offset_c}}) {
    app->add_option(name, *value, "elements from a 256-byte boundary to the first (default: 0)");
  }
  add_seed(app, problem.seed);
  app->add_flag_callback(
      "--no-bench", [&command] { command.bench = false; }, "on a GPU: check only, do not time");
  add_assembler(app, command.assembler);
  add_json(app, command.json);
}

void set_up(CLI::App* app, OptCommand& command) {
  app->add_option("FILE", command.file, "a file of tile IR, or - for standard input")->required();
  std::string list;
  std::map<std::string, std::string> names;
  for (const passes::PassInfo& pass : passes::all()) {
    list += fmt::format("\n  {:<20} {}", pass.name, pass.summary);
    names.emplace(pass.name, pass.name);
  }
  app->add_option_function<std::vector<std::string>>(
         "--pass",
         [&command, names](const std::vector<std::string>& words) {
           for (const std::string& word : words) {
             command.passes.push_back(named(names, word, "pass"));
           }
         },
         "a pass to run; several run in the order given; none: parse, verify and print. The "
         "passes, in the order in which compile runs them:" +
             list)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("NAME");
}

void set_up(CLI::App* app, CheckCommand& command) {
  add_spec(app, command.choice);
  std::string list;
  for (const Figure& figure : budget_figures()) {
    list += fmt::format("\n  {:<26} {}", figure.name, figure.meaning);
  }
  app->add_option_function<std::vector<std::string>>(
         "--require",
         [&command](const std::vector<std::string>& texts) {
           command.budgets = fmt::format("{}", fmt::join(texts, ", "));
         },
         "budgets NAME>=NUMBER (also > <= < == !=), with commas between, on:" + list)
      ->required()
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("BUDGETS");
  add_shape(app, command.shape,
            "shape for what is executed or counted (default for what is counted: two tiles by two, "
            "four slices)");
  add_assembler(app, command.assembler);
  add_json(app, command.json);
}

void finish(const CheckCommand& command) {
  if (auto budgets = read_budgets(command.budgets, Report()); !budgets) {
    throw fault("\n" + dsl::render(budgets.error()));
  }
}

/// What CLI11 fills in for `bench`; words that are shapes may stand among the specs.
struct BenchWords {
  std::vector<std::string> words;
  std::vector<std::string> shapes;
  SpecChoice shared;
};

/// Digits, with an `x` between: no spec is that.
bool looks_like_shape(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789x") == std::string::npos;
}

void set_up(CLI::App* app, BenchCommand& command, BenchWords& words) {
  app->add_option("SPEC", words.words, "specs: .tile files, or specs in quotes")->required();
  app->add_option("--shape", words.shapes, "shapes, with commas between")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("MxNxK");
  app->add_option("--kernel", words.shared.kernel, "which kernel of files that hold several");
  add_target(app, words.shared.target);
  add_seed(app, command.seed);
  add_json(app, command.json);
}

void finish(BenchCommand& command, const BenchWords& words) {
  std::vector<std::string> shapes = words.shapes;
  for (const std::string& word : words.words) {
    if (looks_like_shape(word)) {
      shapes.push_back(word);
    } else {
      command.choices.push_back({word, words.shared.kernel, words.shared.target});
    }
  }
  for (const std::string& shape : shapes) command.shapes.push_back(shape_of(shape));
  if (command.choices.empty()) throw fault("SPEC is required");
}

// --- the whole
// -------------------------------------------------------------------------------------

/// Everything that CLI11 writes to, and the subcommand of each.
struct Parsed {
  ExplainCommand explain;
  CompileCommand compile;
  ReportCommand report;
  RunCommand run;
  BenchCommand bench;
  BenchWords bench_words;
  OptCommand opt;
  CheckCommand check;
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
       [](Parsed& p) -> Command { return p.report; }},
      {"run", "run and check a kernel; on a GPU, time it beside cuBLAS",
       fmt::format("{} --shape 512x512x512 --device cpu", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.run); },
       [](Parsed& p) -> Command { return p.run; }},
      {"bench", "time several specs at several shapes on a GPU",
       fmt::format("{} --shape 2048x2048x2048,4096x4096x4096", kSpec),
       [](CLI::App* app, Parsed& p) { set_up(app, p.bench, p.bench_words); },
       [](Parsed& p) -> Command {
         finish(p.bench, p.bench_words);
         return p.bench;
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
