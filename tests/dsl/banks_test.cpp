#include "dsl/banks.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

#include "tests/dsl/support.h"
#include "tests/support/random_spec.h"

namespace tilec::dsl {
namespace {

int cost(int vector, const std::function<int64_t(int)>& offset) {
  std::array<int64_t, 32> offsets;
  for (size_t lane = 0; lane < 32; ++lane) offsets[lane] = offset(static_cast<int>(lane));
  return wavefronts(offsets, vector);
}

TEST(Banks, CountsWavefronts) {
  struct Case {
    std::string what;
    int vector;
    std::function<int64_t(int)> offset;
    int wavefronts;
  };
  for (const Case& c : std::vector<Case>{
           {"neighbours", 1, [](int l) { return l; }, 1},
           {"neighbours, shifted", 1, [](int l) { return l + 7; }, 1},
           {"one word for all", 1, [](int) { return 5; }, 1},
           {"every second word", 1, [](int l) { return 2 * l; }, 2},
           {"every fourth word", 1, [](int l) { return 4 * l; }, 4},
           {"one column of 32", 1, [](int l) { return 32 * l; }, 32},
           {"one column of 33", 1, [](int l) { return 33 * l; }, 1},
           {"two words of one bank, each for 16 lanes", 1, [](int l) { return l % 2 * 32; }, 2},
           {"pairs", 2, [](int l) { return 2 * l; }, 2},
           {"every second pair", 2, [](int l) { return 4 * l; }, 4},
           {"quads", 4, [](int l) { return 4 * l; }, 4},
           {"every second quad", 4, [](int l) { return 8 * l; }, 8},
           {"one quad for all", 4, [](int) { return 8; }, 2},
           {"a quad for each four lanes", 4, [](int l) { return l / 4 * 4; }, 2},
           {"four quads, neighbours apart", 4, [](int l) { return l % 4 * 4; }, 4},
           {"two quads, neighbours alike", 4, [](int l) { return l / 2 % 2 * 4; }, 2},
           {"two quads, lanes two apart alike", 4, [](int l) { return l % 2 * 4; }, 2},
           {"quads 32 apart", 4, [](int l) { return 32 * l; }, 32},
           {"half of the lanes", 1, [](int l) { return l < 16 ? l : kInactive; }, 1},
           {"no lane", 1, [](int) { return kInactive; }, 0},
           {"quads of one quarter-warp", 4, [](int l) { return l < 8 ? 4 * l : kInactive; }, 1},
       }) {
    EXPECT_EQ(cost(c.vector, c.offset), c.wavefronts) << c.what;
  }
}

TEST(Banks, AShiftChangesNothing) {
  for (int shift = 0; shift < 64; shift += 4) {
    for (int stride : {4, 8, 12, 20, 36}) {
      EXPECT_EQ(cost(4, [&](int l) { return l * stride + shift; }),
                cost(4, [&](int l) { return l * stride; }));
    }
  }
}

TEST(Banks, SamplingAgreesWhereThePatternRepeats) {
  Spec spec = test::spec_of("tile 128x128 warp 64x32 thread 8x8 stages 2");
  Derived d = test::derived_of(spec);
  for (bool a : {true, false}) {
    EXPECT_EQ(fragment_loads(spec, d, a).wavefronts, fragment_loads(spec, d, a, 2).wavefronts);
    EXPECT_EQ(copy_stores(spec, d, a).wavefronts, copy_stores(spec, d, a, 2).wavefronts);
  }
}

TEST(Banks, CountsEveryAccessOfTheSlice) {
  Spec spec = test::spec_of("tile 128x128x8 warp 64x32 thread 8x8 stages 2");
  Derived d = test::derived_of(spec);
  // 8 warps, 8 k, 2 loads of A's fragment of 8 in fours.
  EXPECT_EQ(fragment_loads(spec, d, true).accesses, 8 * 8 * 2);
  // 128 x 8 elements of A, turned: scalar stores.
  EXPECT_EQ(copy_stores(spec, d, true).accesses, 128 * 8 / 32);
  EXPECT_EQ(copy_stores(spec, d, false).accesses, 128 * 8 / 4 / 32);
}

TEST(Banks, TheClassicConflictsAreSeenAndPaddedAway) {
  // A turned without padding: the stores of 16 rows meet in few banks.
  Spec bare = test::spec_of("tile 128x128 warp 64x32 thread 8x8 shared a transposed");
  Spec padded = test::spec_of("tile 128x128 warp 64x32 thread 8x8");
  Traffic before = copy_stores(bare, test::derived_of(bare), true);
  Traffic after = copy_stores(padded, test::derived_of(padded), true);
  EXPECT_GT(before.wavefronts, before.least);
  EXPECT_EQ(after.wavefronts, after.least);
  // Plain slices of A under column-walking lanes: 32 rows of 32 words in one bank.
  Spec column = test::spec_of("tile 32x32x32 lanes rows shared plain");
  EXPECT_EQ(fragment_loads(column, test::derived_of(column), true).per_access(), 32);
  Spec odd = test::spec_of("tile 32x32x32 lanes rows vector 1 shared padded 1");
  EXPECT_EQ(fragment_loads(odd, test::derived_of(odd), true).per_access(), 1);
}

TEST(Banks, ChosenPaddingIsNeverWorseThanNone) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    auto spec = test::complete(test::random_spec(seed));
    if (!spec || spec->copy == CopyMode::none) continue;
    Derived d = test::derived_of(*spec);
    for (bool a : {true, false}) {
      Traffic loads = fragment_loads(*spec, d, a), stores = copy_stores(*spec, d, a);
      EXPECT_GE(loads.wavefronts, loads.least);
      EXPECT_GE(stores.wavefronts, stores.least);
      EXPECT_GT(loads.accesses, 0);
      EXPECT_GT(stores.accesses, 0);
    }
  }
  for (const char* text :
       {"tile 128x128 warp 64x32 thread 8x8", "tile 64x64 thread 8x8 layout tt",
        "tile 128x256x16 warp 64x64 thread 8x16 stages 3", "tile 96x64x12 thread 6x4"}) {
    Spec chosen = test::spec_of(text);
    Spec bare = chosen;
    bare.shared_a.padding = bare.shared_b.padding = 0;
    for (bool a : {true, false}) {
      auto total = [&](const Spec& spec) {
        Derived d = test::derived_of(spec);
        return fragment_loads(spec, d, a).wavefronts + copy_stores(spec, d, a).wavefronts;
      };
      EXPECT_LE(total(chosen), total(bare)) << text;
    }
  }
}

TEST(Banks, WithoutSharedMemoryThereIsNoTraffic) {
  Spec spec = test::spec_of("tile 32x32 copy none");
  Derived d = test::derived_of(spec);
  EXPECT_EQ(fragment_loads(spec, d, true).accesses, 0);
  EXPECT_EQ(copy_stores(spec, d, false).accesses, 0);
}

}  // namespace
}  // namespace tilec::dsl
