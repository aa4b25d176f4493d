// For each rule of the verifier, kernels that break it. Most are planted faults: a good kernel with
// one line changed, as a wrong pass would change it.
#include "tests/ir/support.h"

namespace tilec::test {
namespace {

struct Fault {
  const char* name;
  const char* spec;
  const char* from;  // first occurrence in the printed kernel
  const char* to;
  const char* rule;
};

const char* const kDouble = "tile 16x16x4 thread 4x4 stages 2";
const char* const kAsync = "tile 64x32x8 warp 32x16 thread 4x4 stages 3";
const char* const kLed = "tile 64x32x8 warp 32x16 thread 4x4 stages 3 sass on";
const char* const kDirect = "tile 8x8x2 copy none";

const char* const kSplit = "tile 8x8x2 thread 2x2 split_k 3";

const char* const kCluster = "tile 8x8x2 thread 2x2 stages 2 cluster 1x1x3";

const Fault kFaults[] = {
    {"blocks that are no cluster", kCluster, " cluster\n", "\n", "R3"},
    {"exchange of another tile", kCluster, "exchange x[m 8", "exchange x[m 4", "R3"},
    {"exchange wider than pieces", kCluster, "n 8] vector 2", "n 8] vector 4", "R3"},
    {"a block's part stored as C", kCluster, "  share x = acc\n",
     "  store c = acc : acc guard\n  share x = acc\n", "R3"},
    {"a cluster of too many", kCluster, "split_k 3 cluster", "split_k 9 cluster", "R4"},
    {"shared without all products", kCluster, "loop i = full to slices", "loop i = full to full",
     "R6"},
    {"never shared", kCluster, "  share x = acc\n", "", "R6"},
    {"reduced without a guard", kCluster, "alpha*acc + beta*c guard", "alpha*acc + beta*c", "R5"},
    {"reduced twice", kCluster, "  depart\n", "  reduce c = x : acc guard\n  depart\n", "R7"},
    {"never reduced", kCluster, "    reduce c = x : alpha*acc + beta*c guard\n", "", "R7"},
    {"C read by a cluster for beta 0", kCluster, "reduce c = x : alpha*acc\n",
     "reduce c = x : alpha*acc + beta*c\n", "R7"},
    {"cluster_barrier dropped", kCluster, "  cluster_barrier\n", "", "R8"},
    {"a block's barrier for the cluster's", kCluster, "  cluster_barrier\n", "  barrier\n", "R8"},
    {"depart for cluster_barrier", kCluster, "  cluster_barrier\n", "  depart\n", "R8"},
    {"depart dropped", kCluster, "  depart\n", "", "R9"},
    {"barrier dropped before the exchange", kCluster, "  barrier\n  share", "  share", "R9"},
    {"shared anew while others read", kCluster, "  depart\n", "  share x = acc\n  depart\n", "R9"},
    {"wrong space", kDouble, "zero acc", "zero fa", "R1"},
    {"wrong axes", kDouble, "fragment fa = sa[i] at 0", "fragment fa = sb[i] at 0", "R1"},
    {"next slice read too early", kLed, "wait 1\n      barrier\n      fragment", "fragment", "R8"},
    {"fragments of the wrong set", kLed, "outer acc += fa_odd * fb_odd", "outer acc += fa * fb_odd",
     "R6"},
    {"next slice of the wrong number", kLed, "sa[i + 1] at 0 when i + 1",
     "sa[i + 2] at 0 when i + 1", "R8"},
    {"first fragments left out", kLed, "fragment fa = sa[0] at 0", "fragment fa = sa[0] at 1",
     "R6"},
    {"copy from the other operand", kDouble, "load ra = a[0]", "load fa = a[0]", "R1"},
    {"unknown variable", kDouble, "fragment fa = sa[i] at 0", "fragment fa = sa[j] at 0", "R2"},
    {"variable in use", "tile 8x8x2 thread 2x2", "loop k = 0 to 2", "loop i = 0 to 2", "R2"},
    {"threads miss the tile", kDouble, "lanes 4x4", "lanes 4x2", "R3"},
    {"slice too shallow", kDouble, "shared sa[k 4, m 16]", "shared sa[k 2, m 16]", "R3"},
    {"stride too small", kDouble, "stride 16", "stride 12", "R3"},
    {"too few staging registers", kDouble, "register ra[4]", "register ra[2]", "R3"},
    {"a part too few", kSplit, "parts 3", "parts 2", "R3"},
    {"a share of K taken for C", kSplit, " parts 3", "", "R3"},
    {"no elements", kDouble, "each 4x4", "each 0x4", "R4"},
    {"huge loop", "tile 8x8x2 thread 2x2", "loop k = 0 to 2", "loop k = 0 to 999999999", "R4"},
    {"guard removed from a loop", kDirect, "fragment fa = a[i] at k guard",
     "fragment fa = a[i] at k", "R5"},
    {"guard removed from a copy", kDouble, "load ra = a[i] guard", "load ra = a[i]", "R5"},
    {"guard removed from a store", kDouble, "alpha*acc + beta*c guard", "alpha*acc + beta*c", "R5"},
    {"copy ahead without its condition", kDouble, "a[i + 1] when i + 1 < full", "a[i + 1]", "R5"},
    {"fragment of another row", kDouble, "fragment fa = sa[i] at 1", "fragment fa = sa[i] at 2",
     "R6"},
    {"fragment of another slot", kDouble, "fragment fb = sb[i] at 3",
     "fragment fb = sb[i + 1] at 3", "R6"},
    {"copy of another slice", kDouble, "load rb = b[i + 1] when i + 1",
     "load rb = b[i + 2] when i + 2", "R6"},
    {"loop one short", kDouble, "loop i = full to slices", "loop i = full to full", "R6"},
    {"sum over products", kSplit, "  if whole {", "  sum acc = w guard\n  if whole {", "R6"},
    {"sum without a guard", kSplit, "  zero acc\n", "  zero acc\n  sum acc = w\n", "R5"},
    {"never set to zero", kDouble, "  zero acc\n", "", "R6"},
    {"stored twice", kDouble, "  if whole {", "  store c = acc : acc guard\n  if whole {", "R7"},
    {"C read for beta 0", kDouble, "store c = acc : alpha*acc\n",
     "store c = acc : alpha*acc + beta*c\n", "R7"},
    {"barrier dropped before fragments", kDouble, "barrier\n      fragment fa", "fragment fa",
     "R8"},
    {"barrier dropped after a wait", kAsync, "      barrier\n", "", "R8"},
    {"wait one short", kAsync, "wait 1", "wait 2", "R8"},
    {"wait dropped", kAsync, "      wait 1\n", "", "R8"},
    {"commit dropped", kAsync, "      commit\n", "", "R8"},
    {"too few slots", kAsync, "stages 3", "stages 2", "R8"},
    {"barrier dropped before the tail", kDouble, "  barrier\n  loop i = full", "  loop i = full",
     "R9"},
};

TEST(Verifier, CatchesPlantedFaults) {
  for (const Fault& fault : kFaults) {
    const ir::Kernel good = lowered(fault.spec);
    ASSERT_EQ(broken_rule(good), "") << fault.spec;
    std::string text = ir::print(good);
    const size_t at = text.find(fault.from);
    ASSERT_NE(at, std::string::npos) << fault.name << "\n" << text;
    text.replace(at, std::string(fault.from).size(), fault.to);
    const dsl::Result<ir::Kernel> bad = ir::parse({"fault.tile", text});
    ASSERT_TRUE(bad) << fault.name << "\n" << dsl::render(bad.error());
    EXPECT_EQ(broken_rule(*bad), fault.rule) << fault.name << "\n" << text;
  }
}

TEST(Verifier, NamesEachRuleOnce) {
  for (const char* rule : {"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9"}) {
    bool found = false;
    for (const Fault& fault : kFaults) found |= std::string(rule) == fault.rule;
    EXPECT_TRUE(found) << "no kernel breaks " << rule;
  }
}

// The second kernel of `split_k`: the parts' sum is what is stored, whole blocks without guards.
TEST(Verifier, TakesTheSumOfParts) {
  const dsl::Spec spec = spec_of("tile 8x8x2 thread 2x2 split_k 3");
  ir::Kernel kernel = passes::build_sum(spec, dsl::derive(spec, find_target(spec.target)->limits));
  EXPECT_EQ(broken_rule(kernel), "");
  for (const passes::PassInfo& pass : passes::all()) {
    kernel = pass.run(kernel);
    EXPECT_EQ(broken_rule(kernel), "") << pass.name;
  }
  std::string text = ir::print(kernel);
  EXPECT_EQ(ir::print(*ir::parse({"sum.tile", text})), text);
  const std::string sum = "sum acc = w guard";
  ASSERT_NE(text.find(sum), std::string::npos) << text;
  text.replace(text.find(sum), sum.size(), "sum acc = w");
  EXPECT_EQ(broken_rule(*ir::parse({"sum.tile", text})), "R5");
}

// Of `stream_k`: C is stored where a block has all of a tile, its part where it has not; and the
// second kernel sums up the tiles that are in parts, and no others.
TEST(Verifier, TakesStretches) {
  const dsl::Spec spec = spec_of("tile 8x8x2 thread 2x2 stream_k");
  ir::Kernel sum = passes::build_sum(spec, dsl::derive(spec, find_target(spec.target)->limits));
  for (const passes::PassInfo& pass : passes::all()) {
    sum = pass.run(sum);
    EXPECT_EQ(broken_rule(sum), "") << pass.name;
  }
  const std::string main_text = ir::print(lowered("tile 8x8x2 thread 2x2 stream_k"));
  struct Planted {
    std::string text, from, to;
  };
  for (const Planted& planted :
       {Planted{main_text, "store w = acc : acc", "store c = acc : alpha*acc guard"},
        Planted{main_text, "if in_parts {", "if whole {"},
        Planted{ir::print(sum), "if in_parts {", "if 0 < slices {"}}) {
    std::string text = planted.text;
    EXPECT_EQ(ir::print(*ir::parse({"k.tile", text})), text);
    const size_t at = text.find(planted.from);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, planted.from.size(), planted.to);
    const dsl::Result<ir::Kernel> kernel = ir::parse({"k.tile", text});
    ASSERT_TRUE(kernel) << dsl::render(kernel.error());
    EXPECT_EQ(broken_rule(*kernel), "R7") << text;
  }
}

// Not only the lines picked above: whichever barrier or wait of a loop goes, something is broken.
// Between loops the pass may place one too many, since it does not know where the first one ended.
TEST(Verifier, MissesNoBarrierAndNoWait) {
  for (const std::string& spec : kinds()) {
    const std::string text = ir::print(lowered(spec));
    for (const char* word : {"barrier\n", "wait "}) {
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        if (text[at - 1] == '_') continue;  // of a cluster, in no loop
        std::string without = text;
        without.erase(at, text.find('\n', at) - at);
        const dsl::Result<ir::Kernel> kernel = ir::parse({"k.tile", without});
        ASSERT_TRUE(kernel);
        const size_t line = text.rfind('\n', at);
        const bool after_a_loop = text[line - 1] == '}';
        const bool in_a_loop = text.compare(at - 4, 4, "    ") == 0;
        if (in_a_loop && !after_a_loop && broken_rule(*kernel).empty())
          ADD_FAILURE() << spec << ": needless " << word << " at " << at << "\n" << text;
      }
    }
  }
}

}  // namespace
}  // namespace tilec::test
