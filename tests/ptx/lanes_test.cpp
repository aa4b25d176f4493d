// The two sets of handlers, for any host and for AVX2, give the same bits on every row of the
// table: random operands, special values, all lanes and some.
#include "runtime/ptx/lanes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace tilec::ptx {
namespace {

constexpr size_t kSlotBytes = 256;
constexpr size_t kSlots = 5;  // d, a, b, c, extra

struct alignas(256) File {
  std::array<std::byte, kSlots * kSlotBytes> registers{};
  std::array<uint32_t, 8> predicates{};
};

// Words that are hard for someone: zeros, ones, limits, NaNs, infinities, subnormals.
uint64_t hard_word(std::mt19937_64& random) {
  constexpr std::array<uint64_t, 16> kHard = {0,
                                              1,
                                              31,
                                              32,
                                              0x7FFFFFFF,
                                              0x80000000,
                                              0xFFFFFFFF,
                                              0x7F800000,
                                              0xFF800000,
                                              0x7FC00001,
                                              0x00000003,
                                              0x8000000000000000,
                                              0x7FF0000000000000,
                                              0xFFF8000000000001,
                                              0x3F8000003F800000,
                                              0xFFFFFFFFFFFFFFFF};
  const uint64_t choice = random();
  if (choice % 3 == 0) return kHard[choice / 3 % kHard.size()];
  if (choice % 3 == 1) return random() & 0xFFFF0000FFFF;
  return random();
}

void fill(File& file, std::mt19937_64& random) {
  for (size_t at = 0; at < file.registers.size(); at += 8) {
    const uint64_t word = hard_word(random);
    std::memcpy(file.registers.data() + at, &word, 8);
  }
  for (uint32_t& predicate : file.predicates) predicate = static_cast<uint32_t>(random());
}

void run(const LaneKernel& kernel, File& file, uint32_t mask) {
  Op op{.d = 0,
        .a = 1 * kSlotBytes,
        .b = 2 * kSlotBytes,
        .c = 3 * kSlotBytes,
        .extra = 4 * kSlotBytes};
  const uint64_t clock = 0x123456789A;
  Lanes lanes{.registers = file.registers.data(),
              .predicates = file.predicates.data(),
              .mask = mask,
              .clock = &clock};
  (mask == kAllLanes ? kernel.run_all : kernel.run_some)(op, lanes);
}

// A row whose operand is a predicate takes an index, not an offset.
bool has_predicate(const LaneOpRow& row) {
  return row.signature.find('p') != std::string_view::npos ||
         row.spelling.find("pred") != std::string_view::npos || row.name == "set_ones" ||
         row.name == "set_float" || row.name == "activemask";
}

TEST(LaneKernels, AgreeOnEveryRow) {
  const LaneKernels* fast = avx2_kernels();
  if (!fast) GTEST_SKIP() << "this host has no AVX2 and FMA";
  std::mt19937_64 random(7);
  for (size_t i = 0; i < kLaneOps; ++i) {
    if (has_predicate(lane_op_rows()[i])) continue;
    for (int trial = 0; trial < 40; ++trial) {
      File file;
      fill(file, random);
      const uint32_t mask = trial % 2 == 0 ? kAllLanes : static_cast<uint32_t>(random());
      File one = file, two = file;
      run(base_kernels()[i], one, mask);
      run((*fast)[i], two, mask);
      ASSERT_EQ(one.registers, two.registers) << lane_op_rows()[i].name;
      ASSERT_EQ(one.predicates, two.predicates) << lane_op_rows()[i].name;
    }
  }
}

TEST(LaneKernels, LeaveLanesThatAreOff) {
  std::mt19937_64 random(8);
  for (size_t i = 0; i < kLaneOps; ++i) {
    if (has_predicate(lane_op_rows()[i])) continue;
    File file;
    fill(file, random);
    const uint32_t mask = static_cast<uint32_t>(random());
    File all = file, some = file;
    run(host_kernels()[i], all, kAllLanes);
    run(host_kernels()[i], some, mask);
    // Whatever the width of a lane, each byte is the old one or the one that all lanes gave.
    for (size_t at = 0; at < kSlotBytes; ++at) {
      const bool narrow_on = at < 128 && (mask >> at / 4 & 1);
      const bool wide_on = mask >> at / 8 & 1;
      if (!narrow_on && !wide_on)
        ASSERT_EQ(some.registers[at], file.registers[at]) << lane_op_rows()[i].name << " " << at;
      if (narrow_on && wide_on)
        ASSERT_EQ(some.registers[at], all.registers[at]) << lane_op_rows()[i].name << " " << at;
    }
  }
}

TEST(LaneOpRows, HaveSignaturesAndSpellingsOfTheirOwn) {
  std::vector<std::string_view> seen;
  for (const LaneOpRow& row : lane_op_rows()) {
    EXPECT_EQ(row.spelling.empty(), row.signature.empty()) << row.name;
    if (row.spelling.empty()) continue;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), row.spelling), 0) << row.spelling;
    seen.push_back(row.spelling);
  }
  EXPECT_GT(seen.size(), 300u);
}

}  // namespace
}  // namespace tilec::ptx
