// The control fields of an instruction word: what the assembler tells the warp scheduler.
//
//   bits      field          meaning
//   105..108  stall          cycles to wait after issuing this before the warp's next instruction
//   109       yield          0: prefer another warp next. Clearing it loses the reuse cache
//   110..112  write barrier  scoreboard 0..5 set until the result is written; 7: none
//   113..115  read barrier   scoreboard 0..5 set until the operands are read; 7: none
//   116..121  wait mask      scoreboards that must be clear before this issues, one bit each
//   122..125  reuse          operand slots a (1), b (2), c (4) kept in the reuse cache after this
//
// How this is known. On sm_90a (H200): words reordered by these fields gave bit-equal results, and
// the reuse and yield bits change the speed as described. On all six targets, from what the
// assembler writes: `.reuse` in nvdisasm's text stands where the reuse bits say; every register
// that a load writes is waited for, by wait mask and write barrier, before it is used; scoreboards
// waited for have been set; and results of fixed latency are read exactly four cycles later at the
// earliest by the stall field. The yield bit and the read barrier's place on sm_100a and sm_120a
// are taken to be the same, without proof. tests/sass/word_test.cpp holds these observations.
#pragma once

#include "compiler/sass/word.h"

namespace tilec::sass {

inline constexpr int kNoBarrier = 7;

struct Control {
  int stall = 0;
  bool yield = true;
  int write_barrier = kNoBarrier;
  int read_barrier = kNoBarrier;
  int wait_mask = 0;
  int reuse = 0;
  bool operator==(const Control&) const = default;
};

constexpr Control decode_control(Word word) {
  return {.stall = static_cast<int>(bits(word, 105, 4)),
          .yield = bits(word, 109, 1) != 0,
          .write_barrier = static_cast<int>(bits(word, 110, 3)),
          .read_barrier = static_cast<int>(bits(word, 113, 3)),
          .wait_mask = static_cast<int>(bits(word, 116, 6)),
          .reuse = static_cast<int>(bits(word, 122, 4))};
}

/// `word` with its control fields replaced; all other bits stay.
constexpr Word with_control(Word word, const Control& control) {
  word = with_bits(word, 105, 4, static_cast<uint64_t>(control.stall));
  word = with_bits(word, 109, 1, control.yield ? 1 : 0);
  word = with_bits(word, 110, 3, static_cast<uint64_t>(control.write_barrier));
  word = with_bits(word, 113, 3, static_cast<uint64_t>(control.read_barrier));
  word = with_bits(word, 116, 6, static_cast<uint64_t>(control.wait_mask));
  return with_bits(word, 122, 4, static_cast<uint64_t>(control.reuse));
}

}  // namespace tilec::sass
