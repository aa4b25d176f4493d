#include "compiler/sass/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/sass/kernels.h"

namespace tilec::sass {
namespace {

struct Pair {
  int machine;
  Produced produced;
  Consumed consumed;
  auto key() const {
    return std::tuple(machine, produced.file, produced.pipe, produced.upper, consumed.pipe,
                      consumed.guard, consumed.upper);
  }
  bool operator<(const Pair& other) const { return key() < other.key(); }
};

using Shortest = std::map<Pair, int>;

// Registers that an instruction of straight code before this one wrote.
class Walk {
 public:
  Walk(Shortest& shortest, int machine) : shortest_(shortest), machine_(machine) {}

  void step(const Instruction& instruction) {
    const Operands operands = operands_of(instruction);
    if (!operands.known) return last_.clear();
    const Pipe pipe = pipe_of(instruction, operands);
    const bool guarded = instruction.guard.predicate != kTruePredicate;
    for (size_t i = 0; i < operands.reads().size(); ++i) {
      const Operand& read = operands.reads()[i];
      const bool is_guard = guarded && i + 1 == operands.reads().size();
      const bool is_addend = pipe == Pipe::wide && read.first == instruction.read(Slot::c) &&
                             read.file == File::general && read.count == 2;
      for (int at = 0; at < read.count; ++at)
        meet(read.file, read.first + at, {pipe, is_guard, is_addend && at == 1});
    }
    for (const Operand& write : operands.writes())
      for (int at = 0; at < write.count; ++at)
        last_[{write.file, write.first + at}] = {
            time_, operands.variable_latency, {pipe, write.file, pipe == Pipe::wide && at == 1}};
    time_ += std::max(1, instruction.control.stall);
  }

 private:
  struct Written {
    int time;
    bool variable;
    Produced produced;
  };

  void meet(File file, int reg, const Consumed& consumed) {
    const auto at = last_.find({file, reg});
    if (at == last_.end() || at->second.variable) return;
    const int distance = time_ - at->second.time;
    int& best =
        shortest_.try_emplace({machine_, at->second.produced, consumed}, distance).first->second;
    best = std::min(best, distance);
  }

  Shortest& shortest_;
  int machine_;
  int time_ = 0;
  std::map<std::pair<File, int>, Written> last_;
};

// The smallest distances along straight code, loops of one block taken twice.
Shortest shortest_distances() {
  Shortest shortest;
  for (const KernelWords& kernel : example_kernels()) {
    for (const int machine : kernel.machines) {
      const std::vector<Instruction> all = decode_all(kernel.words, machine);
      const Flow flow = find_flow(all);
      for (size_t b = 0; b < flow.blocks.size(); ++b) {
        Walk walk(shortest, machine);
        const BasicBlock& block = flow.blocks[b];
        const auto goes_to = [&](size_t to) {
          return std::ranges::find(block.successors, to) != block.successors.end();
        };
        for (size_t i = block.begin; i < block.end; ++i) walk.step(all[i]);
        const size_t next = goes_to(b) ? b : b + 1;
        if (!goes_to(next)) continue;
        for (size_t i = flow.blocks[next].begin; i < flow.blocks[next].end; ++i) walk.step(all[i]);
      }
    }
  }
  return shortest;
}

constexpr const char* kFiles[] = {"general", "uniform", "predicate", "uniform_predicate"};
constexpr const char* kPipes[] = {
    "alu",        "fma",     "wide",         "product_high", "half",   "float_set", "move_special",
    "to_uniform", "uniform", "uniform_load", "uniform_move", "memory", "other",     "control"};

TEST(Latency, IsWhatTheAssemblerLeavesAtLeast) {
  for (const auto& [pair, distance] : shortest_distances()) {
    const std::optional<int> cycles = latency(pair.produced, pair.consumed, pair.machine);
    EXPECT_LE(cycles.value_or(kFarApart), distance)
        << pair.machine << " " << kFiles[int(pair.produced.file)] << " "
        << kPipes[int(pair.produced.pipe)] << (pair.produced.upper ? " upper" : "") << " "
        << kPipes[int(pair.consumed.pipe)] << (pair.consumed.guard ? " guard" : "")
        << (pair.consumed.upper ? " addend" : "");
  }
}

bool is_measured(const Pair& pair) {
  using enum Pipe;
  struct Row {
    int sm;
    File file;
    Pipe producer, consumer;
    std::string_view how;
    int cycles;
  };
  constexpr Row kRows[] = {
#define TILEC_MEASURED(sm, file, producer, consumer, how, cycles) \
  {sm, File::file, producer, consumer, how, cycles},
#include "compiler/sass/data/measured_h200.def"
#undef TILEC_MEASURED
  };
  return std::ranges::any_of(kRows, [&](const Row& row) {
    return row.sm == pair.machine && row.file == pair.produced.file &&
           row.producer == pair.produced.pipe &&
           (pair.consumed.guard ? row.how == "guard" : row.consumer == pair.consumed.pipe);
  });
}

// What was measured beside what the assembler leaves: it knows its machine to the cycle.
TEST(Latency, MeasuredOnAnH200IsWhatTheAssemblerLeaves) {
  EXPECT_EQ(latency({Pipe::alu}, {Pipe::alu}, 90), 4);
  EXPECT_EQ(latency({Pipe::alu}, {Pipe::fma}, 90), 5);
  EXPECT_EQ(latency({Pipe::fma}, {Pipe::memory}, 90), 5);
  EXPECT_EQ(latency({Pipe::alu, File::predicate}, {Pipe::alu, true}, 90), 13);
  EXPECT_EQ(latency({Pipe::uniform, File::uniform}, {Pipe::alu}, 90), 6);
  // Pairs that the examples never have so close.
  EXPECT_EQ(latency({Pipe::move_special}, {Pipe::alu}, 90), 6);
  EXPECT_EQ(latency({Pipe::uniform, File::uniform}, {Pipe::memory}, 90), 8);
}

// No number without a kernel or a measurement that shows it: a larger one would be a guess, a
// smaller one a risk.
TEST(Latency, IsShownByTheExamples) {
  std::map<std::tuple<int, File, Pipe, Pipe, bool, int>, int> shown;  // by number in the table
  for (const auto& [pair, distance] : shortest_distances()) {
    const std::optional<int> cycles = latency(pair.produced, pair.consumed, pair.machine);
    if (!cycles) continue;
    if (is_measured(pair)) continue;
    // A guard's number is one for all consumers.
    const Pipe consumer = pair.consumed.guard ? Pipe::alu : pair.consumed.pipe;
    int& best = shown
                    .try_emplace({pair.machine, pair.produced.file, pair.produced.pipe, consumer,
                                  pair.consumed.guard, *cycles},
                                 distance)
                    .first->second;
    best = std::min(best, distance);
  }
  EXPECT_GT(shown.size(), 80U);
  for (const auto& [row, distance] : shown)
    EXPECT_EQ(std::get<5>(row), distance)
        << std::get<0>(row) << " " << kFiles[int(std::get<1>(row))] << " "
        << kPipes[int(std::get<2>(row))] << " " << kPipes[int(std::get<3>(row))];
}

// What tools/measure_sass runs on a GPU, read by our own tables.
TEST(Latency, TheMeasuringProgramIsMadeOfKnownWords) {
  const std::string tool = TILEC_SOURCE_DIR "/tools/measure_sass";
  FILE* pipe = popen(("python3 '" + tool + "' --words 2>/dev/null").c_str(), "r");
  std::vector<Word> words;
  unsigned long long high = 0, low = 0;
  while (fscanf(pipe, "%16llx%16llx", &high, &low) == 2) words.push_back({low, high});
  if (pclose(pipe) != 0) GTEST_SKIP() << "python3 was not found";
  ASSERT_GT(words.size(), 1000U);
  size_t clocks = 0;
  for (const Instruction& instruction : decode_all(words, 90)) {
    const bool is_clock =
        bits(instruction.word, 0, 12) == 0x805 && bits(instruction.word, 72, 8) != 0xff;
    clocks += is_clock ? 1 : 0;
    EXPECT_TRUE(is_clock || operands_of(instruction).known) << instruction.offset;
    EXPECT_EQ(with_control(instruction.word, instruction.control), instruction.word);
  }
  EXPECT_GT(clocks, 10U);
}

TEST(Latency, OfWhatWasNeverSeenIsNone) {
  EXPECT_EQ(latency({Pipe::half}, {Pipe::alu}, 86), std::nullopt);
  EXPECT_EQ(latency({Pipe::move_special}, {Pipe::alu}, 80), std::nullopt);
  EXPECT_EQ(latency({Pipe::alu, File::uniform}, {Pipe::alu}, 90), std::nullopt);
  EXPECT_EQ(latency({Pipe::fma}, {Pipe::fma}, 90), 4);
  EXPECT_EQ(latency({Pipe::wide, File::general, true}, {Pipe::alu}, 90), 5);
  EXPECT_EQ(latency({Pipe::wide, File::general, false}, {Pipe::alu}, 90), 3);
  EXPECT_EQ(write_after_write(Pipe::fma, Pipe::fma), 1);
  EXPECT_EQ(write_after_write(Pipe::half, Pipe::alu), 7);
}

}  // namespace
}  // namespace tilec::sass
