// A small steady loop made by hand: two steps of a 4x4 outer product, four loads of 16 bytes.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "compiler/sass/loop/rewrite_loop.h"
#include "tests/sass/support.h"

namespace tilec::sass {

/// LDS.128 of registers d .. d + 3 from the address in `address`.
inline Word lds(int d, int address, int offset, int board) {
  Word word = with_bits(word_of(0x984), 73, 3, 6);
  word = with_bits(word, 16, 8, static_cast<uint64_t>(d));
  word = with_bits(word, 24, 8, static_cast<uint64_t>(address));
  word = with_bits(word, 40, 24, static_cast<uint64_t>(offset));
  return with_control(word, {.stall = 4, .write_barrier = board});
}

/// IADD3 d, a, RZ, RZ.
inline Word add(int d, int a) {
  Word word = with_bits(iadd3(), 16, 8, static_cast<uint64_t>(d));
  word = with_bits(with_bits(word, 24, 8, static_cast<uint64_t>(a)), 32, 8, kZeroRegister);
  word = with_bits(with_bits(word, 64, 8, kZeroRegister), 81, 6, 0x3f);
  return with_bits(with_bits(word, 77, 4, 0xf), 87, 4, 0xf);
}

inline constexpr int kLoopSum = 32;             // R32 .. R47
inline constexpr int kLoopRows[] = {4, 12};     // R4 .. R7 in step 0, R12 .. in step 1
inline constexpr int kLoopColumns[] = {8, 16};  // R8 .., R16 ..
inline constexpr int kRowAddress = 20, kColumnAddress = 21;

/// The multiply-adds of one step, row by row.
inline std::vector<Word> step_words(int step) {
  std::vector<Word> out;
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 4; ++column) {
      const int sum = kLoopSum + 4 * row + column;
      out.push_back(ffma(sum, kLoopRows[step] + row, kLoopColumns[step] + column, sum));
    }
  return out;
}

/// The two loads of one step.
inline std::vector<Word> load_words(int step) {
  return {lds(kLoopRows[step], kRowAddress, 16 * step, 0),
          lds(kLoopColumns[step], kColumnAddress, 16 * step, 1)};
}

inline std::vector<Word> joined(std::initializer_list<std::vector<Word>> parts) {
  std::vector<Word> out;
  for (const std::vector<Word>& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// Loads of both steps, then their multiply-adds.
inline std::vector<Word> small_body() {
  return joined({load_words(0), load_words(1), step_words(0), step_words(1)});
}

/// The first multiply-adds of the small body: steps of 16.
inline constexpr size_t kFirstFma = 4;

/// A kernel for sm_90 that runs `body` under @P0, then stores the sums to global memory one by one.
inline Kernel loop_kernel(const std::vector<Word>& body) {
  Kernel kernel{.name = "made_up", .registers = 64};
  kernel.words = {nop(), nop()};
  kernel.words.insert(kernel.words.end(), body.begin(), body.end());
  kernel.words.push_back(bra(-static_cast<int>(body.size()), 0));
  for (int i = 0; i < 16; ++i) {  // STS [R20], R
    Word store = with_bits(word_of(0x388), 73, 3, 4);
    store = with_bits(with_bits(store, 24, 8, kRowAddress), 32, 8, uint64_t(kLoopSum + i));
    kernel.words.push_back(with_control(store, {.stall = 4}));
  }
  kernel.words.push_back(with_bits(exit_word(), 87, 3, kTruePredicate));
  while (kernel.words.size() % 8 != 0) kernel.words.push_back(nop());
  return kernel;
}

/// Why the kernel is left as it is; empty where it is rewritten.
inline std::string why_not(const Kernel& kernel, const RewriteOptions& options = {}) {
  const OrWhyNot<Rewritten> rewritten = rewrite_loop(kernel, 90, options);
  return rewritten ? std::string() : rewritten.error();
}

}  // namespace tilec::sass
