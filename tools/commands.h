// The command line of tilec, in three steps: `parse_command_line` turns words into one of the plain
// structs below, `run` does what the struct says, and `main` turns the outcome into an exit code.
//
// Results go to standard output, everything else to standard error. Exit codes are those of the
// design: 0 fine, 1 a spec (or another input) is refused, 2 the command line is wrong, 3 a check or
// a budget failed, 4 the machine failed, 70 our own code is wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/compile.h"
#include "dsl/error.h"
#include "dsl/shape.h"
#include "runtime/problem.h"

namespace tilec {

enum class Stage { spec, tile, llvm, ptx, cubin, sass };

/// Where specs come from, the same for every command.
struct SpecChoice {
  std::string spec;    // a file, "-" for standard input, or the spec itself
  std::string kernel;  // which kernel of the file; empty: not chosen
  std::string target;  // empty: the spec's, else the device's, else sm_90a
};

struct ExplainCommand {
  SpecChoice choice;
  std::optional<dsl::GemmShape> shape;
  bool json = false;
};

struct CompileCommand {
  SpecChoice choice;
  std::vector<Stage> emit;  // empty: ptx, or with `directory` every stage
  std::string directory;    // empty: standard output
  std::vector<std::string> dump_after;
  bool time_passes = false;
  Assembler assembler = Assembler::automatic;
  bool json = false;
};

struct ReportCommand {
  SpecChoice choice;
  std::optional<dsl::GemmShape> shape;
  Assembler assembler = Assembler::automatic;
  bool sass_view = false;
  std::string html;  // a file to write the page to; empty: none
  bool json = false;
};

struct DiffCommand {
  SpecChoice before;  // or a file that `report --json` or `run --json` wrote
  SpecChoice after;
  std::optional<dsl::GemmShape> shape;
  Assembler assembler = Assembler::automatic;
  bool json = false;
};

struct ClimbCommand {
  std::vector<SpecChoice> choices;
  std::vector<dsl::GemmShape> shapes;  // the first is the table's; the others show size effects
  std::string device;                  // "gpu", "model" or empty: the GPU if there is one
  std::string html;                    // a file to write the page to; empty: none
  bool json = false;
};

struct ProfileCommand {
  SpecChoice choice;
  dsl::GemmShape shape;
  Assembler assembler = Assembler::automatic;
  bool json = false;
};

struct RunCommand {
  SpecChoice choice;      // an empty spec: the fastest known is taken
  GemmProblem problem;    // its layout is filled in from the spec, where there is one
  std::string tuning;     // the tuning file; empty: the usual one
  std::string device;     // "gpu", "cpu" or empty: the GPU if there is one
  bool bench = true;      // time it, on a GPU
  bool cublas = true;     // compare it with cuBLAS, on a GPU
  bool counters = false;  // all that the CPU counts
  Assembler assembler = Assembler::automatic;
  bool json = false;
};

struct TuneCommand {
  SpecChoice choice;  // a space; empty: the one that comes with tilec
  std::vector<dsl::GemmShape> shapes;
  dsl::OperandLayout layout;
  int64_t batch = 1;
  dsl::Batch batched = dsl::Batch::none;
  std::string file;                 // empty: the usual one
  std::vector<std::string> merged;  // files to take rows from
  std::string exported;             // file to write the fastest of every shape to; "-": output
  std::string device;
  size_t most = 256;
  int shard = 0;
  int shards = 1;
  double seconds = 30;
  bool again = false;
  bool json = false;
};

struct BenchCommand {
  std::vector<SpecChoice> choices;
  std::vector<dsl::GemmShape> shapes;
  uint64_t seed = 1;
  bool json = false;
};

struct OptCommand {
  std::string file;  // "-" for standard input
  std::vector<std::string> passes;
};

struct CheckCommand {
  SpecChoice choice;
  std::string budgets;
  std::optional<dsl::GemmShape> shape;
  Assembler assembler = Assembler::automatic;
  bool json = false;
};

struct EmulateCommand {
  std::string file;   // PTX; "-" for standard input
  std::string entry;  // empty: the only one
  bool gpu = false;   // launch it on the GPU, where nothing is looked for or counted
  std::array<uint64_t, 3> grid{1, 1, 1};  // as asked for, whatever the limits are
  std::array<uint64_t, 3> block{1, 1, 1};
  uint64_t shared_bytes = 0;                 // dynamic
  std::vector<std::string> arguments;        // as written: tools/emulate_arguments.h
  std::vector<std::string> outputs;          // ARGUMENT=FILE.npy
  std::vector<std::string> expected;         // ARGUMENT=FILE.npy
  double within = 0;                         // units in the last place that `expected` allows
  std::string unit_of;                       // the argument whose elements set the unit; or empty
  bool check_all = true;                     // races and what was never written, too
  uint64_t most_instructions = 200'000'000;  // warp instructions of a block
  std::optional<uint64_t> schedule;          // seed of another order of blocks and warps
  bool counters = false;
  bool json = false;
};

using Command = std::variant<ExplainCommand, CompileCommand, ReportCommand, RunCommand,
                             BenchCommand, TuneCommand, OptCommand, CheckCommand, EmulateCommand,
                             DiffCommand, ClimbCommand, ProfileCommand>;

/// What a command line comes to: a command, or an exit code with all said already (help, a fault).
/// Prints help to standard output and faults to standard error.
tl::expected<Command, int> parse_command_line(int count, const char* const* words);

// Each does its command and prints the results. An error is for the caller to print.
dsl::Result<void> run(const ExplainCommand& command);
dsl::Result<void> run(const CompileCommand& command);
dsl::Result<void> run(const ReportCommand& command);
dsl::Result<void> run(const RunCommand& command);
dsl::Result<void> run(const BenchCommand& command);
dsl::Result<void> run(const TuneCommand& command);
dsl::Result<void> run(const OptCommand& command);
dsl::Result<void> run(const CheckCommand& command);
dsl::Result<void> run(const EmulateCommand& command);
dsl::Result<void> run(const DiffCommand& command);
dsl::Result<void> run(const ClimbCommand& command);
dsl::Result<void> run(const ProfileCommand& command);

}  // namespace tilec
