#include "dsl/complete.h"

#include <gtest/gtest.h>

#include <set>

#include "dsl/defaults.h"
#include "dsl/derive.h"
#include "dsl/format.h"
#include "dsl/nearest.h"
#include "dsl/validate.h"
#include "tests/dsl/support.h"
#include "tests/support/random_spec.h"

namespace tilec::dsl {
namespace {

// What stands behind `thread` in the completed spec, up to `raster`.
std::string middle(const std::string& text) {
  std::string whole = format(test::spec_of(text));
  size_t begin = whole.find("stages");
  return whole.substr(begin, whole.find(" raster") - begin);
}

TEST(Complete, TheExampleOfTheManual) {
  EXPECT_EQ(format(test::spec_of("tile 128x128 warp 64x32 thread 8x8 stages 2")),
            "tile 128x128x8 warp 64x32 thread 8x8 stages 2 copy register vector global 4 shared 4 "
            "lanes columns 8x4 fragment split shared a transposed padded 4 b plain raster rows "
            "type f32 accumulate f32 output f32 layout nn epilogue alpha*acc + beta*c edges guard "
            "sass off target sm_90a");
}

// `cluster 1x1xP` says `split_k P`; what is larger, the slices or a part of the tile, is what a
// block needs of shared memory.
TEST(Complete, AClusterSharesK) {
  const Spec spec = test::spec_of("tile 64x64x8 thread 4x4 stages 2 cluster 1x1x4");
  EXPECT_EQ(spec.split_k, 4);
  EXPECT_EQ(spec.cluster, 4);
  EXPECT_FALSE(spec.leaves_parts());
  EXPECT_NE(format(spec).find("split_k 4 cluster 1x1x4"), std::string::npos);
  EXPECT_EQ(test::derived_of(spec).shared_bytes, 64 * 64 * 4);
  const Spec deep = test::spec_of("tile 64x64x32 thread 4x4 stages 3 cluster 1x1x4 split_k 4");
  EXPECT_GT(test::derived_of(deep).shared_bytes, 64 * 64 * 4);
  EXPECT_EQ(test::derived_of(deep).shared_bytes_parts, 64 * 64 * 4);
  for (const char* none : {"", " cluster 1x1", " cluster 1x1x1"})
    EXPECT_EQ(test::spec_of(std::string("tile 64x64 thread 4x4") + none).cluster, 1) << none;
  EXPECT_EQ(test::faults_of("tile 64x64 thread 4x4 cluster 1x1x9"), "out-of-range");
  EXPECT_EQ(test::faults_of("tile 64x64 thread 4x4 cluster 1x1x4 stream_k"), "stream-k-alone");
}

// Each piece once: blocks times turns hold all, and a trip takes an even share of a block's.
TEST(Derive, PiecesOfACluster) {
  for (const Extent& thread : {Extent{1, 4}, Extent{16, 8}, Extent{18, 4}, Extent{3, 5}})
    for (int blocks = 2; blocks <= 8; ++blocks) {
      const Pieces pieces = pieces_of(thread, widest_vector(4, thread.n), blocks);
      EXPECT_EQ(pieces.all * widest_vector(4, thread.n), thread.m * thread.n);
      EXPECT_GE(pieces.turns * blocks, pieces.all);
      EXPECT_LT((pieces.turns - 1) * blocks, pieces.all);
      EXPECT_EQ(pieces.turns % pieces.at_once, 0);
    }
}

TEST(Complete, FillsInDefaults) {
  struct Case {
    std::string text, middle;
  };
  for (const Case& c : {
           Case{"tile 32x32",
                "stages 1 copy register vector global 4 shared 1 lanes columns 32x32 fragment "
                "whole shared a plain b plain"},
           {"tile 32x32 copy none",
            "stages 1 copy none vector global 1 shared 1 lanes columns 32x32 fragment whole"},
           {"tile 32x32 thread 1x4 copy none",
            "stages 1 copy none vector global 4 shared 1 lanes columns 32x8 fragment whole"},
           {"tile 64x64 thread 8x1",
            "stages 1 copy register vector global 4 shared 4 lanes columns 8x64 fragment split "
            "shared a transposed padded 4 b plain"},
           {"tile 64x64 thread 4x4 stages 3 shared plain",
            "stages 3 copy async vector global 4 shared 4 lanes columns 16x16 fragment split "
            "shared a plain b plain"},
           {"tile 64x64 thread 4x4 lanes rows shared a transposed b swizzled",
            "stages 1 copy register vector global 4 shared 4 lanes rows 16x16 fragment split "
            "shared a transposed b plain swizzled"},
           {"tile 60x60x6 thread 6x6 shared plain",  // A's rows hold 6, B's 60
            "stages 1 copy register vector global at_most 4 shared 2 lanes columns 10x10 fragment "
            "split shared a plain b plain"},
           {"tile 60x60x6 thread 6x6 vector 2 fragment whole shared plain",
            "stages 1 copy register vector global 2 shared 2 lanes columns 10x10 fragment whole "
            "shared a plain b plain"},
           {"tile 64x64 thread 4x4 shared padded 1",  // padding narrows what was not demanded
            "stages 1 copy register vector global 4 shared at_most 4 lanes columns 16x16 fragment "
            "split shared a transposed padded 1 b plain padded 1"},
           {"tile 64x64 thread 4x4 vector 1",
            "stages 1 copy register vector global 1 shared 1 lanes columns 16x16 fragment whole "
            "shared a transposed padded 4 b plain"},
       }) {
    if (c.text.find("padded 1") != std::string::npos) {
      // The global bound cannot be demanded of B either: its padded rows take single stores.
      std::string expected = c.middle;
      expected.replace(expected.find("global 4"), 8, "global at_most 4");
      EXPECT_EQ(middle(c.text), expected) << c.text;
      continue;
    }
    EXPECT_EQ(middle(c.text), c.middle) << c.text;
  }
}

TEST(Complete, TurnsEachLayoutSoThatFragmentsAreContiguous) {
  struct Case {
    std::string layout;
    bool a_transposed, b_transposed;
  };
  for (const Case& c :
       {Case{"nn", true, false}, {"nt", true, true}, {"tn", false, false}, {"tt", false, true}}) {
    Spec spec = test::spec_of("tile 64x64 thread 4x4 layout " + c.layout);
    EXPECT_EQ(spec.shared_a.transposed, c.a_transposed) << c.layout;
    EXPECT_EQ(spec.shared_b.transposed, c.b_transposed) << c.layout;
    Derived derived = test::derived_of(spec);
    EXPECT_EQ(derived.fragment_vector_a, 4) << c.layout;
    EXPECT_EQ(derived.fragment_vector_b, 4) << c.layout;
  }
}

TEST(Complete, ReportsFaultsOfGrammarAndRulesTogether) {
  struct Case {
    std::string text, codes;
  };
  for (const Case& c : {
           Case{"tile 128x128 warp 64x48 thread 8x8 sages 2",
                "warp-does-not-divide-tile warp-not-32-lanes unknown-clause"},
           {"tile 128x128 thread 16x16 stages 99 copy asnc vector 3",
            "registers-impossible out-of-range unknown-word vector-not-a-power"},
           {"tile 128x128 thread 3x8 lanes 2x2", "thread-does-not-divide-tile"},
           {"tile 0x5000 thread 8x8 stages 2", "out-of-range out-of-range"},
           {"kernel a { tile 64x64 thread 16x16 } kernel b { tile 64x64 thread 5x4 }",
            "registers-impossible thread-does-not-divide-tile"},
           {"tile 64x64 thread 4x4 target sm_99 stages 17", "unknown-target out-of-range"},
           {"warp 64x32 thread 8x8 foo", "missing-tile unknown-clause"},
           {"foo", "unknown-clause"},
           {"tile 64 thread 4x4", "expected-cross"},  // no rule is held against a broken clause
           {"tile 64x64 thread 4x4 stages =", "unexpected-character"},
           {"tile 64x64 thread 4x4 vector 8 vector 3 ", "clause-twice"},
           {"tile 128x128x32 mma 16x8x8 warp 64x32", "mma-not-built"},
       }) {
    EXPECT_EQ(test::faults_of(c.text), c.codes) << c.text;
  }
}

TEST(Complete, EveryTargetHasItsOwnLimits) {
  std::string text = "tile 128x128x32 warp 64x32 thread 8x8 stages 5 target ";
  EXPECT_EQ(test::faults_of(text + "sm_80"), "");
  EXPECT_EQ(test::faults_of(text + "sm_86"), "shared-over-limit");
  EXPECT_EQ(test::faults_of(text + "sm_90a"), "");
  EXPECT_EQ(test::faults_of(text + "sm_120a"), "shared-over-limit");
}

TEST(Complete, TheDefaultTargetMustBeKnownToo) {
  auto asts = parse({"<spec>", "tile 64x64 thread 4x4"});
  ASSERT_TRUE(asts);
  auto spec = complete(asts->front(), test::all_limits(), "sm_1");
  ASSERT_FALSE(spec);
  EXPECT_EQ(test::codes(spec.error()), "unknown-target");
  EXPECT_EQ(complete(asts->front(), test::all_limits(), "sm_80")->target, "sm_80");
}

TEST(Complete, AChosenPaddingNeverCostsTheSpecItsPlace) {
  // 227 KiB of sm_90a are 14 stages of 16 KiB; with padding they are 13.
  Spec spec = test::spec_of("tile 128x128x16 warp 64x32 thread 8x8 stages 14");
  EXPECT_EQ(spec.shared_a.padding, 0);
  EXPECT_GT(test::spec_of("tile 128x128x16 warp 64x32 thread 8x8 stages 13").shared_a.padding, 0);
}

TEST(Complete, SeveralKernelsKeepTheirNames) {
  auto specs = read_specs({"f", "kernel a { tile 32x32 } kernel b { tile 16x16 }"},
                          test::all_limits(), "sm_90a");
  ASSERT_TRUE(specs);
  ASSERT_EQ(specs->size(), 2u);
  EXPECT_EQ((*specs)[0].name, "a");
  EXPECT_EQ((*specs)[1].name, "b");
  EXPECT_EQ((*specs)[1].tile.m, 16);
}

TEST(Format, PrintsWhatParsesBackToTheSameSpec) {
  int legal = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::string text = test::random_spec(seed);
    auto spec = test::complete(text);
    if (!spec) continue;
    ++legal;
    for (const std::string& printed : {format(*spec), format_lines(*spec)}) {
      auto again = test::complete(printed);
      ASSERT_TRUE(again) << text << "\n" << printed << "\n" << render(again.error());
      ASSERT_EQ(*again, *spec) << text << "\n" << printed << "\n" << format(*again);
    }
    ASSERT_EQ(format(*test::complete(format(*spec))), format(*spec));
  }
  // The generator promises about three in five.
  EXPECT_GT(legal, 2000 * 52 / 100);
  EXPECT_LT(legal, 2000 * 72 / 100);
}

TEST(RandomSpecs, CoverEveryFaultOfTheRules) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    auto spec = test::complete(test::random_spec(seed));
    if (spec) continue;
    for (const Diagnostic& found : spec.error().diagnostics) seen.insert(found.code);
  }
  for (std::string_view code :
       {"warp-does-not-divide-tile", "thread-does-not-divide-tile", "too-many-threads",
        "vector-does-not-divide", "padding-breaks-vector", "swizzle-not-power-of-two",
        "copy-none-stages", "copy-none-shared", "registers-impossible"}) {
    EXPECT_TRUE(seen.contains(std::string(code))) << code;
  }
}

TEST(Nearest, IsAlwaysLegalAndKeepsWhatNoRuleSpeaksOf) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    std::string text = test::random_spec(seed);
    auto spec = test::complete(text);
    if (spec) continue;
    std::string rendered = render(spec.error());
    std::string nearest = test::quoted_after(rendered, "nearest legal spec: ");
    if (nearest.empty()) continue;  // a fault of grammar, or of a range
    ++refused;
    auto legal = test::complete(nearest);
    ASSERT_TRUE(legal) << text << "\n" << nearest << "\n" << render(legal.error());
  }
  EXPECT_GT(refused, 200);
}

TEST(Nearest, OfALegalRequestIsItself) {
  ClauseSet broken;
  std::vector<Diagnostic> faults;
  std::vector<Limits> limits = test::all_limits();
  const Limits& target = *find_limits(limits, "sm_90a");
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::string text = test::random_spec(seed);
    if (!test::faults_of(text).empty()) continue;
    auto asts = parse({"<spec>", text});
    Request request = read_request(asts->front(), broken, faults);
    if (request.target && *request.target != "sm_90a") continue;
    EXPECT_EQ(to_string(nearest_legal(request, target)), to_string(request));
  }
}

TEST(Nearest, IsWhatAPersonWouldSay) {
  struct Case {
    std::string text, nearest;
  };
  for (const Case& c : {
           Case{"tile 128x128 warp 64x48 thread 8x8 stages 2",
                "tile 128x128 warp 64x32 thread 8x8 stages 2"},
           {"tile 128x128", "tile 128x128 thread 4x4"},
           {"tile 128x128 thread 32x32", "tile 128x128 thread 8x16"},
           {"tile 128x128 warp 64x32", "tile 128x128 warp 64x32 thread 8x8"},
           {"tile 64x64 thread 4x4 lanes 8x4", "tile 64x64 warp 32x16 thread 4x4 lanes 8x4"},
           {"tile 128x128 thread 8x8 registers 64", "tile 128x128 thread 8x8 registers 96"},
           {"tile 128x128x32 warp 64x32 thread 8x8 stages 8",
            "tile 128x128x32 warp 64x32 thread 8x8 stages 7"},
           {"tile 64x64 thread 2x2 vector shared 4", "tile 64x64 thread 2x2 vector shared 2"},
       }) {
    auto spec = test::complete(c.text);
    ASSERT_FALSE(spec) << c.text;
    EXPECT_EQ(test::quoted_after(render(spec.error()), "nearest legal spec: "), c.nearest);
  }
}

TEST(Nearest, FallsBackToAPlainKernel) {
  auto spec = test::complete(
      "tile 1024x1024x256 warp 1024x1024 thread 1024x1024 stages 16 registers 16 layout tt");
  ASSERT_FALSE(spec);
  std::string nearest = test::quoted_after(render(spec.error()), "nearest legal spec: ");
  EXPECT_EQ(test::faults_of(nearest), "") << nearest;
  EXPECT_NE(nearest.find("layout tt"), std::string::npos);
}

// A request prints as a spec that asks for the same.
TEST(Request, PrintsWhatParsesBack) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    auto asts = parse({"<spec>", test::random_spec(seed)});
    if (!asts) continue;
    ClauseSet broken;
    std::vector<Diagnostic> faults;
    Request request = read_request(asts->front(), broken, faults);
    if (!faults.empty()) continue;
    std::string printed = to_string(request);
    auto again = parse({"<spec>", printed});
    ASSERT_TRUE(again) << printed;
    EXPECT_EQ(to_string(read_request(again->front(), broken, faults)), printed);
    EXPECT_TRUE(faults.empty()) << printed;
  }
}

}  // namespace
}  // namespace tilec::dsl
