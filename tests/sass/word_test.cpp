#include "compiler/sass/word.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "compiler/sass/control.h"
#include "tests/sass/support.h"

namespace tilec::sass {
namespace {

TEST(Word, BitsCrossTheMiddle) {
  const Word word{.lo = 0xf000000000000001, .hi = 0x8000000000000005};
  EXPECT_EQ(bits(word, 0, 4), 1U);
  EXPECT_EQ(bits(word, 60, 8), 0x5fU);
  EXPECT_EQ(bits(word, 64, 4), 5U);
  EXPECT_EQ(bits(word, 127, 1), 1U);
  EXPECT_EQ(bits(word, 0, 64), word.lo);
  EXPECT_EQ(bits(word, 64, 64), word.hi);
}

TEST(Word, WithBitsChangesThoseBitsAlone) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const Word word{random(), random()};
    const int count = 1 + static_cast<int>(random() % 63);
    const int first = static_cast<int>(random() % static_cast<uint64_t>(129 - count));
    const uint64_t value = random() & ((uint64_t{1} << count) - 1);
    const Word changed = with_bits(word, first, count, value);
    ASSERT_EQ(bits(changed, first, count), value) << first << " " << count;
    ASSERT_EQ(with_bits(changed, first, count, bits(word, first, count)), word);
  }
}

TEST(Control, FieldsStandWhereTheyShould) {
  const Word word = with_control({}, {.stall = 15,
                                      .yield = false,
                                      .write_barrier = 0,
                                      .read_barrier = 0,
                                      .wait_mask = 0,
                                      .reuse = 0});
  EXPECT_EQ(word.hi, uint64_t{15} << 41);
  const Word reuse = with_control({}, {.stall = 0,
                                       .yield = false,
                                       .write_barrier = 0,
                                       .read_barrier = 0,
                                       .wait_mask = 0,
                                       .reuse = 1});
  EXPECT_EQ(reuse.hi, uint64_t{1} << 58);
}

TEST(Control, EncodingADecodedFieldChangesNothing) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20000; ++round) {
    const Word word{random(), random()};
    ASSERT_EQ(with_control(word, decode_control(word)), word);
  }
}

// Each scoreboard that something waits for was set by an instruction before it, or by itself on the
// last trip of a loop: evidence for the barrier and wait fields that needs no GPU.
TEST(Control, WaitsFollowTheBarriersThatSetThem) {
  for (const std::string& target : data_targets()) {
    const auto cubin = read_cubin(read_bytes("sgemm_" + target + ".cubin"));
    ASSERT_TRUE(cubin) << target;
    int set = 0;
    int waits = 0;
    for (const Instruction& instruction : decode_all(cubin->kernels[0].words, cubin->sm)) {
      for (const int barrier :
           {instruction.control.write_barrier, instruction.control.read_barrier})
        if (barrier != kNoBarrier) set |= 1 << barrier;
      EXPECT_EQ(instruction.control.wait_mask & ~set, 0)
          << target << " at " << instruction.offset << ": waits for a barrier that nothing set";
      if (instruction.control.wait_mask != 0) ++waits;
    }
    EXPECT_GT(waits, 10) << target;
  }
}

// The result of a load is waited for, through a write barrier of its own or of a later load of the
// same kind (they come back in order), before it is read or written.
TEST(Control, LoadsAreWaitedForBeforeTheirRegistersAreUsed) {
  constexpr int kFree = -1, kUncovered = -2;
  for (const std::string& target : data_targets()) {
    const auto cubin = read_cubin(read_bytes("sgemm_" + target + ".cubin"));
    ASSERT_TRUE(cubin) << target;
    std::array<int, 256> pending;  // the barrier that guards a register
    std::array<std::string, 256> loader;
    pending.fill(kFree);
    int loads = 0;
    for (const Instruction& instruction : decode_all(cubin->kernels[0].words, cubin->sm)) {
      for (int& barrier : pending)
        if (barrier >= 0 && (instruction.control.wait_mask >> barrier & 1) != 0) barrier = kFree;
      for (const RegisterUse& use : instruction.registers())
        for (int r = use.first; r < use.first + use.count && r < kZeroRegister; ++r)
          EXPECT_EQ(pending[static_cast<size_t>(r)], kFree)
              << target << " at " << instruction.offset << ": R" << r << " is not there yet";
      const std::string name = name_of(instruction);
      if (name != "LDS" && name != "LDG") continue;
      ++loads;
      const int barrier = instruction.control.write_barrier;
      for (const RegisterUse& use : instruction.registers())
        for (int r = use.first; use.written && r < use.first + use.count; ++r) {
          pending[static_cast<size_t>(r)] = kUncovered;
          loader[static_cast<size_t>(r)] = name;
        }
      if (barrier == kNoBarrier) continue;
      for (size_t r = 0; r < pending.size(); ++r)
        if (pending[r] == kUncovered && loader[r] == name) pending[r] = barrier;
    }
    EXPECT_GE(loads, 36) << target;
  }
}

// Integer and f32 results are read four cycles after they were issued at the earliest, and some
// exactly then, on every target: the stall field stands where we say.
TEST(Control, ResultsOfFixedLatencyAreReadFourCyclesLaterAtTheEarliest) {
  const std::set<std::string_view> producers = {"IADD3", "LOP3", "SHF", "IMAD", "FFMA"};
  for (const std::string& target : data_targets()) {
    const auto cubin = read_cubin(read_bytes("sgemm_" + target + ".cubin"));
    ASSERT_TRUE(cubin) << target;
    const std::vector<Instruction> code = decode_all(cubin->kernels[0].words, cubin->sm);
    int nearest = 1000;
    for (size_t i = 0; i < code.size(); ++i) {
      if (!producers.contains(code[i].opcode->name) || !code[i].guard.always()) continue;
      const int result = code[i].registers()[0].first;
      if (result == kZeroRegister) continue;
      int cycles = 0;
      for (size_t j = i; j + 1 < code.size() && !code[j].target; ++j) {
        cycles += code[j].control.stall;
        const auto touches = [&](const RegisterUse& use) {
          return use.first <= result && result < use.first + use.count;
        };
        const std::span<const RegisterUse> uses = code[j + 1].registers();
        const auto use = std::ranges::find_if(uses, touches);
        if (use == uses.end()) continue;
        if (std::ranges::any_of(uses,
                                [&](const RegisterUse& u) { return !u.written && touches(u); }))
          nearest = std::min(nearest, cycles);
        break;
      }
    }
    EXPECT_EQ(nearest, 4) << target;
  }
}

}  // namespace
}  // namespace tilec::sass
