#include "compiler/sass/operands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/sass/disassemble.h"
#include "tests/sass/kernels.h"

namespace tilec::sass {
namespace {

using Named = std::pair<File, int>;

// Registers and predicates in the order of nvdisasm's text, constants and the guard left out:
// R12, UR4, P0, UP1; not SR_TID.X, B0, c[0x0], labels.
std::vector<Named> named_in(std::string_view text) {
  if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' '), text.size()));
  const size_t start = text.find_first_not_of(' ');
  text.remove_prefix(std::min(text.find(' ', start), text.size()));  // the mnemonic
  std::vector<Named> out;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '`') i = std::min(text.find(')', i), text.size() - 1);
    if (!is_word(text[i]) || (i > 0 && text[i - 1] == '.')) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    std::string_view word = text.substr(i, end - i);
    i = end;
    if (word == "PR")
      for (int p = 0; p < kTruePredicate; ++p) out.emplace_back(File::predicate, p);
    const bool uniform = word.starts_with('U');
    if (uniform) word.remove_prefix(1);
    if (word.size() < 2 || (word[0] != 'R' && word[0] != 'P')) continue;
    if (!std::ranges::all_of(word.substr(1), [](char c) { return c >= '0' && c <= '9'; })) continue;
    const File file = word[0] == 'R' ? (uniform ? File::uniform : File::general)
                                     : (uniform ? File::uniform_predicate : File::predicate);
    out.emplace_back(file, std::stoi(std::string(word.substr(1))));
  }
  return out;
}

std::string shown(const std::vector<Named>& names) {
  std::string out;
  for (const auto& [file, number] : names) out += fmt::format("{}:{} ", int(file), number);
  return out;
}

// What is wrong between our operands and the text; empty if nothing.
std::string disagreement(const Instruction& instruction, int machine, std::string_view text) {
  const Operands ours = operands_of(instruction);
  if (!ours.known) return "";
  const std::vector<Named> theirs = named_in(text);
  std::multiset<Named> written;
  for (const Operand& operand : ours.writes()) written.emplace(operand.file, operand.first);
  const size_t count = written.size();
  if (theirs.size() < count) return "more written than named";
  const auto middle = theirs.begin() + static_cast<ptrdiff_t>(count);
  if (std::multiset<Named>(theirs.begin(), middle) != written)
    return "written " + shown({written.begin(), written.end()}) + "text " + shown(theirs);
  const std::set<Named> read_there(middle, theirs.end());
  std::set<Named> read_here;
  std::span<const Operand> reads = ours.reads();
  if (instruction.guard.predicate != kTruePredicate) {
    const bool uniform = text.starts_with("@U") || text.starts_with("@!U");
    const Operand guard{uniform ? File::uniform_predicate : File::predicate,
                        static_cast<uint8_t>(instruction.guard.predicate)};
    if (reads.back() != guard) return "the guard";
    reads = reads.first(reads.size() - 1);
  }
  for (const Operand& operand : reads) {
    // Descriptors are not printed before sm_90.
    const bool is_descriptor = machine < 90 && operand.file == File::uniform &&
                               operand.count == 2 && ours.effect != Effect::none;
    if (!is_descriptor || read_there.contains({operand.file, operand.first}))
      read_here.emplace(operand.file, operand.first);
  }
  if (read_here == read_there) return "";
  return "read " + shown({read_here.begin(), read_here.end()}) + "text " +
         shown({read_there.begin(), read_there.end()});
}

TEST(Operands, AreKnownForEveryInstructionOfTheExamples) {
  ASSERT_GE(example_kernels().size(), 48U);
  std::set<std::string> unknown;
  size_t loops = 0;
  for (const KernelWords& kernel : example_kernels()) {
    for (const int machine : kernel.machines) {
      const std::vector<Instruction> all = decode_all(kernel.words, machine);
      for (const Instruction& instruction : all)
        if (!operands_of(instruction).known) unknown.insert(name_of(instruction));
      const auto loop = steady_block(all);
      loops += loop ? 1 : 0;
      if (!loop) continue;
      for (size_t i = loop->first; i < loop->second; ++i)
        EXPECT_TRUE(operands_of(all[i]).known) << machine << " " << kernel.name << " " << i;
    }
  }
  EXPECT_GT(loops, 40U);
  EXPECT_EQ(unknown, std::set<std::string>{});
}

TEST(Operands, ReplacingARegisterChangesThatFieldAlone) {
  size_t replaced = 0;
  for (const KernelWords& kernel : example_kernels()) {
    const int machine = kernel.machines.front();
    for (const Instruction& instruction : decode_all(kernel.words, machine)) {
      if (!operands_of(instruction).known) continue;
      for (const RegisterUse& use : instruction.registers()) {
        EXPECT_EQ(with_register(instruction, use.slot, use.first), instruction.word);
        const Word word = with_register(instruction, use.slot, 84);
        const Instruction changed = decode(word, instruction.offset, machine);
        Instruction expected = instruction;
        for (int i = 0; i < expected.use_count; ++i)
          if (expected.uses[size_t(i)].slot == use.slot) expected.uses[size_t(i)].first = 84;
        EXPECT_EQ(changed.uses, expected.uses);
        EXPECT_EQ(changed.control, instruction.control);
        EXPECT_EQ(with_register(changed, use.slot, use.first), instruction.word);
        ++replaced;
      }
    }
  }
  EXPECT_GT(replaced, 100000U);
}

TEST(Operands, AgreeWithTheTextOfEveryObservedInstruction) {
  std::istringstream file(read_text("instructions.txt"));
  size_t compared = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string machines, low, high, text;
    words >> machines >> low >> high;
    std::getline(words >> std::ws, text);
    std::istringstream list(machines);
    for (std::string machine; std::getline(list, machine, ',');) {
      const int sm = std::stoi(machine);
      if (sm > 90) continue;
      const Word word{std::stoull(low, nullptr, 16), std::stoull(high, nullptr, 16)};
      const Instruction instruction = decode(word, 0, sm);
      EXPECT_EQ(disagreement(instruction, sm, text), "") << "sm_" << sm << " " << text;
      compared += operands_of(instruction).known ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 1500U);
}

// nvdisasm's text of words that stand in no cubin.
std::vector<TextLine> text_of(const std::string& tool, const std::vector<Word>& words,
                              int machine) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("tilec-words-{}", getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * kWordBytes));
  const std::string command = fmt::format("'{}' -b SM{}{} -hex '{}'", tool, machine,
                                          machine == 90 ? "a" : "", path.string());
  std::string out = "\t.section\t.text.words,\n";
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[1 << 16];
  for (size_t count = 0; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    out.append(buffer, count);
  pclose(pipe);
  std::filesystem::remove(path);
  return parse_disassembly(out).kernels.at(0).lines;
}

// The words of all examples, each once whatever its control fields say.
std::vector<Word> distinct_words(int machine) {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  std::vector<Word> out;
  for (const KernelWords& kernel : example_kernels()) {
    if (std::ranges::find(kernel.machines, machine) == kernel.machines.end()) continue;
    for (const Word word : kernel.words) {
      const Word plain = with_control(word, {.stall = 1});
      if (seen.emplace(plain.lo, plain.hi).second) out.push_back(plain);
    }
  }
  return out;
}

TEST(Operands, AreThoseThatTheTextOfEveryExampleNames) {
  const std::optional<std::string> tool = find_nvdisasm();
  if (!tool) GTEST_SKIP() << "nvdisasm was not found";
  for (const int machine : {80, 86, 89, 90}) {
    const std::vector<Word> words = distinct_words(machine);
    const std::vector<TextLine> lines = text_of(*tool, words, machine);
    ASSERT_EQ(lines.size(), words.size()) << machine;
    EXPECT_GT(words.size(), 4000U);
    for (const TextLine& line : lines)
      EXPECT_EQ(disagreement(decode(line.word, line.offset, machine), machine, line.text), "")
          << "sm_" << machine << " " << line.offset << " " << line.text;
  }
}

struct Row {
  const char* text;
  uint64_t low, high;
  int machine;
  Effect effect;
  bool variable_latency, reads_late;
  std::vector<Operand> reads, writes;
};

constexpr File kGeneral = File::general, kUniform = File::uniform, kPredicate = File::predicate;

TEST(Operands, OfEachKind) {
  const Row rows[] = {
      {"LDGSTS.E [R11], desc[UR6][R2.64], P0",
       0x00000000020b7fae,
       0x000fe80008121846,
       90,
       Effect::async_copy,
       false,
       true,
       {{kGeneral, 11, 1}, {kGeneral, 2, 2}, {kPredicate, 0, 1}, {kUniform, 6, 2}},
       {}},
      {"LDS.128 R4, [R6+0x10]",
       0x0000100006047984,
       0x000e280000000c00,
       80,
       Effect::shared_read,
       true,
       true,
       {{kGeneral, 6, 1}},
       {{kGeneral, 4, 4}}},
      {"IADD3 R0, -R0, R20, RZ",
       0x0000001400007210,
       0x000fc40007ffe1ff,
       90,
       Effect::none,
       false,
       false,
       {{kGeneral, 0, 1}, {kGeneral, 20, 1}},
       {{kGeneral, 0, 1}}},
      {"NOP", 0x0000000000007918, 0x000fc00000000000, 90, Effect::none, false, false, {}, {}},
  };
  for (const Row& row : rows) {
    const Operands found = operands_of(decode({row.low, row.high}, 0, row.machine));
    EXPECT_TRUE(found.known) << row.text;
    EXPECT_EQ(found.effect, row.effect) << row.text;
    EXPECT_EQ(found.variable_latency, row.variable_latency) << row.text;
    EXPECT_EQ(found.reads_late(), row.reads_late) << row.text;
    EXPECT_EQ(std::vector<Operand>(found.reads().begin(), found.reads().end()), row.reads)
        << row.text;
    EXPECT_EQ(std::vector<Operand>(found.writes().begin(), found.writes().end()), row.writes)
        << row.text;
  }
}

TEST(Operands, WhatTheTableLacksIsNotKnown) {
  EXPECT_FALSE(operands_of(decode(word_of(0x123), 0, 90)).known);
  // A reduction by a barrier, a clock, a constant bank by uniform register, an unseen form.
  EXPECT_FALSE(operands_of(decode(with_bits(word_of(0xb1d), 77, 3, 2), 0, 90)).known);
  EXPECT_TRUE(operands_of(decode(word_of(0xb1d), 0, 90)).known);
  EXPECT_FALSE(operands_of(decode(with_bits(word_of(0x805), 72, 8, 0x50), 0, 90)).known);
  EXPECT_TRUE(operands_of(decode(with_bits(word_of(0x805), 72, 8, 0xff), 0, 90)).known);
  EXPECT_FALSE(operands_of(decode(with_bits(word_of(0xa24), 91, 1, 1), 0, 90)).known);
  EXPECT_TRUE(operands_of(decode(word_of(0xa24), 0, 90)).known);
  EXPECT_FALSE(operands_of(decode(word_of(0x318), 0, 90)).known);
  // Matrix instructions have registers whose number we do not read.
  EXPECT_FALSE(operands_of(decode(word_of(0x23c), 0, 90)).known);
}

}  // namespace
}  // namespace tilec::sass
