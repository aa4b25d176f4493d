// What `explain` says of a few specs, word for word; renewed with TILEC_RENEW=1.
#include "dsl/explain.h"

#include <gtest/gtest.h>

#include "tests/dsl/support.h"

namespace tilec::dsl {
namespace {

std::string explained(const std::string& text, std::optional<GemmShape> shape, int sms = 0) {
  Spec spec = test::spec_of(text);
  std::vector<Limits> limits = test::all_limits();
  const Limits& target = *find_limits(limits, spec.target);
  return explain(spec, derive(spec, target), target, shape, sms);
}

TEST(Explain, SaysTheSame) {
  struct Case {
    std::string name, text;
    std::optional<GemmShape> shape;
  };
  for (const Case& c : {
           Case{"naive", "tile 16x16 copy none", GemmShape{1000, 1000, 1000}},
           {"warp_tiles", "tile 128x128 warp 64x32 thread 8x8 stages 2",
            GemmShape{4096, 4096, 4096}},
           {"swizzled",
            "kernel s { tile 64x64x16 thread 8x4 lanes rows copy async shared swizzled layout nt }",
            std::nullopt},
           {"spilling", "tile 64x64x64 thread 8x16 stages 2 target sm_86", GemmShape{64, 0, 64}},
       }) {
    test::expect_golden(std::string(TILEC_SOURCE_DIR) + "/tests/dsl/explain/" + c.name + ".txt",
                        explained(c.text, c.shape));
  }
}

TEST(Explain, CountsWavesOnTheDeviceAtHand) {
  std::string text = "tile 128x128 warp 64x32 thread 8x8 stages 2";
  EXPECT_NE(explained(text, GemmShape{1024, 1024, 1024}, 16).find("2.00 waves on 16 SMs"),
            std::string::npos);
  EXPECT_NE(explained(text, GemmShape{1024, 1024, 1024}).find("132 SMs of one H200"),
            std::string::npos);
}

TEST(Explain, SaysWhyAShapeIsRefused) {
  EXPECT_NE(explained("tile 64x64 thread 4x4 edges exact", GemmShape{65, 64, 64})
                .find("refused: edges exact: M is 65"),
            std::string::npos);
}

TEST(Explain, WarnsOfSpills) {
  EXPECT_NE(explained("tile 64x64x64 thread 8x16 stages 2", std::nullopt).find("spill"),
            std::string::npos);
}

}  // namespace
}  // namespace tilec::dsl
