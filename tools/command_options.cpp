// The options of each command: CLI11 fills the plain structs.
#include "tools/command_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "compiler/passes/passes.h"
#include "compiler/target.h"
#include "dsl/text.h"
#include "dsl/words.h"
#include "tools/budgets.h"

namespace tilec {
namespace {

const std::map<std::string, Assembler> kAssemblers = {{"auto", Assembler::automatic},
                                                      {"nvjitlink", Assembler::nvjitlink},
                                                      {"ptxas", Assembler::ptxas},
                                                      {"none", Assembler::none}};

const std::map<std::string, Stage> kStages = {{"spec", Stage::spec},   {"tile", Stage::tile},
                                              {"llvm", Stage::llvm},   {"ptx", Stage::ptx},
                                              {"cubin", Stage::cubin}, {"sass", Stage::sass}};

const std::map<std::string, dsl::Batch> kBatches = {{"strided", dsl::Batch::strided},
                                                    {"pointers", dsl::Batch::pointers}};

/// A fault of the command line that CLI11 could not know of.
CLI::ValidationError fault(const std::string& message) {
  return CLI::ValidationError(message);
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

// --- options that several commands share ---

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

void add_spec(CLI::App* app, SpecChoice& choice, bool required = true) {
  app->add_option("SPEC", choice.spec,
                  required ? "a .tile file, a spec in quotes, or - for standard input"
                           : "a .tile file, a spec in quotes, or - for standard input; without one "
                             "the fastest known for the device and the shape")
      ->required(required);
  app->add_option("--kernel", choice.kernel, "which kernel of a file that holds several");
  add_target(app, choice.target);
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

/// Digits, with an `x` between: no spec is that.
bool looks_like_shape(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789x") == std::string::npos;
}

}  // namespace

dsl::GemmShape shape_of(const std::string& word) {
  dsl::Result<dsl::GemmShape> shape = dsl::parse_shape(word);
  if (!shape) throw fault(dsl::render(shape.error()));
  return *shape;
}

void add_json(CLI::App* app, bool& json) {
  app->add_flag("--json", json, "print JSON of a stable schema");
}

void add_layout(CLI::App* app, dsl::OperandLayout& layout) {
  std::map<std::string, dsl::OperandLayout> names;
  for (const auto& [word, value] : dsl::kLayoutWords) names.emplace(word, value);
  app->add_option_function<std::string>(
         "--layout",
         [&layout, names](const std::string& word) { layout = named(names, word, "layout"); },
         "nn nt tn tt: how A and B lie, where no spec says it (default: nn)")
      ->type_name("LAYOUT");
}

void add_batch(CLI::App* app, int64_t& matrices, dsl::Batch& batched) {
  app->add_option_function<int64_t>(
         "--batch",
         [&](int64_t count) {
           matrices = count;
           if (batched == dsl::Batch::none) batched = dsl::Batch::strided;
         },
         "matrices, each of this shape (default: one, and no batch)")
      ->type_name("N");
  app->add_option_function<std::string>(
         "--batch-by",
         [&](const std::string& word) {
           batched = named(kBatches, word, "way for a batch to lie");
         },
         "strided: each matrix after the one before (default); pointers: by an array")
      ->type_name("WAY");
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
  for (const std::string_view pass : sass_passes()) passes.emplace(pass, pass);
  app->add_option_function<std::vector<std::string>>(
         "--dump-after",
         [&command, passes](const std::vector<std::string>& words) {
           for (const std::string& word : words) {
             command.dump_after.push_back(named(passes, word, "pass"));
           }
         },
         fmt::format("the tile IR after these passes ('all': after each), or the SASS after {}; "
                     "without --emit it is the result, else it goes to standard error, with -o to "
                     "files",
                     fmt::join(sass_passes(), ", ")))
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
  if (command.assembler == Assembler::none)
    for (const std::string& pass : command.dump_after)
      if (std::ranges::count(sass_passes(), pass) != 0)
        throw fault(fmt::format("{} comes behind the assembler, which is left out", pass));
  if (!command.directory.empty()) return;
  if (emit.size() > 1 && !command.json) throw fault("several stages need a folder: -o DIR");
  if (emits(Stage::cubin) && (command.json || isatty(STDOUT_FILENO) != 0)) {
    throw fault("a cubin is no text: give a folder with -o DIR, or redirect standard output");
  }
}

void set_up(CLI::App* app, ReportCommand& command) {
  add_spec(app, command.choice);
  add_shape(app, command.shape,
            "say what is executed for this shape too, and predict for it (default: 4096 cubed)");
  app->add_flag("--sass-view", command.sass_view,
                "every instruction with control fields, register banks, predicted cost, its lines "
                "of tile IR and PTX");
  app->add_option("--html", command.html, "write one self-contained page instead")
      ->type_name("FILE");
  add_assembler(app, command.assembler);
  add_json(app, command.json);
}

void finish(const ReportCommand& command) {
  if (command.sass_view && command.json) throw fault("--sass-view is a text: leave out --json");
  if (command.sass_view && command.assembler == Assembler::none)
    throw fault("without an assembler there is no sass to view");
}

void set_up(CLI::App* app, DiffCommand& command) {
  app->add_option("A", command.before.spec,
                  "a spec, a .tile file, or a .json file of report --json or run --json")
      ->required();
  app->add_option("B", command.after.spec, "the other")->required();
  app->add_option("--kernel-a", command.before.kernel, "which kernel of a file that holds several");
  app->add_option("--kernel-b", command.after.kernel, "the same for B");
  add_target(app, command.before.target);
  add_shape(app, command.shape, "shape of the prediction (default: 4096 cubed)");
  add_assembler(app, command.assembler);
  add_json(app, command.json);
}

void finish(DiffCommand& command) {
  command.after.target = command.before.target;
}

void set_up(CLI::App* app, ProfileCommand& command) {
  add_spec(app, command.choice);
  app->add_option_function<std::string>(
         "--shape", [&command](const std::string& word) { command.shape = shape_of(word); },
         "rows and columns of C, and the length of the sums")
      ->required()
      ->type_name("MxNxK");
  add_assembler(app, command.assembler);
  add_json(app, command.json);
}

void set_up(CLI::App* app, RunCommand& command) {
  add_spec(app, command.choice, false);
  add_layout(app, command.problem.layout);
  app->add_option("--tuning", command.tuning,
                  "file of tune's results (default: TILEC_TUNING, or one in the cache folder)");
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
  add_batch(app, problem.batch, problem.batched);
  add_seed(app, problem.seed);
  app->add_flag_callback(
      "--no-bench", [&command] { command.bench = false; }, "on a GPU: check only, do not time");
  app->add_flag_callback(
      "--no-cublas", [&command] { command.cublas = false; },
      "on a GPU: nothing but the kernel, for sanitizers and profilers; float64 still checks it");
  app->add_flag("--counters", command.counters,
                "on the CPU: all that is counted, in the whole and by line of tile IR");
  add_assembler(app, command.assembler);
  add_json(app, command.json);
}

void finish(RunCommand& command) {
  if (!command.counters) return;
  if (command.device == "gpu") throw fault("--counters counts on the CPU: --device cpu");
  command.device = "cpu";
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

void set_up(CLI::App* app, ClimbCommand& command, BenchWords& words) {
  app->add_option("SPEC", words.words, "specs: .tile files, or specs in quotes")->required();
  app->add_option("--shape", words.shapes,
                  "shapes, with commas between (default: 4096, 2048 and 8192 cubed); the first is "
                  "the table's")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("MxNxK");
  app->add_option("--kernel", words.shared.kernel, "which kernel of files that hold several");
  add_target(app, words.shared.target);
  app->add_option_function<std::string>(
      "--device",
      [&command](const std::string& name) {
        const std::map<std::string, std::string> devices = {{"gpu", "gpu"}, {"model", "model"}};
        command.device = named(devices, name, "device");
      },
      "gpu: measure; model: predict, and count on the CPU (default: gpu if there is one)");
  app->add_option("--html", command.html, "write one self-contained page instead")
      ->type_name("FILE");
  add_json(app, command.json);
}

void finish(ClimbCommand& command, const BenchWords& words) {
  BenchCommand same;
  finish(same, words);
  command.choices = same.choices;
  command.shapes = same.shapes;
  if (command.shapes.empty())
    command.shapes = {{4096, 4096, 4096}, {2048, 2048, 2048}, {8192, 8192, 8192}};
}

}  // namespace tilec
