// Control fields of loops in random orders, held against every hazard found by brute force.
#include <random>

#include "compiler/sass/latency.h"
#include "compiler/sass/loop/set_control.h"
#include "tests/sass/loop_support.h"

namespace tilec::sass {
namespace {

bool meet(std::span<const Operand> a, std::span<const Operand> b) {
  for (const Operand& x : a)
    for (const Operand& y : b)
      if (x.file == y.file && x.first < y.first + y.count && y.first < x.first + x.count)
        return true;
  return false;
}

// Two trips in a row.
struct Trace {
  const Body& body;
  std::vector<int> time;  // of issue

  explicit Trace(const Body& loop) : body(loop) {
    int now = 0;
    for (size_t i = 0; i < 2 * body.ops.size(); ++i) {
      time.push_back(now);
      now += at(i).instruction.control.stall;
    }
  }
  const LoopOp& at(size_t i) const { return body.ops[i % body.ops.size()]; }

  // Whether something in first + 1 .. last waits for `board`.
  bool waits(size_t first, size_t last, int board) const {
    for (size_t i = first + 1; i <= last; ++i)
      if ((at(i).instruction.control.wait_mask >> board & 1) != 0 && time[i] >= time[first] + 2)
        return true;
    return false;
  }
};

// The first hazard; empty if there is none.
std::string find_hazard(const Body& body) {
  const Trace trace(body);
  for (size_t i = 0; i < trace.time.size(); ++i) {
    const LoopOp& first = trace.at(i);
    const Control& control = first.instruction.control;
    for (size_t j = i + 1; j < trace.time.size() && j <= i + body.ops.size(); ++j) {
      const LoopOp& second = trace.at(j);
      const bool reads = meet(first.operands.writes(), second.operands.reads());
      const bool overwrites = meet(first.operands.writes(), second.operands.writes());
      const bool replaces = meet(first.operands.reads(), second.operands.writes());
      const std::string pair = fmt::format("{} and {}", i, j);
      if (first.operands.variable_latency && (reads || overwrites) &&
          (control.write_barrier == kNoBarrier || !trace.waits(i, j, control.write_barrier)))
        return "no wait between " + pair;
      if (first.operands.reads_late() && replaces) {
        const bool told =
            (control.read_barrier != kNoBarrier && trace.waits(i, j, control.read_barrier)) ||
            (control.write_barrier != kNoBarrier && trace.waits(i, j, control.write_barrier));
        if (!told) return "operands overwritten between " + pair;
      }
      if (first.operands.variable_latency || !reads) continue;
      const Pipe to = pipe_of(second.instruction, second.operands);
      const int needed =
          latency({pipe_of(first.instruction, first.operands)}, {to}, body.sm).value_or(kFarApart);
      if (trace.time[j] - trace.time[i] < needed) return "too close: " + pair;
      if (overwrites) break;
    }
    if (control.stall < 1 || control.stall > 13) return "a stall that nobody writes";
  }
  return "";
}

Body small_loop() {
  std::vector<Word> words = small_body();
  words.push_back(add(50, 51));
  words.push_back(add(51, 50));
  words.push_back(add(kRowAddress, 50));  // the address of loads, which read it late
  return find_bodies(loop_kernel(words), 90).at(0);
}

Body shuffled(const Body& body, std::mt19937& random) {
  Body out = body;
  std::shuffle(out.ops.begin(), out.ops.end() - 1, random);
  return out;
}

std::vector<int> no_parity(const Body& body) {
  return std::vector<int>(body.ops.size(), -1);
}

TEST(SetControl, LeavesNoHazardInAnyOrder) {
  std::mt19937 random(5);
  const Body body = small_loop();
  int made = 0;
  for (int round = 0; round < 60; ++round) {
    const Body order = shuffled(body, random);
    const OrWhyNot<Body> controlled = set_control(order, no_parity(order));
    if (!controlled) {
      EXPECT_FALSE(controlled.error().empty());
      continue;
    }
    ++made;
    EXPECT_EQ(find_hazard(*controlled), "") << round;
    for (size_t i = 0; i < order.ops.size(); ++i)
      EXPECT_EQ(with_control(controlled->ops[i].instruction.word, {}),
                with_control(order.ops[i].instruction.word, {}));
  }
  EXPECT_GT(made, 30);
}

// What find_hazard is worth: each wait and each long stall that is taken away is missed.
TEST(SetControl, WhatItSetsIsNeeded) {
  const Body body = small_loop();
  const OrWhyNot<Body> controlled = set_control(body, no_parity(body));
  ASSERT_TRUE(controlled) << controlled.error();
  int faults = 0;
  for (size_t i = 0; i < body.ops.size(); ++i) {
    Control control = controlled->ops[i].instruction.control;
    if (control.wait_mask == 0 && control.stall < 3) continue;
    control.wait_mask = 0;
    control.stall = 1;
    Body less = *controlled;
    less.ops[i] =
        with_word(less.ops[i], with_control(less.ops[i].instruction.word, control), less.sm);
    faults += find_hazard(less).empty() ? 0 : 1;
  }
  EXPECT_GT(faults, 2);
}

TEST(SetControl, ReuseIsOfTheNextMultiplyAdd) {
  const Body body = small_loop();
  const OrWhyNot<Body> controlled = set_control(body, no_parity(body));
  ASSERT_TRUE(controlled);
  int kept = 0;
  for (size_t i = 0; i + 1 < controlled->ops.size(); ++i) {
    const LoopOp& op = controlled->ops[i];
    const LoopOp& next = controlled->ops[i + 1];
    for (const Slot slot : {Slot::a, Slot::b}) {
      if ((op.instruction.control.reuse >> static_cast<int>(slot) & 1) == 0) continue;
      ++kept;
      ASSERT_TRUE(is_plain_fma(op));
      if (is_plain_fma(next)) EXPECT_EQ(op.instruction.read(slot), next.instruction.read(slot));
    }
  }
  EXPECT_GT(kept, 20);
}

}  // namespace
}  // namespace tilec::sass
