#include "compiler/sass/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "compiler/sass/cross_check.h"
#include "tests/sass/support.h"

namespace tilec::sass {
namespace {

// A line of data/instructions.txt.
struct Observed {
  std::vector<int> machines;
  Word word;
  std::string text;
};

std::vector<Observed> read_observed() {
  std::vector<Observed> out;
  std::istringstream file(read_text("instructions.txt"));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Observed observed;
    std::string machines, low, high;
    words >> machines >> low >> high;
    std::istringstream list(machines);
    for (std::string machine; std::getline(list, machine, ',');)
      observed.machines.push_back(std::stoi(machine));
    observed.word = {std::stoull(low, nullptr, 16), std::stoull(high, nullptr, 16)};
    std::getline(words >> std::ws, observed.text);
    out.push_back(std::move(observed));
  }
  return out;
}

TEST(Decode, AgreesWithTheTextOfEveryObservedInstruction) {
  const std::vector<Observed> all = read_observed();
  ASSERT_GT(all.size(), 1500U);
  for (const Observed& observed : all) {
    for (const int machine : observed.machines) {
      const Instruction instruction = decode(observed.word, 0, machine);
      EXPECT_NE(instruction.opcode, nullptr) << "sm_" << machine << " " << observed.text;
      const TextKernel text{.lines = {{0, observed.text, observed.word}}};
      for (const Mismatch& mismatch : cross_check({&instruction, 1}, text))
        ADD_FAILURE() << "sm_" << machine << " " << mismatch.text << ": " << mismatch.what;
    }
  }
}

// No row of the table without an instruction that was seen, on the machines that it names, in the
// forms that it names. Branches have labels in their text and are left out of the file.
TEST(Decode, EveryRowOfTheTableWasSeen) {
  std::set<std::pair<const Opcode*, char>> seen;
  for (const Observed& observed : read_observed())
    for (const int machine : observed.machines)
      if (const Opcode* row = find_opcode(observed.word, machine))
        seen.insert({row, static_cast<char>('0' + form_of(observed.word))});
  const std::set<std::string_view> with_labels = {"BRA", "BSSY", "CALL", "LEPC", "RET"};
  for (const Opcode& row : opcodes())
    for (const char form : row.forms)
      EXPECT_TRUE(seen.contains({&row, form}) || with_labels.contains(row.name))
          << row.name << " form " << form;
}

struct RegisterRow {
  const char* text;
  uint64_t low, high;
  int machine;
  std::vector<RegisterUse> uses;
};

TEST(Decode, RegistersAndTheirCounts) {
  const RegisterRow rows[] = {
      {"LDS.128 R4, [R6+0x10]",
       0x0000100006047984,
       0x000e280000000c00,
       80,
       {{Slot::d, true, 4, 4}, {Slot::a, false, 6, 1}}},
      {"LDG.E.128.CONSTANT R16, desc[UR12][R10.64]",
       0x0000000c0a107981,
       0x000ea2000c1e9d00,
       90,
       {{Slot::d, true, 16, 4}, {Slot::a, false, 10, 2}}},
      {"STG.E.128 desc[UR12][R4.64+0x100], R48",
       0x0001003004007986,
       0x000fe4000c101d0c,
       90,
       {{Slot::a, false, 4, 2}, {Slot::b, false, 48, 4}}},
      {"IMAD.WIDE R8, R17, 0x4, R6",
       0x0000000411087825,
       0x040fe400078e0206,
       90,
       {{Slot::d, true, 8, 2}, {Slot::a, false, 17, 1}, {Slot::c, false, 6, 2}}},
      {"IADD3 R0, -R0, R20, RZ",
       0x0000001400007210,
       0x000fc40007ffe1ff,
       90,
       {{Slot::d, true, 0, 1},
        {Slot::a, false, 0, 1},
        {Slot::b, false, 20, 1},
        {Slot::c, false, 255, 1}}},
      {"CS2R R16, SRZ", 0x0000000000107805, 0x000fe2000001ff00, 80, {{Slot::d, true, 16, 2}}},
      {"CS2R.32 R5, SR_CLOCKLO",
       0x0000000000057805,
       0x000fca0000005000,
       80,
       {{Slot::d, true, 5, 1}}},
      {"LDGSTS.E [R11], desc[UR6][R2.64]",
       0x00000000020b7fae,
       0x000fe8000b921846,
       90,
       {{Slot::d, false, 11, 1}, {Slot::a, false, 2, 2}}},
  };
  for (const RegisterRow& row : rows) {
    const Instruction instruction = decode({row.low, row.high}, 0, row.machine);
    ASSERT_NE(instruction.opcode, nullptr) << row.text;
    EXPECT_TRUE(instruction.registers_known) << row.text;
    const std::span<const RegisterUse> uses = instruction.registers();
    EXPECT_EQ(std::vector<RegisterUse>(uses.begin(), uses.end()), row.uses) << row.text;
  }
}

TEST(Decode, BranchTargetsByMachine) {
  // A branch to itself, as each generation encodes it.
  const Word before_90{0xfffffff000007947, 0x000fc0000383ffff};
  const Word from_90{0xfffffffc00fc7947, 0x000fc0000383ffff};
  EXPECT_EQ(decode(before_90, 0x190, 80).target, 0x190);
  EXPECT_EQ(decode(before_90, 0x190, 89).target, 0x190);
  EXPECT_EQ(decode(from_90, 0x2c60, 90).target, 0x2c60);
  EXPECT_EQ(decode(from_90, 0x2c60, 120).target, 0x2c60);
  EXPECT_EQ(decode(exit_word(), 0, 90).target, std::nullopt);
  // BSSY from sm_100 on has a flag above bit 64.
  EXPECT_EQ(decode({0x0000024000017945, 0x000fe20003800200}, 0x1d0, 100).target, 0x420);
}

TEST(Decode, WhatIsNotInTheTableIsUnknown) {
  const Instruction instruction = decode(word_of(0x123), 0, 90);
  EXPECT_EQ(instruction.opcode, nullptr);
  EXPECT_EQ(name_of(instruction), "unknown 0x123");
  EXPECT_EQ(classify(instruction), Class::unknown);
  EXPECT_FALSE(instruction.registers_known);
  EXPECT_EQ(multiply_adds(instruction), 0);
  // Known code, form never seen: NOP in form 1.
  EXPECT_EQ(decode(word_of(0x318), 0, 90).opcode, nullptr);
  // Known elsewhere: FFMA2 is of sm_100.
  EXPECT_EQ(decode(word_of(0x249), 0, 90).opcode, nullptr);
  EXPECT_NE(decode(word_of(0x249), 0, 100).opcode, nullptr);
}

TEST(Decode, TheSameCodeMayBeAnotherInstructionOnAnotherMachine) {
  EXPECT_EQ(name_of(decode(word_of(0x235), 0, 80)), "HFMA2.MMA");
  EXPECT_EQ(name_of(decode(word_of(0x235), 0, 120)), "IADD");
  EXPECT_EQ(name_of(decode(word_of(0x98e), 0, 86)), "RED");
  EXPECT_EQ(name_of(decode(word_of(0x98e), 0, 90)), "REDG");
}

struct ClassRow {
  const char* text;
  uint64_t low, high;
  int machine;
  Class kind;
  int multiply_adds;
};

TEST(Classes, LookAtOperandsToo) {
  const ClassRow rows[] = {
      {"FFMA R3, R2, R4, R3", 0x0000000402037223, 0x000fe20000000003, 90, Class::fma, 1},
      {"IMAD.MOV.U32 R0, RZ, RZ, RZ", 0x000000ffff007224, 0x000fe200078e00ff, 80, Class::move, 0},
      {"IMAD.MOV.U32 R8, RZ, RZ, c[0x0][0x160]", 0x00005800ff087624, 0x000fe200078e00ff, 80,
       Class::move, 0},
      {"IMAD R13, R12, R11, RZ", 0x0000000b0c0d7224, 0x000fe200078e02ff, 90, Class::address, 0},
      {"IMAD R5, RZ, 0x3, R4", 0x00000003ff057824, 0x000fe200078e0204, 80, Class::address, 0},
      {"LDS R4, [R6]", 0x0000000006047984, 0x000e280000000800, 80, Class::fragment_load, 0},
      {"NOP", 0x0000000000007918, 0x000fc00000000000, 90, Class::nop, 0},
      {"EXIT", 0x000000000000794d, 0x000fea0003800000, 90, Class::control, 0},
  };
  for (const ClassRow& row : rows) {
    const Instruction instruction = decode({row.low, row.high}, 0, row.machine);
    EXPECT_EQ(classify(instruction), row.kind) << row.text;
    EXPECT_EQ(multiply_adds(instruction), row.multiply_adds) << row.text;
  }
}

// Names of instructions by class, over everything observed: who reads this table can judge it.
TEST(Classes, ConstantsLoadedByHalfMultiplyAddsAreMoves) {
  int moves = 0;
  int products = 0;
  for (const Observed& observed : read_observed()) {
    const bool is_half = observed.text.find("HFMA2") != std::string::npos;
    if (!is_half) continue;
    const bool loads_constant = observed.text.find("-RZ, RZ, ") != std::string::npos;
    const Instruction instruction = decode(observed.word, 0, observed.machines.front());
    EXPECT_EQ(classify(instruction), loads_constant ? Class::move : Class::fma) << observed.text;
    EXPECT_EQ(multiply_adds(instruction), loads_constant ? 0 : 2) << observed.text;
    ++(loads_constant ? moves : products);
  }
  EXPECT_GE(moves, 1);
  EXPECT_GT(products, 10);
}

TEST(Classes, NamesAreKeysAndDiffer) {
  std::set<std::string_view> names;
  for (size_t c = 0; c < kClasses; ++c) {
    const std::string_view name = class_name(static_cast<Class>(c));
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(class_title(static_cast<Class>(c)).empty());
  }
}

}  // namespace
}  // namespace tilec::sass
