#include "dsl/shape.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/dsl/support.h"

namespace tilec::dsl {
namespace {

std::string read(const std::string& text) {
  auto shape = parse_shape(text);
  if (!shape) {
    std::string out = "!";
    for (const auto& found : shape.error().diagnostics) {
      out += fmt::format(" {} {}-{}", found.code, found.span.begin, found.span.end);
    }
    return out;
  }
  return fmt::format("{} {} {}", shape->m, shape->n, shape->k);
}

TEST(Shape, ReadsExtents) {
  struct Case {
    std::string text, result;
  };
  for (const Case& c : {
           Case{"4096x512x64", "4096 512 64"},
           {"4096", "4096 4096 4096"},
           {"0x64x64", "0 64 64"},
           {"64x64x0", "64 64 0"},
           {"2147483647x1x1", "2147483647 1 1"},
           {"0000064x1x1", "64 1 1"},
           {"4096x-1x8", "! extent-out-of-range 5-7"},
           {"2147483648x1x1", "! extent-out-of-range 0-10"},
           {"99999999999999999999x1x-3", "! extent-out-of-range 0-20 extent-out-of-range 23-25"},
           {"", "! malformed-shape 0-0"},
           {"x", "! malformed-shape 0-1"},
           {"1x2", "! malformed-shape 0-3"},
           {"1x2x3x4", "! malformed-shape 0-7"},
           {"1xx3", "! malformed-shape 2-2"},
           {"1x2x", "! malformed-shape 4-4"},
           {"ax1x1", "! malformed-shape 0-1"},
           {"1x1.5x1", "! malformed-shape 2-5"},
           {"1x 2x3", "! malformed-shape 2-4"},
           {"+1x2x3", "! malformed-shape 0-2"},
           {"1X2X3", "! malformed-shape 0-5"},
           {"\xff", "! malformed-shape 0-1"},
       }) {
    EXPECT_EQ(read(c.text), c.result) << c.text;
  }
}

TEST(Shape, ShowsThePlace) {
  auto shape = parse_shape("4096x-1x8");
  ASSERT_FALSE(shape);
  EXPECT_NE(render(shape.error()).find("  4096x-1x8\n       ^~\n"), std::string::npos)
      << render(shape.error());
}

TEST(Shape, JunkOfAnyLengthIsRefused) {
  EXPECT_FALSE(parse_shape(std::string(1 << 22, 'x')));
  EXPECT_FALSE(parse_shape(std::string(1 << 22, '1')));
}

TEST(Shape, CountsBlocks) {
  Spec spec = test::spec_of("tile 128x64 thread 8x8");
  EXPECT_EQ(grid_blocks(spec, {1, 1, 1}).value(), 1);
  EXPECT_EQ(grid_blocks(spec, {129, 64, 1}).value(), 2);
  EXPECT_EQ(grid_blocks(spec, {4096, 4096, 0}).value(), 32 * 64);
  EXPECT_EQ(grid_blocks(spec, {0, 4096, 7}).value(), 0);
  auto over = grid_blocks(spec, {kMostExtent, kMostExtent, 1});
  ASSERT_FALSE(over);
  EXPECT_EQ(test::codes(over.error()), "grid-over-limit");
}

TEST(Shape, StreamsTheTilesThatAreLeftOver) {
  const Spec spec = test::spec_of("tile 128x256x8 warp 64x64 thread 8x16 stages 3 stream_k");
  EXPECT_EQ(stream_of(spec, {4096, 4096, 4096}, 132), (Stream{512 - 3 * 132, 132}));
  EXPECT_EQ(stream_workspace_bytes(spec, {116, 132}), int64_t{2} * 132 * 128 * 256 * 4);
  EXPECT_EQ(stream_of(spec, {128 * 132, 256, 64}, 132), (Stream{0, 0}));  // one tile each
  EXPECT_EQ(stream_of(spec, {1, 1, 9}, 132), (Stream{1, 2}));             // two slices in all
  EXPECT_EQ(stream_of(spec, {1, 1, 0}, 132), (Stream{0, 0}));
  EXPECT_EQ(stream_of(spec, {0, 1, 9}, 132), (Stream{0, 0}));
  // Slices of all stretches are counted in 32 bits.
  EXPECT_EQ(stream_of(spec, {128, 256 * 100, kMostExtent}, 132), (Stream{0, 0}));
  EXPECT_EQ(stream_of(test::spec_of("tile 64x64x8 thread 4x4"), {1, 1, 9}, 132), (Stream{0, 0}));
}

TEST(Shape, ExactEdgesTakeOnlyWholeTiles) {
  Spec spec = test::spec_of("tile 128x64x8 thread 8x8 edges exact");
  EXPECT_EQ(grid_blocks(spec, {256, 64, 16}).value(), 2);
  EXPECT_EQ(grid_blocks(spec, {0, 64, 0}).value(), 0);
  for (const GemmShape& shape : {GemmShape{129, 64, 8}, {128, 65, 8}, {128, 64, 9}}) {
    auto blocks = grid_blocks(spec, shape);
    ASSERT_FALSE(blocks);
    EXPECT_EQ(test::codes(blocks.error()), "shape-not-tiled");
  }
}

}  // namespace
}  // namespace tilec::dsl
