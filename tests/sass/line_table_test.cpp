#include "compiler/sass/line_table.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "tests/sass/support.h"

namespace tilec::sass {
namespace {

// A unit of DWARF `version` with `program` behind its header.
std::vector<uint8_t> unit(int version, std::vector<uint8_t> program) {
  std::vector<uint8_t> header = {1};      // minimum instruction length
  if (version >= 4) header.push_back(1);  // operations per instruction
  for (const int byte : {1, -5, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1})
    header.push_back(static_cast<uint8_t>(byte));
  header.push_back(0);  // no folders
  header.push_back(0);  // no files
  std::vector<uint8_t> out = {static_cast<uint8_t>(version), 0};
  if (version == 5) out.insert(out.end(), {8, 0});
  out.insert(out.end(), {static_cast<uint8_t>(header.size()), 0, 0, 0});
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), program.begin(), program.end());
  const auto length = static_cast<uint8_t>(out.size());
  out.insert(out.begin(), {length, 0, 0, 0});
  return out;
}

const std::vector<uint8_t> kSetAddress = {0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0};
const std::vector<uint8_t> kEnd = {0, 1, 1};

std::vector<uint8_t> program(std::initializer_list<std::vector<uint8_t>> parts) {
  std::vector<uint8_t> out;
  for (const std::vector<uint8_t>& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

TEST(LineTable, RunsEveryOpcode) {
  // line += 6, copy; pc += 16, line -= 2, copy; special: pc += 0, line += 1; pc += 17 (const_add),
  // file 2, copy; pc += 0x100 by a fixed advance, end
  const std::vector<uint8_t> code = program({kSetAddress,
                                             {3, 6, 1},
                                             {2, 16, 3, 0x7e, 1},
                                             {10 + 6},
                                             {8, 4, 2, 1},
                                             {9, 0x00, 0x01},
                                             {0, 3, 0x90, 1, 2},  // ptxas's own: passed over
                                             {6, 7, 5, 3},        // flags and a column: no rows
                                             kEnd});
  for (const int version : {2, 3, 4, 5}) {
    const std::vector<LineSequence> sequences = read_line_table(unit(version, code));
    ASSERT_EQ(sequences.size(), 1U) << version;
    const std::vector<LineRow> expected = {
        {0, 7, 1}, {16, 6, 1}, {16 + 17, 6, 2}, {33 + 256, 6, 2}};
    EXPECT_EQ(sequences[0].rows.size(), 4U);
    // Of two rows of one address the later holds: the special opcode's 6, not 5.
    EXPECT_EQ(sequences[0].rows, expected) << version;
    EXPECT_EQ(sequences[0].address, 0U);
  }
}

TEST(LineTable, AddressStandsWhereTheRelocationPoints) {
  const std::vector<uint8_t> section = unit(2, program({kSetAddress, {1}, kEnd}));
  const std::vector<LineSequence> sequences = read_line_table(section);
  ASSERT_EQ(sequences.size(), 1U);
  EXPECT_EQ(sequences[0].address_at, section.size() - kEnd.size() - 1 - 8);
}

TEST(LineTable, SeveralUnitsAndSequences) {
  std::vector<uint8_t> section =
      unit(2, program({kSetAddress, {1}, kEnd, kSetAddress, {3, 4, 1}, kEnd}));
  const std::vector<uint8_t> second = unit(4, program({kSetAddress, {3, 8, 1}, kEnd}));
  section.insert(section.end(), second.begin(), second.end());
  const std::vector<LineSequence> sequences = read_line_table(section);
  ASSERT_EQ(sequences.size(), 3U);
  EXPECT_EQ(sequences[0].rows[0].line, 1);
  EXPECT_EQ(sequences[1].rows[0].line, 5);
  EXPECT_EQ(sequences[2].rows[0].line, 9);
}

TEST(LineTable, LineAtLooksBack) {
  const std::vector<LineRow> rows = {{16, 3, 1}, {48, 9, 1}};
  EXPECT_EQ(line_at(rows, 0), 0);
  EXPECT_EQ(line_at(rows, 16), 3);
  EXPECT_EQ(line_at(rows, 32), 3);
  EXPECT_EQ(line_at(rows, 48), 9);
  EXPECT_EQ(line_at({}, 48), 0);
}

TEST(LineTable, DamageIsNoCrash) {
  const std::vector<uint8_t> section =
      unit(4, program({kSetAddress, {3, 6, 1}, {2, 16, 3, 0x7e, 1}, kEnd}));
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> damaged = section;
    for (int edits = 0; edits < 3; ++edits)
      damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    damaged.resize(random() % (damaged.size() + 1));
    for (const LineSequence& sequence : read_line_table(damaged))
      for (size_t i = 1; i < sequence.rows.size(); ++i)
        ASSERT_LT(sequence.rows[i - 1].offset, sequence.rows[i].offset);
  }
}

// nvdisasm -g of the same cubin: the line of every instruction.
TEST(LineTable, AgreesWithNvdisasmOnARealKernel) {
  const auto cubin = read_cubin(read_bytes("sgemm_sm_90a.cubin"));
  ASSERT_TRUE(cubin);
  std::istringstream golden(read_text("sgemm_sm_90a.lines"));
  std::string offset;
  int line = 0;
  int compared = 0;
  while (golden >> offset >> line) {
    const auto at = static_cast<uint32_t>(std::stoul(offset, nullptr, 16));
    EXPECT_EQ(line_at(cubin->kernels[0].lines, at), line) << offset;
    ++compared;
  }
  EXPECT_EQ(compared, 720);
}

}  // namespace
}  // namespace tilec::sass
