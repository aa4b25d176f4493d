// The model only has to rank: what it must see is waves, idle SMs, bytes and latency.
#include "runtime/predict.h"

#include <gtest/gtest.h>

namespace tilec {
namespace {

// The main kernels of the ladder, by what follows from their specs.
dsl::Spec spec_of(dsl::Extent tile, dsl::Extent thread, int split) {
  dsl::Spec spec;
  spec.tile = tile;
  spec.tile_k = 16;
  spec.thread = thread;
  spec.stages = 3;
  spec.copy = dsl::CopyMode::async;
  spec.lane_grid = {tile.m / thread.m, tile.n / thread.n};
  spec.split_k = split;
  return spec;
}

double us_of(const dsl::Spec& spec, const dsl::GemmShape& shape, int64_t batch = 1) {
  const dsl::Limits limits{
      .target = "sm_90a", .shared_bytes_per_block = 227 * 1024, .shared_bytes_per_sm = 228 * 1024};
  return predict(spec, dsl::derive(spec, limits), shape, batch, {}).us;
}

const dsl::Spec kLarge = spec_of({128, 128}, {8, 8}, 1);
const dsl::Spec kSmall = spec_of({64, 64}, {4, 8}, 1);

TEST(Predict, PrefersLargeTilesWhereThereAreManyAndSmallOnesWhereThereAreFew) {
  EXPECT_LT(us_of(kLarge, {4096, 4096, 4096}), us_of(kSmall, {4096, 4096, 4096}));
  EXPECT_GT(us_of(kLarge, {512, 512, 512}), us_of(kSmall, {512, 512, 512}));
}

TEST(Predict, SharesOutALongK) {
  EXPECT_LT(us_of(spec_of({64, 64}, {4, 8}, 16), {128, 128, 16384}),
            us_of(kSmall, {128, 128, 16384}) / 4);
  EXPECT_GT(us_of(spec_of({128, 128}, {8, 8}, 4), {4096, 4096, 4096}),
            us_of(kLarge, {4096, 4096, 4096}));
}

TEST(Predict, GrowsWithTheWork) {
  EXPECT_GT(us_of(kLarge, {8192, 8192, 8192}), 6 * us_of(kLarge, {4096, 4096, 4096}));
  EXPECT_GT(us_of(kSmall, {128, 128, 64}, 5000), 4 * us_of(kSmall, {128, 128, 64}, 500));
  // A product of 137 GFLOP on 67 TFLOP/s cannot take less than two milliseconds.
  EXPECT_GT(us_of(kLarge, {4096, 4096, 4096}), 2050);
}

// Loops that our own back end rewrites run faster than those it leaves alone.
TEST(Predict, PrefersARewrittenLoop) {
  dsl::Spec spec = spec_of({128, 128}, {8, 16}, 1);
  spec.warp = dsl::Extent{64, 64};
  spec.lane_grid = {8, 4};
  const double plain = us_of(spec, {4096, 4096, 4096});
  spec.sass = true;
  EXPECT_LT(us_of(spec, {4096, 4096, 4096}), 0.97 * plain);
}

// What is left over after whole waves is shared out, where there is enough of it.
TEST(Predict, SharesOutTheLastWave) {
  dsl::Spec spec = spec_of({128, 256}, {8, 16}, 1);
  const double plain = us_of(spec, {4096, 4096, 4096});  // 512 tiles: 3.88 for each SM
  const double even = us_of(spec, {128 * 132, 256 * 4, 4096});
  spec.stream_k = true;
  EXPECT_LT(us_of(spec, {4096, 4096, 4096}), 0.99 * plain);
  EXPECT_DOUBLE_EQ(us_of(spec, {128 * 132, 256 * 4, 4096}), even);
  // A sum of its own is not worth it where a wave lasts no longer than that takes.
  EXPECT_GT(us_of(spec, {1664, 2560, 16}),
            us_of(spec_of({128, 256}, {8, 16}, 1), {1664, 2560, 16}));
}

// Two warps leave half of an SM's schedulers idle.
TEST(Predict, SeesIdleSchedulers) {
  dsl::Spec two = spec_of({64, 128}, {8, 16}, 1);
  two.warp = dsl::Extent{64, 64};
  two.lane_grid = {8, 4};
  EXPECT_GT(us_of(two, {64, 128 * 132, 4096}), 0.95 * us_of(kLarge, {128, 128 * 132, 4096}));
}

TEST(Predict, TakesALaunchWhereThereIsNothingToDo) {
  EXPECT_GT(us_of(kLarge, {0, 16, 16}), 0);
  EXPECT_LT(us_of(kLarge, {0, 16, 16}), 10);
  EXPECT_GT(us_of(kLarge, {16, 16, 0}), 0);
}

}  // namespace
}  // namespace tilec
