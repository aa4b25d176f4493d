// Pointers of 16-byte copies in aligned pairs: where they may lie in one, and where not.
#include "compiler/sass/loop/pair_pointers.h"

#include "tests/sass/loop_support.h"

namespace tilec::sass {
namespace {

constexpr int kLow = 51, kHigh = 54;  // where the halves of the pointer lie
constexpr int kPair = 60;             // where they are moved to
constexpr int kSpare = 70;

Word move(int to, int from) {
  Word word{.lo = 0x7202, .hi = 0xf00};
  word = with_bits(word, 16, 8, static_cast<uint64_t>(to));
  word = with_bits(word, 32, 8, static_cast<uint64_t>(from));
  return with_control(word, {.stall = 5});
}

/// LDGSTS of a global address in `pair`, to the place in shared memory that R20 names.
Word copy(int pair, bool sixteen_bytes) {
  Word word{.lo = 0x00000000'00007fae, .hi = 0x000fe2000b121848};  // as the assembler writes them
  if (sixteen_bytes) word.hi = 0x000fe2000b901c48;
  word = with_bits(word, 16, 8, kRowAddress);
  return with_bits(word, 24, 8, static_cast<uint64_t>(pair));
}

Body body_of(const std::vector<Word>& rest) {
  const std::vector<Body> bodies = find_bodies(loop_kernel(joined({rest, small_body()})), 90);
  return bodies.empty() ? Body{} : bodies.front();
}

Paired paired(const Body& body, const Registers& behind = {}) {
  Registers spare;
  for (int reg = kSpare; reg < kSpare + 8; ++reg) spare.set(static_cast<size_t>(reg));
  return pair_pointers(body, behind, spare);
}

std::vector<Word> pointer_words(bool sixteen_bytes = true) {
  return {move(kPair, kLow), move(kPair + 1, kHigh), copy(kPair, sixteen_bytes), add(kLow, kLow),
          add(kHigh, kHigh)};
}

TEST(PairPointers, APointerThatIsMovedForEachCopyLivesInAPair) {
  const Body body = body_of(pointer_words());
  ASSERT_GT(body.ops.size(), 5U);
  const Paired out = paired(body);
  ASSERT_EQ(out.body.ops.size() + 2, body.ops.size());
  EXPECT_EQ(out.renames, (std::vector<Rename>{{kLow, kSpare}, {kHigh, kSpare + 1}}));
  EXPECT_EQ(out.body.ops[0].instruction.word, copy(kSpare, true));
  EXPECT_EQ(out.body.ops[1].instruction.word, add(kSpare, kSpare));
  EXPECT_EQ(out.body.ops[2].instruction.word, add(kSpare + 1, kSpare + 1));
}

TEST(PairPointers, NothingMovesWhereItWouldBeWrongOrSlower) {
  const auto expect_same = [](const Body& body, const Registers& behind = {}) {
    ASSERT_GT(body.ops.size(), 5U);
    const Paired out = paired(body, behind);
    EXPECT_EQ(out.body.ops.size(), body.ops.size());
    EXPECT_TRUE(out.renames.empty());
  };
  // A copy of 4 bytes reads its address late.
  expect_same(body_of(pointer_words(false)));
  // The pointer walks on before the copy reads it.
  std::vector<Word> early = pointer_words();
  std::swap(early[2], early[3]);
  expect_same(body_of(early));
  // The code behind the loop reads the pair.
  Registers behind;
  behind.set(kPair);
  expect_same(body_of(pointer_words()), behind);
  // No pair: the halves are moved to registers that do not follow each other.
  std::vector<Word> apart = pointer_words();
  apart[1] = move(kPair + 2, kHigh);
  expect_same(body_of(apart));
  // One half alone, twice.
  std::vector<Word> twice = pointer_words();
  twice[1] = move(kPair + 1, kLow);
  expect_same(body_of(twice));
  // A half lies within a wider operand.
  std::vector<Word> wide = pointer_words();
  wide.push_back(lds(kLow - 3, kRowAddress, 0, 2));
  expect_same(body_of(wide));
  // No register is spare.
  const Body body = body_of(pointer_words());
  EXPECT_EQ(pair_pointers(body, {}, {}).body.ops.size(), body.ops.size());
}

}  // namespace
}  // namespace tilec::sass
