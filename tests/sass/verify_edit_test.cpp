#include "compiler/sass/verify_edit.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/sass/edit_support.h"

namespace tilec::sass {
namespace {

// The assembler's own words must pass every rule: where they do not, the rule is wrong.
TEST(VerifyEdit, AcceptsTheLoopOfEveryExampleAsItIs) {
  size_t loops = 0;
  for (const KernelWords& kernel : example_kernels()) {
    for (const int machine : kernel.machines) {
      const auto block = steady_block(decode_all(kernel.words, machine));
      if (!block) continue;
      const auto [begin, end] = *block;
      const LoopEdit edit{begin, end, begin, end, begin, end};
      const auto start = std::chrono::steady_clock::now();
      const auto finding = verify_edit(kernel.words, kernel.words, edit, machine);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      EXPECT_LT(took.count(), 100.0) << kernel.name;  // ms; 25 are aimed at on a quiet machine
      if (finding)
        ADD_FAILURE() << machine << " " << kernel.name << " word " << finding->word << ", "
                      << finding->rule << ": " << finding->text;
      ++loops;
    }
  }
  EXPECT_GT(loops, 40U);
}

TEST(VerifyEdit, AcceptsFactorsTheOtherWayRound) {
  Edited kernel = unedited("12_best", 90);
  for (size_t i = kernel.edit.new_loop_begin; i < kernel.edit.new_loop_end; ++i)
    kernel.after[i] = with_bits(kernel.after[i], 122, 4, 0);
  for (const size_t i : kernel.named("FFMA")) {
    const Instruction was = kernel.at(i);
    const Word word = with_register(was, Slot::a, was.read(Slot::b));
    kernel.after[i] = with_register(kernel.at(i), Slot::b, was.read(Slot::a));
    kernel.after[i] = with_bits(kernel.after[i], 24, 8, bits(word, 24, 8));
  }
  const auto finding = kernel.verdict();
  EXPECT_FALSE(finding) << finding->rule << ": " << finding->text;
}

TEST(VerifyEdit, AcceptsRenamedAccumulatorsWithCopiesAroundTheLoop) {
  for (const char* name : {"12_best", "main", "06_vectorised"}) {
    for (const int sm : {80, 86, 89, 90}) {
      const Edited kernel = unedited(name, sm);
      const std::vector<int> accumulators = lone_accumulators(kernel);
      ASSERT_GT(accumulators.size(), 2U);
      for (size_t k = 0; k < 3; ++k) {
        const auto finding = renamed(kernel, accumulators[k], 253).verdict();
        EXPECT_FALSE(finding) << sm << " " << name << " word " << finding->word << " "
                              << finding->rule << ": " << finding->text;
      }
    }
  }
}

TEST(VerifyEdit, RefusesPlacesOutsideOfTheWords) {
  Edited kernel = unedited("12_best", 90);
  kernel.edit.new_loop_end = kernel.after.size() + 1;
  EXPECT_EQ(kernel.verdict()->rule, "shape");
  kernel = unedited("12_best", 90);
  kernel.edit.old_end = kernel.edit.old_begin;
  EXPECT_EQ(kernel.verdict()->rule, "shape");
  EXPECT_EQ(verify_edit({}, {}, {}, 90)->rule, "shape");
}

}  // namespace
}  // namespace tilec::sass
