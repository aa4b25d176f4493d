// Keeps each pointer of a steady loop in an aligned pair of registers.
//
// An access to global memory reads its address from an even register and the next. The assembler
// keeps the two halves of a pointer that walks wherever they fall, and moves them to such a pair
// before each access: two instructions a pointer in every trip. Here the pointer itself lives in
// the pair while the loop runs. Only where all copies are of 16 bytes: on an H200 other loops
// became up to 1 % slower by it.
#pragma once

#include <vector>

#include "compiler/sass/liveness.h"
#include "compiler/sass/loop/body.h"

namespace tilec::sass {

/// What the assembled loop holds in `from` at its top and at its end, the new one holds in `to`.
struct Rename {
  int from = 0;
  int to = 0;
  bool operator==(const Rename&) const = default;
};

struct Paired {
  Body body;                    // without the moves
  std::vector<Rename> renames;  // the halves of each pointer
};

/// `behind`: registers that the code behind the loop reads. `spare`: registers that hold nothing at
/// the loop's top and that nothing in it touches. A pointer that finds none stays as it is.
Paired pair_pointers(const Body& body, const Registers& behind, const Registers& spare);

}  // namespace tilec::sass
