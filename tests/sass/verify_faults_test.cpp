// Planted faults: each kind of damage a pass could do, and the rule that must find it.
#include "tests/sass/edit_support.h"

namespace tilec::sass {
namespace {

struct Example {
  std::string name;
  int sm;
};

void PrintTo(const Example& example, std::ostream* out) {
  *out << example.name << " sm_" << example.sm;
}

Word flipped(Word word, int bit) {
  return with_bits(word, bit, 1, bits(word, bit, 1) ^ 1);
}

class VerifyFaults : public testing::TestWithParam<Example> {
 protected:
  void SetUp() override {
    kernel = unedited(GetParam().name, GetParam().sm);
    ASSERT_FALSE(kernel.verdict().has_value());
  }
  // Whether the edit is refused for one of `rules`; says so if it is not.
  static bool is_found(const Edited& edited, std::string_view rules, const std::string& what) {
    const std::optional<Finding> finding = edited.verdict();
    if (finding && rules.find(finding->rule) != std::string_view::npos) return true;
    ADD_FAILURE() << what << ": " << (finding ? finding->rule + ": " + finding->text : "accepted");
    return false;
  }
  std::vector<size_t> ffmas() const { return kernel.named("FFMA"); }
  Instruction at(size_t i) const { return kernel.at(i); }
  bool writes(size_t i, int reg) const {
    for (const Operand& write : operands_of(at(i)).writes())
      if (write.file == File::general && reg >= write.first && reg < write.first + write.count)
        return true;
    return false;
  }
  bool reads(size_t i, int reg) const {
    for (const Operand& read : operands_of(at(i)).reads())
      if (read.file == File::general && reg >= read.first && reg < read.first + read.count)
        return true;
    return false;
  }
  size_t begin() const { return kernel.edit.new_loop_begin; }
  size_t end() const { return kernel.edit.new_loop_end; }

  Edited kernel;
};

TEST_P(VerifyFaults, AWaitRemoved) {
  int removed = 0;
  std::vector<size_t> accepted;
  for (size_t i = begin(); i < end(); ++i) {
    const Control control = at(i).control;
    for (int board = 0; board < 6; ++board) {
      if ((control.wait_mask >> board & 1) == 0) continue;
      Control less = control;
      less.wait_mask &= ~(1 << board);
      ++removed;
      if (const auto finding = kernel.with_control_of(i, less).verdict(); !finding)
        accepted.push_back(i);
      else
        EXPECT_EQ(finding->rule, "wait") << finding->text;
    }
  }
  EXPECT_GT(removed, 3);
  // Some waits of the assembler are for nothing: the register was waited for in another way.
  EXPECT_LT(accepted.size() * 4, static_cast<size_t>(removed)) << removed << " removed";
  for (const size_t i : accepted) RecordProperty(fmt::format("word_{}", i), "accepted");
}

// The first reader of each load loses all its waits.
TEST_P(VerifyFaults, TheWaitForALoadRemoved) {
  int removed = 0;
  for (const size_t load : kernel.named("LDS")) {
    const int reg = at(load).registers()[0].first;
    for (size_t i = load + 1; i < end(); ++i) {
      if (!reads(i, reg)) continue;
      const Control control = at(i).control;
      if (control.wait_mask == 0 || at(load).control.write_barrier == kNoBarrier) break;
      if ((control.wait_mask >> at(load).control.write_barrier & 1) == 0) break;
      Control none = control;
      none.wait_mask = 0;
      is_found(kernel.with_control_of(i, none), "wait", fmt::format("word {}", i));
      ++removed;
      break;
    }
  }
  EXPECT_GT(removed, 1);
}

TEST_P(VerifyFaults, AStallShortened) {
  for (size_t i = begin(); i + 1 < end(); ++i) {
    const Operands operands = operands_of(at(i));
    if (operands.variable_latency || operands.writes().empty()) continue;
    const Operand& write = operands.writes()[0];
    const bool is_read_next = write.file == File::general && reads(i + 1, write.first);
    if (!is_read_next || at(i).control.stall < 3) continue;
    Control control = at(i).control;
    control.stall = 2;
    is_found(kernel.with_control_of(i, control), "latency", fmt::format("word {}", i));
  }
  // A loop may have none that stand so close.
  Edited all = kernel;
  for (size_t i = begin(); i < end(); ++i)
    all.after[i] = with_control(all.after[i], [&] {
      Control control = at(i).control;
      control.stall = 1;
      return control;
    }());
  is_found(all, "latency", "all stalls 1");
}

TEST_P(VerifyFaults, AccessesTooClose) {
  int close = 0;
  for (const char* name : {"LDS", "LDGSTS"}) {
    for (const size_t i : kernel.named(name)) {
      if (i + 1 >= end() || name_of(at(i + 1)) != name || !at(i).guard.always()) continue;
      Control control = at(i).control;
      control.stall = 3;
      is_found(kernel.with_control_of(i, control), "latency", fmt::format("word {}", i));
      ++close;
    }
  }
  EXPECT_GT(close, 0);
}

TEST_P(VerifyFaults, ALoadAfterTheIdleOnes) {
  size_t idle = begin(), load = begin();
  while (idle < end() && (name_of(at(idle)) != "LDS" || at(idle).guard.always())) ++idle;
  if (idle == end()) GTEST_SKIP() << "no asynchronous copies";
  for (size_t i = begin(); i < idle; ++i)
    if (name_of(at(i)) == "LDS") load = i;
  Edited edited = kernel;
  if (load == begin()) {  // the loads stand behind: one goes before
    load = idle;
    while (name_of(at(load)) != "LDS" || !at(load).guard.always()) ++load;
    std::rotate(edited.after.begin() + long(idle), edited.after.begin() + long(load),
                edited.after.begin() + long(load) + 1);
  } else {
    std::rotate(edited.after.begin() + long(load), edited.after.begin() + long(load) + 1,
                edited.after.begin() + long(idle) + 1);
  }
  is_found(edited, "values effects", "a load over the idle ones");
}

TEST_P(VerifyFaults, TwoRegistersSwapped) {
  const std::vector<size_t> words = ffmas();
  const size_t one = words.front(), other = words.back();
  for (const Slot slot : {Slot::a, Slot::d}) {
    const int first = slot == Slot::d ? at(one).registers()[0].first : at(one).read(slot);
    const int second = slot == Slot::d ? at(other).registers()[0].first : at(other).read(slot);
    if (first == second) continue;
    Edited edited =
        kernel.with(one, with_control(with_register(at(one), slot, second), {.stall = 4}));
    edited.after[other] = with_control(with_register(at(other), slot, first), {.stall = 4});
    is_found(edited, "values reuse wait latency", fmt::format("slot {}", int(slot)));
  }
}

TEST_P(VerifyFaults, ALoadMovedOverABarrier) {
  const std::vector<size_t> barriers = kernel.named("BAR");
  ASSERT_FALSE(barriers.empty());
  const size_t barrier = barriers.front();
  // Not one of those into RZ, which are there for the barrier's sake.
  const auto is_load = [&](size_t i) {
    return name_of(at(i)) == "LDS" && at(i).registers()[0].first != kZeroRegister;
  };
  size_t load = barrier + 1;
  while (load < end() && !is_load(load)) ++load;
  if (load == end()) {  // the barrier stands behind the loads
    load = barrier;
    while (!is_load(load)) --load;
  }
  Edited edited = kernel;
  const auto it = [&](size_t i) { return edited.after.begin() + static_cast<ptrdiff_t>(i); };
  if (load > barrier)
    std::rotate(it(barrier), it(load), it(load + 1));
  else
    std::rotate(it(load), it(load + 1), it(barrier + 1));
  is_found(edited, "values effects", "load over the barrier");
}

TEST_P(VerifyFaults, AnIdleLoadMovedOverABarrier) {
  const size_t barrier = kernel.named("BAR").front();
  for (const size_t i : kernel.named("LDS"))
    if (at(i).registers()[0].first == kZeroRegister)
      is_found(kernel.swapped(i, barrier), "effects", fmt::format("word {}", i));
}

TEST_P(VerifyFaults, AReuseFlagTooMany) {
  int set = 0;
  for (const size_t i : ffmas()) {
    if (at(i).read(Slot::c) != at(i).registers()[0].first || set > 40) continue;
    Control control = at(i).control;
    control.reuse |= 4;  // the accumulator, which it overwrites
    is_found(kernel.with_control_of(i, control), "reuse", fmt::format("word {}", i));
    ++set;
  }
  const size_t last = ffmas().back();
  Control control = at(last).control;
  control.reuse |= 1;
  bool is_last_reader = true;
  for (size_t i = last + 1; i < end(); ++i) is_last_reader &= at(i).read(Slot::a) == kZeroRegister;
  if (is_last_reader) is_found(kernel.with_control_of(last, control), "reuse", "before the branch");
  EXPECT_GT(set, 4);
  Control far = at(end() - 1).control;
  far.reuse = 1;
  is_found(kernel.with_control_of(end() - 1, far), "reuse", "on the branch");
}

TEST_P(VerifyFaults, AnFfmaDropped) {
  for (const size_t i : {ffmas().front(), ffmas()[ffmas().size() / 2], ffmas().back()})
    is_found(kernel.with(i, with_control(nop(), {.stall = 4})), "words", fmt::format("word {}", i));
}

TEST_P(VerifyFaults, AnFfmaTwice) {
  is_found(kernel.with(ffmas()[0], kernel.after[ffmas()[1]]), "values", "the same twice");
}

TEST_P(VerifyFaults, AnOperandChanged) {
  const size_t i = ffmas()[ffmas().size() / 2];
  for (const Slot slot : {Slot::a, Slot::b, Slot::c}) {
    const int other = at(ffmas().back()).read(slot);
    if (other == at(i).read(slot)) continue;
    Edited edited = kernel.with(i, with_register(at(i), slot, other));
    for (size_t k = begin(); k < end(); ++k)  // flags are another fault
      edited.after[k] = with_bits(edited.after[k], 122, 4, 0);
    is_found(edited, "values wait latency", fmt::format("slot {}", int(slot)));
  }
}

TEST_P(VerifyFaults, AccumulationOrderSwapped) {
  const std::vector<size_t> words = ffmas();
  const int accumulator = at(words[0]).registers()[0].first;
  for (size_t k = 1; k < words.size(); ++k) {
    if (at(words[k]).registers()[0].first != accumulator ||
        at(words[k]).read(Slot::c) != accumulator)
      continue;
    Edited edited = kernel.swapped(words[0], words[k]);
    for (size_t i = begin(); i < end(); ++i)
      edited.after[i] = with_bits(edited.after[i], 122, 4, 0);
    is_found(edited, "values", "order of additions");
    return;
  }
  GTEST_SKIP() << "one multiply-add an accumulator";
}

TEST_P(VerifyFaults, AWrongScoreboard) {
  int changed = 0;
  for (const size_t i : kernel.named("LDS")) {
    Control control = at(i).control;
    if (control.write_barrier == kNoBarrier) continue;
    control.write_barrier = control.write_barrier == 5 ? 4 : control.write_barrier + 1;
    const auto finding = kernel.with_control_of(i, control).verdict();
    changed += finding ? 1 : 0;
    if (finding) EXPECT_TRUE(finding->rule == "wait" || finding->rule == "board") << finding->text;
  }
  EXPECT_GT(changed, 0);
  const size_t first = kernel.named("LDS").front();
  Control six = at(first).control;
  six.write_barrier = 6;
  is_found(kernel.with_control_of(first, six), "control", "scoreboard 6");
  Control on_ffma = at(ffmas()[0]).control;
  on_ffma.write_barrier = 1;
  is_found(kernel.with_control_of(ffmas()[0], on_ffma), "control", "a multiply-add tells");
}

TEST_P(VerifyFaults, ABranchRetargeted) {
  const size_t last = end() - 1;
  is_found(kernel.with(last, with_target(at(last), at(last).offset - 0x100, kernel.sm)), "shape",
           "the branch back");
  int outside = 0;
  for (size_t i = 0; i < kernel.after.size(); ++i) {
    if ((i >= begin() && i < end()) || !at(i).target || name_of(at(i)) != "BRA") continue;
    is_found(kernel.with(i, with_target(at(i), *at(i).target + 16, kernel.sm)), "layout",
             fmt::format("word {}", i));
    ++outside;
  }
  EXPECT_GT(outside, 0);
}

TEST_P(VerifyFaults, AnotherGuardOnTheBranch) {
  size_t decides = end() - 1;
  if (at(decides).guard.always()) --decides;
  is_found(kernel.with(decides, flipped(kernel.after[decides], 15)), "words trips", "negated");
}

TEST_P(VerifyFaults, CopiesAndCommitsInAnotherOrder) {
  const std::vector<size_t> commits = kernel.named("LDGDEPBAR");
  if (commits.empty()) GTEST_SKIP() << "no asynchronous copies";
  const std::vector<size_t> copies = kernel.named("LDGSTS");
  is_found(kernel.swapped(copies.back(), commits[0]), "effects board values", "copy and commit");
  is_found(kernel.swapped(copies[0], copies[1]), "effects", "two copies");
  const std::vector<size_t> waits = kernel.named("DEPBAR");
  is_found(kernel.swapped(waits[0], kernel.named("BAR")[0]), "effects values", "wait and barrier");
  Control control = at(commits[0]).control;
  control.write_barrier = 3;
  is_found(kernel.with_control_of(commits[0], control), "effects board", "another scoreboard");
  Control waiting = at(ffmas()[9]).control;
  waiting.wait_mask |= 1 << at(commits[0]).control.write_barrier;
  is_found(kernel.with_control_of(ffmas()[9], waiting), "board", "waits for all copies");
}

TEST_P(VerifyFaults, AnImmediateChanged) {
  for (const char* name : {"LDS", "IADD3", "LDGSTS"})
    for (const size_t i : kernel.named(name))
      is_found(kernel.with(i, flipped(kernel.after[i], 44)), "words",
               fmt::format("{} {}", name, i));
}

TEST_P(VerifyFaults, AWordOutsideChanged) {
  is_found(kernel.with(3, flipped(kernel.after[3], 20)), "layout", "before the loop");
  is_found(kernel.with(end() + 2, flipped(kernel.after[end() + 2], 20)), "layout",
           "behind the loop");
  Edited cut = kernel;
  cut.after.resize(end() + 3);
  is_found(cut, "layout", "cut off");
}

TEST_P(VerifyFaults, StallsThatNobodyWrites) {
  for (const Control& bad : {Control{.stall = 0}, Control{.stall = 15}, Control{.stall = 13}})
    is_found(kernel.with_control_of(ffmas()[0], bad), "control", fmt::format("{}", bad.stall));
}

TEST_P(VerifyFaults, CopiesDroppedOnTheWayInAndOut) {
  const std::vector<int> accumulators = lone_accumulators(kernel);
  ASSERT_FALSE(accumulators.empty());
  const Edited edited = renamed(kernel, accumulators[0], 253);
  const std::optional<Finding> finding = edited.verdict();
  ASSERT_FALSE(finding) << finding->word << " " << finding->rule << ": " << finding->text;
  const size_t in = edited.edit.new_loop_begin - 1, out = edited.edit.new_end - 1;
  is_found(edited.with(in, pause(13)), "values", "no copy in");
  is_found(edited.with(out, pause(13)), "values", "no copy out");
  is_found(edited.with(in, move(253, accumulators[0] + 1)), "values", "another copied in");
}

INSTANTIATE_TEST_SUITE_P(Examples, VerifyFaults,
                         testing::Values(Example{"12_best", 90}, Example{"12_best", 80},
                                         Example{"11_async", 86}, Example{"main", 90},
                                         Example{"09_double_buffer", 80}),
                         [](const auto& info) {
                           return info.param.name + "_sm_" + std::to_string(info.param.sm);
                         });

}  // namespace
}  // namespace tilec::sass
