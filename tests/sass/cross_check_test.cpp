#include "compiler/sass/cross_check.h"

#include <gtest/gtest.h>

#include "tests/sass/support.h"

namespace tilec::sass {
namespace {

constexpr std::string_view kListing = R"(
	.target	sm_90a
//--------------------- .text.first --------------------------
	.section	.text.first,"ax",@progbits
first:
.text.first:
        /*0000*/                   LDC R1, c[0x0][0x28] ;            /* 0x00000a00ff017b82 */
                                                                     /* 0x000fe20000000800 */
.L_x_0:
.L_x_1:
        /*0010*/              @!P0 FFMA R3, R4.reuse,  R5, R3 ;      /* 0x0000000504038223 */
                                                                     /* 0x044fe20000000003 */
        /*0020*/                   BRA `(.L_x_1);                    /* 0xfffffffc00f87947 */
                                                                     /* 0x000fc0000383ffff */
	.section	.text.second,"ax",@progbits
        /*0000*/                   NOP;                              /* 0x0000000000007918 */
                                                                     /* 0x000fc00000000000 */
)";

std::vector<Instruction> decoded(const TextKernel& kernel, int machine = 90) {
  std::vector<Instruction> out;
  for (const TextLine& line : kernel.lines) out.push_back(decode(line.word, line.offset, machine));
  return out;
}

TEST(Disassembly, ParsesKernelsLinesAndLabels) {
  const Disassembly text = parse_disassembly(kListing);
  ASSERT_EQ(text.kernels.size(), 2U);
  const TextKernel& kernel = text.kernels[0];
  EXPECT_EQ(kernel.name, "first");
  ASSERT_EQ(kernel.lines.size(), 3U);
  EXPECT_EQ(kernel.lines[1].text, "@!P0 FFMA R3, R4.reuse, R5, R3");
  EXPECT_EQ(kernel.lines[1].offset, 0x10U);
  EXPECT_EQ(kernel.lines[1].word, (Word{0x0000000504038223, 0x044fe20000000003}));
  EXPECT_EQ(kernel.lines[2].text, "BRA `(.L_x_1)");
  ASSERT_EQ(kernel.labels.size(), 3U);  // .text.first among them
  EXPECT_EQ(kernel.labels[2].name, ".L_x_1");
  EXPECT_EQ(kernel.labels[2].offset, 0x10U);
  EXPECT_EQ(text.find("second")->lines[0].text, "NOP");
  EXPECT_EQ(text.find("third"), nullptr);
}

TEST(Disassembly, PassesOverWhatIsNoListing) {
  EXPECT_TRUE(parse_disassembly("").kernels.empty());
  EXPECT_TRUE(parse_disassembly("nvdisasm fatal : not a cubin\n").kernels.empty());
  // A word without its second line, a line before any section.
  EXPECT_TRUE(parse_disassembly("/*0000*/ NOP; /* 0x0000000000007918 */").kernels.empty());
  const Disassembly cut = parse_disassembly(kListing.substr(0, kListing.find("0x000fe2")));
  ASSERT_EQ(cut.kernels.size(), 1U);
  EXPECT_TRUE(cut.kernels[0].lines.empty());
}

TEST(CrossCheck, AgreesOnTheListing) {
  const Disassembly text = parse_disassembly(kListing);
  EXPECT_TRUE(cross_check(decoded(text.kernels[0]), text.kernels[0]).empty());
}

struct Fault {
  const char* what;
  std::string_view from, to;  // in the text
  const char* found;          // in the mismatch
};

TEST(CrossCheck, FindsEachKindOfDisagreement) {
  const Fault faults[] = {
      {"another name", "FFMA", "FMUL", "FMUL in the text, decoded FFMA"},
      {"another register", "R5, R3", "R6, R3", "register 3 is R6, decoded R5"},
      {"a register too few", "R4.reuse,  R5, R3", "R4.reuse,  R5", "register 4: decoded R3"},
      {"a register too many", "R5, R3", "R5, R3, R9", "5 registers in the text, 4 decoded"},
      {"no reuse", "R4.reuse", "R4", "reuse 0x0 in the text, decoded 0x1"},
      {"reuse elsewhere", "R4.reuse,  R5", "R4, R5.reuse", "reuse 0x2 in the text, decoded 0x1"},
      {"another guard", "@!P0", "@P0", "the guards differ"},
      {"no guard", "@!P0 ", "", "the guards differ"},
      {"another target", ".L_x_0:\n.L_x_1:\n        /*0010*/", "        /*0010*/", ""},
      {"another word", "0x0000000504038223", "0x0000000604038223", "the words differ"},
  };
  const Disassembly right = parse_disassembly(kListing);
  const std::vector<Instruction> ours = decoded(right.kernels[0]);
  for (const Fault& fault : faults) {
    std::string listing(kListing);
    const size_t at = listing.find(fault.from);
    ASSERT_NE(at, std::string::npos) << fault.what;
    listing.replace(at, fault.from.size(), fault.to);
    const std::vector<Mismatch> found = cross_check(ours, parse_disassembly(listing).kernels.at(0));
    if (*fault.found == '\0') {  // a label that is not there cannot disagree
      EXPECT_TRUE(found.empty()) << fault.what;
      continue;
    }
    ASSERT_EQ(found.size(), 1U) << fault.what;
    EXPECT_NE(found[0].what.find(fault.found), std::string::npos)
        << fault.what << ": " << found[0].what;
    EXPECT_EQ(found[0].offset, 0x10U);
  }
}

TEST(CrossCheck, TargetsAreCompared) {
  std::string listing(kListing);
  const size_t label = listing.find(".L_x_1:\n");
  listing.erase(label, 8);
  listing.insert(listing.find("        /*0020*/"), ".L_x_1:\n");
  const Disassembly right = parse_disassembly(kListing);
  const std::vector<Mismatch> found =
      cross_check(decoded(right.kernels[0]), parse_disassembly(listing).kernels.at(0));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "target 0x20 in the text, decoded 0x10");
}

TEST(CrossCheck, AnInstructionWithoutTextIsAMismatch) {
  Disassembly text = parse_disassembly(kListing);
  const std::vector<Instruction> ours = decoded(text.kernels[0]);
  text.kernels[0].lines.erase(text.kernels[0].lines.begin() + 1);
  const std::vector<Mismatch> found = cross_check(ours, text.kernels[0]);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "not in the text");
}

// The rest needs nvdisasm and is skipped where it is not found.
class WithNvdisasm : public testing::Test {
 protected:
  void SetUp() override {
    tool = find_nvdisasm();
    if (!tool) GTEST_SKIP() << "nvdisasm was not found";
  }
  std::optional<std::string> tool;
};

TEST_F(WithNvdisasm, AgreesOnWholeKernels) {
  for (const std::string& target : data_targets()) {
    const std::vector<uint8_t> bytes = read_bytes("sgemm_" + target + ".cubin");
    const auto cubin = read_cubin(bytes);
    const auto text = disassemble(bytes, *tool);
    ASSERT_TRUE(cubin && text) << target;
    const Kernel& kernel = cubin->kernels[0];
    const TextKernel* lines = text->find(kernel.name);
    ASSERT_NE(lines, nullptr);
    EXPECT_EQ(lines->lines.size(), kernel.words.size());
    for (const Mismatch& mismatch : cross_check(decode_all(kernel.words, cubin->sm), *lines))
      ADD_FAILURE() << target << " " << mismatch.offset << " " << mismatch.text << ": "
                    << mismatch.what;
  }
}

TEST_F(WithNvdisasm, SaysWhyItFailed) {
  const std::vector<uint8_t> junk = {1, 2, 3};
  const auto text = disassemble(junk, *tool);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().road, dsl::Road::machine);
  EXPECT_EQ(text.error().diagnostics[0].code, "nvdisasm-failed");
  EXPECT_NE(text.error().diagnostics[0].message.find("nvdisasm"), std::string::npos);
}

TEST(Disassembly, AToolThatIsNotThereIsAnError) {
  const auto text = disassemble(read_bytes("sgemm_sm_80.cubin"), "/nonexistent/nvdisasm");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().diagnostics[0].code, "nvdisasm-failed");
}

}  // namespace
}  // namespace tilec::sass
