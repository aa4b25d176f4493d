// Proves that a rewritten loop computes what the assembled one did, from the words alone.
//
// This shares nothing with the passes but the tables (decode.h, operands.h, latency.h). A pass that
// goes wrong therefore does not take its checker along. What is not proved is reported with the
// first word that shows it, and the edit is not made.
//
// The rules, each with planted faults that break it (tests/sass/verify_faults_test.cpp,
// verify_memory_test.cpp):
//
//   shape    both loops are one block of known instructions that branches to its first word; in the
//            new region only copies and loads stand before the loop and behind it
//   layout   outside of the region the words are the same, in order; branches land at the same
//            instruction, those to the old loop at the region's first word, none within it
//   values   by symbolic execution of one trip of both, with uninterpreted operations: what the new
//            loop's registers hold on entry is a function T of the old loop's registers, and holds
//            again, of the old loop's next registers, after a trip (induction). On leaving, every
//            register that the rest of the kernel reads holds what it held
//   effects  stores, asynchronous copies, commits, waits and barriers are the same, in the same
//            order, with the same operands and guards; no load crosses one of them
//   trips    the branch back depends on the same value
//   words    no instruction of the loop is lost or added but copies and NOPs
//   latency  a read stands at least the fixed latency behind the write (latency.h), an access to
//            memory four cycles behind the one before
//   wait     a register that a load or another instruction of variable latency writes is read or
//            overwritten behind a wait for its scoreboard; one that such an instruction reads is
//            overwritten behind a wait too. Holds across trips, on the way in and on the way out.
//            No load from shared memory is under way at a barrier
//   pace     accesses to memory, waits for copies and barriers stand as far apart as the assembler
//            keeps them, and so do instructions of the uniform datapath, of which two overtake
//            (issue_distance and kOvertakeDistance in latency.h)
//   idle     between a load from shared memory and the next asynchronous copy stand as many loads
//            that never happen (@!PT LDS RZ) as in the old loop: a workaround in software
//   board    scoreboards that count asynchronous copies are left to them
//   reuse    an operand in the reuse cache is not overwritten before the slot is read again, and
//            no branch comes between
//   control  stall and yield are a pair that the assembler writes
//
// Predicates and uniform registers keep their numbers: a renamed one is not proved.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "compiler/sass/word.h"

namespace tilec::sass {

/// Where the loop stands, in words; ends are behind the last word. The old loop is one basic block
/// whose last word branches to its first. The new region is code that enters the loop, the loop,
/// and code that leaves it.
struct LoopEdit {
  size_t old_begin = 0, old_end = 0;
  size_t new_begin = 0, new_end = 0;
  size_t new_loop_begin = 0, new_loop_end = 0;
  /// Known of the kernel by whoever made it, not told by its words: between two block barriers no
  /// byte of shared memory is both read and written. Tile IR's rules R8 and R9 say so, and its
  /// verifier proves them. Then a load may pass stores to shared memory, asynchronous copies and
  /// waits, but no barrier.
  bool slots_apart = false;
};

/// Why an edit is not proved.
struct Finding {
  size_t word = 0;   // index among the words after
  std::string rule;  // a word of the list above
  std::string text;
};

/// The first finding; none if the edit is proved. `sm`: 90 for sm_90a.
std::optional<Finding> verify_edit(std::span<const Word> before, std::span<const Word> after,
                                   const LoopEdit& edit, int sm);

}  // namespace tilec::sass
