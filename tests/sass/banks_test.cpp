#include "compiler/sass/banks.h"

#include <gtest/gtest.h>

#include "tests/sass/support.h"

namespace tilec::sass {
namespace {

BankUse use_of(std::initializer_list<Word> words) {
  const std::vector<Instruction> code = program(words);
  std::vector<const Instruction*> run;
  for (const Instruction& instruction : code) run.push_back(&instruction);
  return bank_use(run);
}

struct Row {
  const char* what;
  std::initializer_list<Word> body;
  int cycles;
};

constexpr int kA = 1, kB = 2, kC = 4;  // reuse flags

TEST(Banks, CyclesOfLoops) {
  const Row rows[] = {
      {"two even, one odd", {ffma(9, 0, 2, 9)}, 2},
      {"one even, two odd", {ffma(9, 0, 3, 9)}, 2},
      {"all in one bank", {ffma(8, 0, 2, 8)}, 3},
      {"a zero register is not read", {ffma(8, 0, 2, 255)}, 2},
      {"a reused by itself, b and c apart", {ffma(8, 0, 3, 8, kA)}, 1},
      {"a reused by itself, b and c together", {ffma(8, 0, 2, 8, kA)}, 2},
      {"a and b reused", {ffma(8, 0, 2, 8, kA | kB)}, 1},
      {"all reused", {ffma(8, 0, 2, 8, kA | kB | kC)}, 1},
      {"the flag names the next instruction's slot, not its own",
       {ffma(8, 0, 3, 8, kA), ffma(10, 0, 3, 10)},
       // the first reads a (nothing kept by the second): a, c even, b odd: 2; the second 1
       3},
      {"another register in the slot is read", {ffma(8, 0, 3, 8, kA), ffma(10, 2, 3, 10, kA)}, 4},
      {"the same register in another slot is read", {ffma(8, 0, 3, 8, kA), ffma(10, 3, 0, 10)}, 4},
  };
  for (const Row& row : rows) EXPECT_EQ(use_of(row.body).cycles, row.cycles) << row.what;
}

// Runs of 8 that share a cost 1 + 1/8, as measured: the first of a run reads three operands.
TEST(Banks, RunsThatShareA) {
  std::vector<Instruction> code;
  std::vector<const Instruction*> run;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      // a in R0..R7, b odd, c even; the flag is off on the last of a run
      const Word word =
          ffma(32 + 2 * (8 * i + j), i, 9 + 2 * j, 32 + 2 * (8 * i + j), j < 7 ? kA : 0);
      code.push_back(decode(word, 0, 90));
    }
  for (const Instruction& instruction : code) run.push_back(&instruction);
  const BankUse use = bank_use(run);
  EXPECT_EQ(use.fmas, 64);
  EXPECT_EQ(use.cycles, 64 + 8);
  EXPECT_DOUBLE_EQ(use.conflicts_per_fma(), 0.125);
}

// The serpentine: b is reused at the turn, and a there lies in the other bank than c.
TEST(Banks, ASerpentineNeedsOneCycleEach) {
  std::vector<Instruction> code;
  std::vector<const Instruction*> run;
  for (int i = 0; i < 8; ++i)
    for (int step = 0; step < 8; ++step) {
      const int j = i % 2 == 0 ? step : 7 - step;
      const int c = 32 + 2 * (8 * i + j);  // even
      // At the turn only a (odd: R1, R3, ...) and c (even) are read.
      code.push_back(decode(ffma(c, 1 + 2 * i, 17 + 2 * j, c, step < 7 ? kA : kB), 0, 90));
    }
  for (const Instruction& instruction : code) run.push_back(&instruction);
  const BankUse use = bank_use(run);
  EXPECT_EQ(use.cycles, 64);
  EXPECT_EQ(use.operands_reused, 64);
}

// An instruction in between evicts only the slots that it reads.
TEST(Banks, OthersEvictTheSlotsTheyRead) {
  const Word add_a =
      with_bits(with_bits(with_bits(word_of(0x810), 24, 8, 4), 64, 8, 255), 16, 8, 5);
  Word move_b = with_bits(with_bits(word_of(0x202), 32, 8, 4), 16, 8, 5);
  const Word fma = ffma(8, 0, 3, 8, kA);
  EXPECT_EQ(use_of({fma, add_a, fma}).cycles, 2 + 1);
  EXPECT_EQ(use_of({fma, move_b, fma}).cycles, 1 + 1);
  EXPECT_EQ(use_of({fma, nop(), fma}).cycles, 1 + 1);
}

TEST(Banks, NoFmasNoCycles) {
  const BankUse use = use_of({iadd3()});
  EXPECT_EQ(use.fmas, 0);
  EXPECT_EQ(use.conflicts_per_fma(), 0);
  EXPECT_EQ(use.cycles_per_fma(), 0);
}

}  // namespace
}  // namespace tilec::sass
