#include "dsl/derive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "dsl/banks.h"
#include "dsl/format.h"
#include "tests/dsl/support.h"
#include "tests/support/random_spec.h"

namespace tilec::dsl {
namespace {

TEST(Derive, TheExampleOfTheManual) {
  Spec spec = test::spec_of("tile 128x128 warp 64x32 thread 8x8 stages 2");
  Derived d = test::derived_of(spec);
  EXPECT_EQ(d.threads, 256);
  EXPECT_EQ(d.warps, 8);
  EXPECT_EQ(d.warp_grid, (Extent{2, 4}));
  EXPECT_EQ(spec.lane_grid, (Extent{8, 4}));
  EXPECT_EQ(d.m.count, 8);
  EXPECT_EQ(d.m.piece, 4);
  EXPECT_EQ(d.m.stride, 32);
  EXPECT_EQ(d.m.lanes, 8);
  EXPECT_EQ(d.n.stride, 16);
  EXPECT_EQ(d.copy_a.rows, 128);
  EXPECT_EQ(d.copy_a.columns, 8);
  EXPECT_EQ(d.copy_a.vector, 4);
  EXPECT_EQ(d.copy_a.passes, 1);
  EXPECT_EQ(d.copy_b.rows, 8);
  EXPECT_EQ(d.copy_b.columns, 128);
  EXPECT_EQ(d.vector_c, 4);
  EXPECT_EQ(d.shared_bytes_a, 8 * (128 + 4) * 4);
  EXPECT_EQ(d.shared_bytes_b, 8 * 128 * 4);
  EXPECT_EQ(d.shared_bytes, 2 * (d.shared_bytes_a + d.shared_bytes_b));
  EXPECT_DOUBLE_EQ(d.ideal_share, 64.0 / 68.0);
  EXPECT_EQ(d.registers_expected, 112);
  EXPECT_EQ(d.blocks_per_sm, 2);
}

TEST(Derive, ThreadsAndShares) {
  struct Case {
    std::string text;
    int threads, warps;
    double share;
  };
  for (const Case& c : {
           Case{"tile 32x32", 1024, 32, 1.0 / 3},
           {"tile 16x16 copy none", 256, 8, 1.0 / 3},
           {"tile 64x64 thread 8x1", 512, 16, 8.0 / (8 + 2 + 1)},
           {"tile 20x10 thread 2x2", 50, 2, 4.0 / (4 + 2)},
           {"tile 128x256x16 warp 64x64 thread 8x16 stages 3", 256, 8, 128.0 / (128 + 6)},
           {"tile 64x64 thread 8x8 vector 1", 64, 2, 64.0 / 80},
           {"tile 64x64 thread 8x8 shared plain", 64, 2, 64.0 / (64 + 8 + 2)},
           {"tile 64x64 thread 8x8 copy none", 64, 2, 64.0 / 74},
       }) {
    Derived d = test::derived_of(test::spec_of(c.text));
    EXPECT_EQ(d.threads, c.threads) << c.text;
    EXPECT_EQ(d.warps, c.warps) << c.text;
    EXPECT_DOUBLE_EQ(d.ideal_share, c.share) << c.text;
  }
}

TEST(Derive, CopiesFollowTheLayoutAndTheMode) {
  auto text = [](const CopyMap& map) {
    return fmt::format("{}x{} by {}, {}", map.rows, map.columns, map.vector, map.passes);
  };
  struct Case {
    std::string text, a, b;
  };
  for (const Case& c : {
           Case{"tile 128x64x8 thread 8x8 layout nn", "128x8 by 4, 2", "8x64 by 4, 1"},
           {"tile 128x64x8 thread 8x8 layout tt", "8x128 by 4, 2", "64x8 by 4, 1"},
           // Asynchronous copies of a turned slice go element by element.
           {"tile 128x64x8 thread 8x8 copy async", "128x8 by 1, 8", "8x64 by 4, 1"},
           {"tile 128x64x8 thread 8x8 copy async layout tn", "8x128 by 4, 2", "8x64 by 4, 1"},
           {"tile 128x64x8 thread 8x8 copy async shared plain", "128x8 by 4, 2", "8x64 by 4, 1"},
           {"tile 60x60x6 thread 6x6", "60x6 by 2, 2", "6x60 by 4, 1"},
           {"tile 64x64x8 thread 4x4 vector 2", "64x8 by 2, 1", "8x64 by 2, 1"},
           {"tile 64x64x8 thread 4x4 copy none", "0x0 by 0, 0", "0x0 by 0, 0"},
       }) {
    Derived d = test::derived_of(test::spec_of(c.text));
    EXPECT_EQ(text(d.copy_a), c.a) << c.text;
    EXPECT_EQ(text(d.copy_b), c.b) << c.text;
  }
}

TEST(Derive, RegistersAndResidency) {
  auto limits = test::all_limits();
  const Limits& h100 = *find_limits(limits, "sm_90a");
  struct Case {
    std::string text;
    int allowed, by_threads, by_registers, by_shared;
  };
  for (const Case& c : {
           // 1024 threads: 65536 / 1024.
           Case{"tile 32x32", 64, 2, 1, 76},
           {"tile 128x128 warp 64x32 thread 8x8 stages 2", 255, 8, 2, 13},
           {"tile 128x128 warp 64x32 thread 8x8 stages 2 registers 96", 96, 8, 2, 13},
           {"tile 128x128 warp 64x32 thread 8x8 blocks_per_sm 2", 128, 8, 2, 24},
       }) {
    Spec spec = test::spec_of(c.text);
    Derived d = test::derived_of(spec);
    EXPECT_EQ(registers_allowed(spec, d.threads, h100), c.allowed) << c.text;
    Residency fit = residency(d, spec, h100);
    EXPECT_EQ(fit.by_threads, c.by_threads) << c.text;
    EXPECT_EQ(fit.by_registers, c.by_registers) << c.text;
    EXPECT_EQ(fit.by_shared, c.by_shared) << c.text;
    EXPECT_EQ(d.blocks_per_sm, fit.blocks()) << c.text;
  }
}

TEST(Derive, WidestVector) {
  EXPECT_EQ(widest_vector(4, 8), 4);
  EXPECT_EQ(widest_vector(4, 6), 2);
  EXPECT_EQ(widest_vector(4, 7), 1);
  EXPECT_EQ(widest_vector(2, 8), 2);
  EXPECT_EQ(widest_vector(1, 8), 1);
}

// What every legal spec promises to whoever makes code from it.
class Promises : public ::testing::Test {
 protected:
  template <class Check>
  void each(Check check) {
    int seen = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
      auto spec = test::complete(test::random_spec(seed));
      if (!spec) continue;
      ++seen;
      SCOPED_TRACE(format(*spec));
      check(*spec, test::derived_of(*spec));
      if (HasFailure()) return;
    }
    EXPECT_GT(seen, 150);
  }
};

TEST_F(Promises, ThreadsShareOutTheTileExactly) {
  each([](const Spec& spec, const Derived& d) {
    std::vector<int> owners(static_cast<size_t>(spec.tile.m * spec.tile.n), 0);
    for (int thread = 0; thread < d.threads; ++thread) {
      for (int i = 0; i < d.m.count; ++i) {
        for (int j = 0; j < d.n.count; ++j) {
          int m = thread_element(spec, d, true, thread, i);
          int n = thread_element(spec, d, false, thread, j);
          ASSERT_TRUE(m >= 0 && m < spec.tile.m && n >= 0 && n < spec.tile.n);
          ++owners[static_cast<size_t>(m * spec.tile.n + n)];
        }
      }
    }
    for (int owner : owners) ASSERT_EQ(owner, 1);
  });
}

TEST_F(Promises, CopiesCoverTheSliceExactly) {
  each([](const Spec& spec, const Derived& d) {
    for (const CopyMap& map : {d.copy_a, d.copy_b}) {
      if (spec.copy == CopyMode::none) continue;
      ASSERT_EQ(map.columns % map.vector, 0);
      std::vector<int> copied(static_cast<size_t>(map.rows * map.columns), 0);
      int per_row = map.columns / map.vector;
      for (int v = 0; v < map.passes * d.threads; ++v) {
        int row = v / per_row, column = v % per_row * map.vector;
        if (row >= map.rows) continue;
        for (int e = 0; e < map.vector; ++e)
          ++copied[static_cast<size_t>(row * map.columns + column + e)];
      }
      for (int times : copied) ASSERT_EQ(times, 1);
      // No pass is idle.
      ASSERT_LT((map.passes - 1) * d.threads, map.rows * per_row);
    }
  });
}

TEST_F(Promises, SharedOffsetsAreApartWithinTheStage) {
  each([](const Spec& spec, const Derived& d) {
    if (spec.copy == CopyMode::none) return;
    for (bool a : {true, false}) {
      int64_t bytes = a ? d.shared_bytes_a : d.shared_bytes_b;
      ASSERT_EQ(bytes % 16, 0);
      std::set<int64_t> seen;
      for (int k = 0; k < spec.tile_k; ++k) {
        for (int x = 0; x < (a ? spec.tile.m : spec.tile.n); ++x) {
          int64_t offset = shared_offset(spec, a, k, x);
          ASSERT_TRUE(offset >= 0 && offset * 4 < bytes);
          ASSERT_TRUE(seen.insert(offset).second);
        }
      }
    }
  });
}

TEST_F(Promises, VectorsLieTogetherAndAligned) {
  each([](const Spec& spec, const Derived& d) {
    if (spec.copy == CopyMode::none) return;
    for (bool a : {true, false}) {
      SliceMap map = slice_map(spec, a);
      // Fragment loads.
      int vector = a ? d.fragment_vector_a : d.fragment_vector_b;
      const FragmentAxis& axis = a ? d.m : d.n;
      for (int thread = 0; thread < d.threads; ++thread) {
        for (int i = 0; i < axis.count; ++i) {
          int x = thread_element(spec, d, a, thread, i);
          int first = thread_element(spec, d, a, thread, i / vector * vector);
          int64_t base = map.offset(spec.tile_k - 1, first);
          ASSERT_EQ(base % vector, 0);
          ASSERT_EQ(map.offset(spec.tile_k - 1, x), base + i % vector);
        }
      }
      // The copy's stores.
      const CopyMap& copy = a ? d.copy_a : d.copy_b;
      int store = copy_store_vector(spec, a);
      bool rows_are_k = a ? spec.layout.a_transposed : !spec.layout.b_transposed;
      for (int row = 0; row < copy.rows; ++row) {
        for (int column = 0; column < copy.columns; ++column) {
          auto at = [&](int c) { return rows_are_k ? map.offset(row, c) : map.offset(c, row); };
          int64_t base = at(column / store * store);
          ASSERT_EQ(base % store, 0);
          ASSERT_EQ(at(column), base + column % store);
        }
      }
    }
  });
}

TEST_F(Promises, CStoresLieTogether) {
  each([](const Spec& spec, const Derived& d) {
    for (int thread : {0, d.threads - 1}) {
      for (int j = 0; j < d.n.count; ++j) {
        int first = thread_element(spec, d, false, thread, j / d.vector_c * d.vector_c);
        ASSERT_EQ(first % d.vector_c, 0);
        ASSERT_EQ(thread_element(spec, d, false, thread, j), first + j % d.vector_c);
      }
    }
  });
}

TEST_F(Promises, ResourcesStayWithinTheLimits) {
  std::vector<Limits> limits = test::all_limits();
  each([&](const Spec& spec, const Derived& d) {
    const Limits& target = *find_limits(limits, spec.target);
    ASSERT_LE(d.threads, 1024);
    ASSERT_LE(d.shared_bytes, target.shared_bytes_per_block);
    ASSERT_GE(d.blocks_per_sm, spec.blocks_per_sm > 0 ? 1 : 0);
    ASSERT_GT(d.ideal_share, 0);
    ASSERT_LT(d.ideal_share, 1);
  });
}

TEST(SliceMap, ASwizzleIsXorOfGroupAndRow) {
  Spec spec = test::spec_of("tile 64x32x16 thread 4x4 shared swizzled");
  SliceMap map = slice_map(spec, true);
  EXPECT_EQ(map.group, 4);
  EXPECT_EQ(map.groups, 16);
  for (int k = 0; k < 16; ++k) {
    for (int m = 0; m < 64; ++m) {
      EXPECT_EQ(map.offset(k, m), k * 64 + ((m / 4) ^ (k % 16)) * 4 + m % 4);
    }
  }
  // B's rows hold 8 groups, so rows 8 apart are alike.
  SliceMap b = slice_map(spec, false);
  EXPECT_EQ(b.groups, 8);
  EXPECT_EQ(b.offset(9, 5), 9 * 32 + ((5 / 4) ^ 1) * 4 + 1);
}

}  // namespace
}  // namespace tilec::dsl
