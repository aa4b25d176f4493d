#include "compiler/sass/listing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sass/support.h"

namespace tilec::sass {
namespace {

TEST(Listing, OwnTextHasNameGuardAndRegisters) {
  const auto text_of = [](Word word) { return own_text(decode(word, 0x10, 90)); };
  EXPECT_EQ(text_of(ffma(3, 4, 5, 255, 1)), "FFMA R3, R4.reuse, R5, RZ");
  EXPECT_EQ(text_of(with_bits(ffma(3, 4, 5, 3), 12, 4, 8 + 2)), "@!P2 FFMA R3, R4, R5, R3");
  EXPECT_EQ(text_of(with_bits(exit_word(), 12, 4, 15)), "@!PT EXIT");
  EXPECT_EQ(text_of(bra(2)), "BRA 0x30");
  EXPECT_EQ(text_of(word_of(0x123)), "unknown 0x123");
  EXPECT_EQ(text_of({0x0000100006047984, 0x000e280000000c00}), "LDS.128 R4, R6");
  EXPECT_EQ(text_of({0x0001003004007986, 0x000fe4000c101d0c}), "STG.128 R4, R48");
}

TEST(Listing, ShowsControlFieldsAndLoops) {
  Kernel kernel{.name = "k", .registers = 9, .lines = {{0, 7, 1}}};
  kernel.words = {iadd3(),
                  with_control(ffma(3, 4, 5, 3), {.stall = 4,
                                                  .yield = false,
                                                  .write_barrier = 2,
                                                  .read_barrier = 0,
                                                  .wait_mask = 0b100010,
                                                  .reuse = 2}),
                  bra(-1, 0), exit_word()};
  const std::string out = list_kernel(kernel, 90, nullptr);
  EXPECT_NE(out.find("// k for sm_90: 4 instructions, 9 registers\n"), std::string::npos) << out;
  EXPECT_NE(out.find("nvdisasm was not found"), std::string::npos) << out;
  EXPECT_NE(out.find("┃ 0010  B-1---5 R0 W2 - S04     7  FFMA R3, R4, R5.reuse, R3\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("┃ 0020  B------ R- W- Y S01     7  @P0 BRA 0x10\n"), std::string::npos)
      << out;
  EXPECT_NE(out.find("  0030  B------"), std::string::npos) << out;
}

TEST(Listing, TakesTheTextWhereThereIsOne) {
  Kernel kernel{.name = "k"};
  kernel.words = {ffma(3, 4, 5, 3), exit_word()};
  const TextKernel text{.name = "k",
                        .lines = {{0, "FFMA.FTZ R3, R4, R5, R3", kernel.words[0]}},
                        .labels = {{".L_x_1", 0}, {".text.k", 0}}};
  const std::string out = list_kernel(kernel, 90, &text);
  EXPECT_NE(out.find(".L_x_1:\n"), std::string::npos) << out;
  EXPECT_EQ(out.find(".text.k"), std::string::npos) << out;
  EXPECT_NE(out.find("FFMA.FTZ R3, R4, R5, R3\n"), std::string::npos) << out;
  EXPECT_NE(out.find("EXIT\n"), std::string::npos) << out;
}

TEST(Listing, OfACubinHasEveryInstruction) {
  const auto out = list_cubin(read_bytes("sgemm_sm_90a.cubin"));
  ASSERT_TRUE(out);
  EXPECT_NE(out->find("// sgemm for sm_90: 720 instructions, 127 registers\n"), std::string::npos);
  EXPECT_GE(std::ranges::count(*out, '\n'), 721);
  EXPECT_FALSE(list_cubin({}));
}

}  // namespace
}  // namespace tilec::sass
