// The options of each command. `set_up` gives them to CLI11, which fills the command; `finish`
// looks at what options make no sense together. Both throw CLI11's errors, which
// `parse_command_line` catches; no other file sees CLI11.
#pragma once

#include <string>
#include <vector>

#include "tools/commands.h"

namespace CLI {
class App;
}

namespace tilec {

/// What CLI11 fills in for `bench`; words that are shapes may stand among the specs.
struct BenchWords {
  std::vector<std::string> words;
  std::vector<std::string> shapes;
  SpecChoice shared;
};

/// What CLI11 fills in for `tune`.
struct TuneWords {
  std::vector<std::string> shapes;
  std::string shard;
};

void set_up(CLI::App* app, ExplainCommand& command);
void set_up(CLI::App* app, CompileCommand& command);
void set_up(CLI::App* app, ReportCommand& command);
void set_up(CLI::App* app, RunCommand& command);
void set_up(CLI::App* app, BenchCommand& command, BenchWords& words);
void set_up(CLI::App* app, TuneCommand& command, TuneWords& words);
void set_up(CLI::App* app, OptCommand& command);
void set_up(CLI::App* app, CheckCommand& command);
void set_up(CLI::App* app, EmulateCommand& command);  // emulate_options.cpp

void set_up(CLI::App* app, DiffCommand& command);
void set_up(CLI::App* app, ClimbCommand& command, BenchWords& words);
void set_up(CLI::App* app, ProfileCommand& command);

// Options that several commands share.
void add_layout(CLI::App* app, dsl::OperandLayout& layout);
void add_batch(CLI::App* app, int64_t& matrices, dsl::Batch& batched);
void add_device(CLI::App* app, std::string& device);
void add_json(CLI::App* app, bool& json);
/// Throws where the word is no shape.
dsl::GemmShape shape_of(const std::string& word);

void finish(const CompileCommand& command);
void finish(const ReportCommand& command);
void finish(DiffCommand& command);
void finish(ClimbCommand& command, const BenchWords& words);
void finish(RunCommand& command);
void finish(BenchCommand& command, const BenchWords& words);
void finish(TuneCommand& command, const TuneWords& words);
void finish(const CheckCommand& command);
void finish(const EmulateCommand& command);

}  // namespace tilec
