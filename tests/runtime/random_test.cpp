#include "runtime/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/hash.h"

namespace tilec {
namespace {

TEST(Random, IsUniformOnItsInterval) {
  double sum = 0;
  double squares = 0;
  float least = 1;
  float most = -1;
  const int count = 100000;
  for (int i = 0; i < count; ++i) {
    const float value = random_operand(5, static_cast<uint64_t>(i));
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 1);
    sum += value;
    squares += static_cast<double>(value) * value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.01);
  EXPECT_LT(least, -0.999);
  EXPECT_GT(most, 0.999);
}

TEST(Random, SeedsNameStreams) {
  EXPECT_EQ(random_operand(1, 7), random_operand(1, 7));
  std::set<float> values;
  for (uint64_t seed = 0; seed < 1000; ++seed) values.insert(random_operand(seed, 7));
  EXPECT_GT(values.size(), 990U);
}

// Values of the reference implementation of SplitMix64 with state 0.
TEST(Random, IsSplitMix64) {
  EXPECT_EQ(random_bits(0, 0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(random_bits(0, 1), 0x6e789e6aa1b965f4ULL);
}

// Values of the authors' test vectors.
TEST(Hash, IsFnv1a) {
  EXPECT_EQ(hash_name(""), "fnv1a:cbf29ce484222325");
  EXPECT_EQ(hash_name("foobar"), "fnv1a:85944171f73967e8");
}

}  // namespace
}  // namespace tilec
