// Rows of instruction tests: the text of an instruction, the bits of its operands and of its
// result.
#pragma once

#include <cstdint>
#include <string_view>

#include "tests/ptx/support.h"

namespace tilec::ptx::test {

// `text` uses d for the result and a, b, c, e for the operands. `types` has a letter each, result
// first: h 16 bits, r 32, q 64, f f32, d f64, p predicate (0 or 1).
struct Row {
  std::string_view text;
  std::string_view types;
  uint64_t a, b, c;
  uint64_t expected;
  uint64_t e = 0;
};

/// Runs a row once with all lanes and once with five: the two handlers of an instruction.
void check(const Row& row);

}  // namespace tilec::ptx::test
