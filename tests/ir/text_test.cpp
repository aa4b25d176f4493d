// print and parse are each other's inverse, and parse says what is wrong.
#include "tests/ir/support.h"

namespace tilec::test {
namespace {

TEST(TileIrText, ParsesBackWhatItPrints) {
  for (const std::string& spec : kinds()) {
    ir::Kernel kernel = built(spec);
    for (const passes::PassInfo& pass : passes::all()) {
      const std::string text = ir::print(kernel);
      const dsl::Result<ir::Kernel> parsed = ir::parse({"k.tile", text});
      ASSERT_TRUE(parsed) << dsl::render(parsed.error()) << text;
      EXPECT_EQ(*parsed, kernel) << "before " << pass.name << "\n" << text;
      EXPECT_EQ(ir::print(*parsed), text);
      kernel = pass.run(kernel);
    }
  }
}

TEST(TileIrText, FirstOpStandsOnTheLineThatIsSaid) {
  for (const std::string& spec : kinds()) {
    const ir::Kernel kernel = lowered(spec);
    const dsl::Source source{"k.tile", ir::print(kernel)};
    EXPECT_EQ(source.line(ir::first_op_line(kernel)), "  zero acc");
  }
}

struct Bad {
  const char* from;  // in a good kernel
  const char* to;
  const char* message;
};

TEST(TileIrText, SaysWhatIsWrong) {
  const std::string good = ir::print(built("tile 8x8x2 thread 2x2"));
  const Bad cases[] = {
      {"kernel gemm", "colonel gemm", "expected `kernel`, found `colonel`"},
      {"block 8x8x2", "block 8x8", "expected `x` and the slice of K, found `raster`"},
      {"raster rows", "raster circles", "expected `swizzle`, found `circles`"},
      {"zero acc", "zero", "no storage is named `loop`"},
      {"zero acc", "zero akk", "no storage is named `akk`"},
      {"zero acc", "nought acc", "unknown op `nought`"},
      {"loop k = 0 to 2", "loop k = 0 to two",
       "expected a bound: a number, `full` or `slices`, found `two`"},
      {"outer acc += fa * fb", "outer acc = fa * fb", "expected `+=`, found `=`"},
      {"alpha*acc", "gamma*acc", "gamma"},
      {"vector 2", "vector 99999999999", "expected elements per access"},
      {"register fa", "register fb", "storage `fb` is declared twice"},
  };
  for (const Bad& bad : cases) {
    std::string text = good;
    const size_t at = text.find(bad.from);
    ASSERT_NE(at, std::string::npos) << bad.from << "\n" << good;
    text.replace(at, std::string(bad.from).size(), bad.to);
    const dsl::Result<ir::Kernel> parsed = ir::parse({"k.tile", text});
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(dsl::render(parsed.error()).find(bad.message), std::string::npos)
        << bad.to << ": " << dsl::render(parsed.error());
  }
}

// Any prefix of a kernel, and any kernel with a line gone, is read or refused; nothing else.
TEST(TileIrText, SurvivesDamage) {
  const std::string good = ir::print(lowered("tile 16x16x4 thread 4x4 stages 2"));
  for (size_t length = 0; length < good.size(); length += 7)
    EXPECT_FALSE(ir::parse({"k.tile", good.substr(0, length)}));
  for (size_t at = 0; at < good.size(); at = good.find('\n', at) + 1) {
    std::string text = good;
    text.erase(at, good.find('\n', at) + 1 - at);
    if (const dsl::Result<ir::Kernel> parsed = ir::parse({"k.tile", text}); parsed)
      (void)ir::verify(*parsed);
  }
  EXPECT_FALSE(ir::parse({"k.tile", std::string("kernel\0gemm", 11)}));
  std::string deep = good.substr(0, good.find("  zero acc"));
  for (int i = 0; i < 10000; ++i) deep += "if whole { ";
  EXPECT_FALSE(ir::parse({"k.tile", deep}));
}

}  // namespace
}  // namespace tilec::test
