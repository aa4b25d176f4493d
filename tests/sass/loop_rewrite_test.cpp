// Each pass on small loops and on those of the examples, by what must be true of its result.
#include <random>

#include "compiler/sass/liveness.h"
#include "compiler/sass/loop/enter_leave.h"
#include "compiler/sass/loop/rewrite_loop.h"
#include "tests/sass/kernels.h"
#include "tests/sass/loop_support.h"
#include "tests/sass/simulate.h"

namespace tilec::sass {
namespace {

void expect_true_rewriting(const Kernel& kernel, int sm, const Rewritten& rewritten) {
  const auto finding = verify_edit(kernel.words, rewritten.code.words, rewritten.edit, sm);
  EXPECT_FALSE(finding) << kernel.name << " sm_" << sm << ": " << finding->rule << ": "
                        << finding->text;
  const std::vector<int> wanted = wanted_behind(kernel, sm, rewritten.edit.old_end);
  EXPECT_GT(wanted.size(), 3U);
  EXPECT_TRUE(same_by_simulation(kernel.words, rewritten.code.words, rewritten.edit, sm, wanted));
  ASSERT_EQ(rewritten.code.words.size(), rewritten.code.origins.size());
}

TEST(RewriteLoop, TheSmallLoop) {
  for (const auto& body :
       {small_body(), joined({load_words(1), step_words(0), load_words(0), step_words(1)})}) {
    const Kernel kernel = loop_kernel(body);
    const OrWhyNot<Rewritten> rewritten = rewrite_loop(kernel, 90, {});
    ASSERT_TRUE(rewritten) << rewritten.error();
    expect_true_rewriting(kernel, 90, *rewritten);
  }
}

TEST(RewriteLoop, TheExamplesOrAPlainReason) {
  size_t rewritten_count = 0;
  for (const KernelWords& words : example_kernels()) {
    const Kernel kernel{.name = words.name, .words = words.words, .registers = 128};
    for (const int sm : words.machines) {
      RewriteOptions options{.max_registers = 255};
      options.order.slots_apart = true;
      const OrWhyNot<Rewritten> rewritten = rewrite_loop(kernel, sm, options);
      if (!rewritten) {
        EXPECT_FALSE(rewritten.error().empty());
        continue;
      }
      ++rewritten_count;
      expect_true_rewriting(kernel, sm, *rewritten);
    }
  }
  EXPECT_GT(rewritten_count, 10U);
}

// With registers to spare, a multiply-add reads its sum and its column's element from two banks.
TEST(PlaceRegisters, PutsSumsIntoTheOtherBank) {
  const auto check = [](const char* pass, const Body& body) {
    if (std::string_view(pass) != "place_registers") return;
    for (const LoopOp& op : body.ops) {
      if (is_plain_fma(op)) {
        EXPECT_EQ(op.instruction.read(Slot::c), result_of(op));
        EXPECT_NE(op.instruction.read(Slot::a) % 2, op.instruction.read(Slot::c) % 2);
        EXPECT_NE(op.instruction.read(Slot::a), 1);
      } else if (is_shared_load(op)) {
        EXPECT_EQ(result_of(op) % op.instruction.registers()[0].count, 0);
      }
    }
  };
  ASSERT_TRUE(rewrite_loop(loop_kernel(small_body()), 90, {}, check));
  for (const KernelWords& words : example_kernels())
    if (words.name == "12_best")
      (void)rewrite_loop({.name = words.name, .words = words.words, .registers = 128},
                         words.machines.front(), {}, check);
}

// Runs moves one by one; each source must have been written long enough ago.
std::vector<uint64_t> run_moves(std::span<const Word> words, std::vector<uint64_t> registers) {
  std::vector<int> written(256, -100);
  int now = 0;
  for (const Word word : words) {
    const Instruction move = decode(word, 0, 90);
    if (name_of(move) == "MOV") {
      const auto to = static_cast<size_t>(move.registers()[0].first);
      const auto from = static_cast<size_t>(move.registers().back().first);
      EXPECT_GE(now - written[from], 4);
      registers[to] = registers[from];
      written[to] = now;
    }
    now += move.control.stall;
  }
  for (const int time : written) EXPECT_GE(now - time, 5);
  return registers;
}

TEST(MoveRegisters, MovesAllAtOnce) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    // A partial permutation: distinct sources, distinct targets.
    std::vector<int> sources(40), targets(40);
    for (int i = 0; i < 40; ++i) sources[size_t(i)] = targets[size_t(i)] = 2 + i;
    std::ranges::shuffle(sources, random);
    std::ranges::shuffle(targets, random);
    std::vector<Rename> renames;
    for (size_t i = 0; i < random() % 41; ++i) renames.push_back({sources[i], targets[i]});
    std::vector<uint64_t> before(256);
    for (size_t i = 0; i < 256; ++i) before[i] = 1000 + i;
    std::vector<uint64_t> expected = before;
    for (const Rename& rename : renames) expected[size_t(rename.to)] = before[size_t(rename.from)];
    for (const int spare : {100, -1}) {
      const OrWhyNot<std::vector<Word>> words = move_registers(renames, spare, 0x3f, 13);
      if (!words) {
        EXPECT_EQ(spare, -1) << words.error();
        continue;
      }
      std::vector<uint64_t> after = run_moves(*words, before);
      after[100] = expected[100];
      EXPECT_EQ(after, expected) << round;
    }
  }
}

TEST(MoveRegisters, ACycleNeedsARegister) {
  const std::vector<Rename> cycle = {{4, 5}, {5, 6}, {6, 4}};
  EXPECT_FALSE(move_registers(cycle, -1, 0, 13));
  EXPECT_TRUE(move_registers(cycle, 9, 0, 13));
  EXPECT_TRUE(move_registers(std::vector<Rename>{{4, 5}, {5, 6}}, -1, 0, 13));
}

}  // namespace
}  // namespace tilec::sass
