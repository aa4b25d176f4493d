// Every diagnostic, provoked, with its place; and that none of the table is missing here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/ptx/diagnostics.h"
#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

struct Refusal {
  std::string code;
  std::string text;  // of the module, or of a body where it starts with a space
  std::string at;    // the text under the caret
  std::string says;  // part of the message
};

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> kAll = {
      {"ptx-not-text",
       "\x7f"
       "ELF\x02\x01",
       "\x7f", "byte 0x7f"},
      {"ptx-not-text", " add.u32 %r2, %r1, `1;", "`", "byte 0x60"},
      {"ptx-truncated", ".version 8.0\n.target sm_90\n.entry k() { ret;", "", "found the end"},
      {"ptx-truncated", ".version 8.0\n.target sm_90\n/* open", "/", "no end"},
      {"ptx-truncated", ".version 8.0\n.target sm_90\n.entry k(", "", "found the end"},
      {"ptx-syntax", " add.u32 %r2 %r1, 1;", "%r1", "expected `;`, found `%r1`"},
      {"ptx-syntax", " add.u32 %r2, %r1, ;", ";", "expected a number"},
      {"ptx-syntax", " ld.global.b32 %r2, [];", ";", "expected an address"},
      {"ptx-number", " add.u32 %r2, %r1, 99999999999999999999;", "99999999999999999999",
       "not an integer of at most 64 bits"},
      {"ptx-number", " add.u32 %r2, %r1, 0xZZ;", "0xZZ", "not an integer"},
      {"ptx-version", ".target sm_90\n.entry k() { ret; }", ".target", "begins with `.version`"},
      {"ptx-version", ".version 1.4\n.target sm_90\n", "1.4", "PTX version `1.4`"},
      {"ptx-target", ".version 8.0\n.entry k() { ret; }", ".entry", "`.target` has to follow"},
      {"ptx-target", ".version 8.0\n.target gfx90a\n", "gfx90a", "not of the form sm_NN"},
      {"ptx-address-size", ".version 8.0\n.target sm_90\n.address_size 32\n", "32", "32 bits"},
      {"ptx-unknown-directive", ".version 8.0\n.target sm_90\n.wobble x;\n", ".wobble",
       "not known"},
      {"ptx-unknown-directive", " .wobble x;", ".wobble", "not known in a function"},
      {"ptx-unsupported", " .reg .b128 %q;", "%q", "do not run here"},
      {"ptx-duplicate-name", " .reg .b32 x, x;", "x", "declared twice"},
      {"ptx-duplicate-name", " .shared .b32 s;\n.shared .b32 s;", "s", "`s` is declared twice"},
      {"ptx-duplicate-name",
       ".version 8.0\n.target sm_90\n.entry k() { ret; }\n.entry k() { ret; }", "k",
       "stands twice"},
      {"ptx-duplicate-label", " L:\nL:", "L", "label `L` stands twice"},
      {"ptx-missing-label", " bra NOWHERE;", "NOWHERE", "no label `NOWHERE` here"},
      {"ptx-missing-label", " { L: }\nbra L;", "L", "no label `L` here"},
      {"ptx-undeclared-register", " add.u32 %r2, %r99, 1;", "%r99", "`%r99` is not declared"},
      {"ptx-undeclared-register", " add.u32 %x, %r1, 1;", "%x", "not a declared register"},
      {"ptx-undeclared-register", " @%q bra L;\nL:", "bra", "guard `%q`"},
      {"ptx-undeclared-name", " ld.global.b32 %r2, [nothing];", "nothing",
       "`nothing` is not declared"},
      {"ptx-too-large", " .reg .b32 %z<99999999>;", "%z", "99999999 registers"},
      {"ptx-too-large", " .shared .b8 huge[9999999999999];", "huge", "more than"},
      {"ptx-too-large", " .shared .b8 large[2000000];", "large", "bytes of shared memory"},
      {"ptx-alignment", " .shared .align 3 .b8 s[4];", "3", "3 is not a power of two"},
      {"ptx-initialiser", ".version 8.0\n.target sm_90\n.global .b32 g[2] = {1, 2, 3};\n", "g",
       "3 values for the 2 elements"},
      {"ptx-reqntid", ".version 8.0\n.target sm_90\n.entry k() .reqntid 2048 { ret; }", "2048",
       "1 to 1024"},
      {"ptx-unknown-instruction", " frobnicate.b32 %r2, %r1;", "frobnicate.b32",
       "`frobnicate.b32` is not known"},
      {"ptx-bad-modifier", " add.wobble.u32 %r2, %r1, 1;", "add.wobble.u32", "not a form of add"},
      {"ptx-bad-modifier", " ld.global.wobble.b32 %r2, [%rd1];", "ld.global.wobble.b32",
       "`.wobble` is no modifier of ld"},
      {"ptx-bad-modifier", " setp.about.u32 %p1, %r1, 1;", "setp.about.u32", "not a comparison"},
      {"ptx-operand-count", " add.u32 %r2, %r1;", "add.u32", "has 3 operands, here 2"},
      {"ptx-bad-operand", " add.u32 %r2, [%rd1], 1;", "[%rd1]", "a register or a number"},
      {"ptx-bad-operand", " ld.global.b32 %r2, %rd1;", "%rd1", "an address in brackets"},
      {"ptx-bad-operand", " ld.global.v2.b32 {%r2}, [%rd1];", "{%r2}",
       "1 registers for 2 elements"},
      {"ptx-bad-operand", " add.u32 5, %r1, 1;", "5", "a result goes to a register"},
      {"ptx-type-mismatch", " add.u32 %r2, %rd1, 1;", "%rd1", "`%rd1` is .b64 where .u32"},
      {"ptx-type-mismatch", " add.u32 %r2, %f1, 1;", "%f1", "`%f1` is .f32 where .u32"},
      {"ptx-type-mismatch", " add.f32 %f2, %f1, 1;", "1", "an integer where .f32"},
      {"ptx-type-mismatch", " add.u32 %r2, %r1, 0f3f800000;", "0f3f800000", "a real number"},
      {"ptx-type-mismatch", " ld.global.b64 %r2, [%rd1];", "%r2", "`%r2` is .b32 where .b64"},
      {"ptx-bad-guard", " @%r1 add.u32 %r2, %r1, 1;", "add.u32", "guard `%r1`"},
      {"ptx-state-space", " .shared .b32 s;\nld.global.b32 %r2, [s];", "[s]",
       "`s` lies in .shared, the instruction goes to .global"},
      {"ptx-call",
       ".version 8.0\n.target sm_90\n.func f(.reg .b32 a) { ret; }\n"
       ".entry k() { call f, (); }",
       "()", "0 arguments where the function has 1"},
      {"ptx-recursion",
       ".version 8.0\n.target sm_90\n.func f() { call f; }\n"
       ".entry k() { call f; }",
       "f", "call themselves"},
      {"ptx-unsupported", ".version 8.0\n.target sm_90\n.func f();\n.entry k() { call f; }", "f",
       "has no body"},
  };
  return kAll;
}

TEST(Refusals, NameTheirPlace) {
  for (const Refusal& refusal : refusals()) {
    const std::string text = refusal.text[0] == ' ' ? kernel(refusal.text) : refusal.text;
    const auto module = parse({"t.ptx", text});
    ASSERT_FALSE(module) << refusal.text;
    const dsl::Error& error = module.error();
    EXPECT_EQ(error.road, dsl::Road::user);
    const dsl::Diagnostic& first = error.diagnostics[0];
    EXPECT_EQ(first.code, refusal.code) << refusal.text << "\n" << dsl::render(error);
    EXPECT_NE(first.message.find(refusal.says), std::string::npos) << dsl::render(error);
    EXPECT_EQ(text.substr(first.span.begin, first.span.end - first.span.begin), refusal.at)
        << dsl::render(error);
  }
}

TEST(Refusals, ComeTogether) {
  const auto module = parse({"t.ptx", kernel("add.u32 %r2, %q, 1;\nbogus %r1;\nbra L;")});
  ASSERT_FALSE(module);
  ASSERT_EQ(module.error().diagnostics.size(), 3u);
  EXPECT_NE(dsl::render(module.error()).find("t.ptx:"), std::string::npos);
}

struct LaunchRefusal {
  std::string code;
  std::string says;
  LaunchConfig config;
  std::vector<Argument> arguments{uint64_t{0}, uint32_t{1}, 1.0f};
  std::string entry = "k";
};

const std::vector<LaunchRefusal>& launch_refusals() {
  static const std::vector<LaunchRefusal> kAll = {
      {"launch-no-entry", "no entry `x`", {}, {}, "x"},
      {"launch-argument-count", "2 arguments for the 3 parameters", {}, {uint64_t{0}, uint32_t{1}}},
      {"launch-argument-type",
       "argument 1 is an integer of 4 bytes",
       {},
       {uint32_t{0}, uint32_t{1}, 1.0f}},
      {"launch-argument-type",
       "argument 3 is an integer of 4 bytes; `c` is .f32",
       {},
       {uint64_t{0}, uint32_t{1}, int32_t{1}}},
      {"launch-argument-type", "argument 2 is a float", {}, {uint64_t{0}, 1.0f, 1.0f}},
      {"launch-grid", "grid 0x1x1", {.grid = {0, 1, 1}}},
      {"launch-grid", "grid 1x70000x1", {.grid = {1, 70000, 1}}},
      {"launch-block", "block 32x0x1", {.block = {32, 0, 1}}},
      {"launch-block", "2048 threads; at most 1024", {.block = {64, 32, 1}}},
      {"launch-block", "block 1x1x65", {.block = {1, 1, 65}}},
      {"launch-bounds", "at most 256 threads", {.block = {512, 1, 1}}},
      {"launch-bounds", "blocks of 64x1x1 (.reqntid), not 32x1x1", {.block = {32, 1, 1}}, {}, "r"},
      {"launch-shared",
       "64 bytes of static and 300000 of dynamic",
       {.dynamic_shared_bytes = 300000}},
      {"launch-shared", "-1 of dynamic", {.dynamic_shared_bytes = -1}},
      {"launch-config", "have to be positive", {.threads = -1}},
  };
  return kAll;
}

TEST(Refusals, OfLaunches) {
  const auto module = parse_or_fail(R"(.version 8.0
.target sm_90
.address_size 64
.entry k(.param .u64 a, .param .u32 b, .param .f32 c) .maxntid 256
{ .shared .b8 s[64]; .reg .b32 %r; mov.u32 %r, s; ret; }
.entry r() .reqntid 64 { ret; }
)");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->entries(), (std::vector<std::string>{"k", "r"}));
  EXPECT_EQ(module->parameters("k")[2].type, "f32");
  for (const LaunchRefusal& refusal : launch_refusals()) {
    Memory memory;
    const auto result = launch(*module, refusal.entry, refusal.config, refusal.arguments, memory);
    ASSERT_FALSE(result) << refusal.says;
    EXPECT_EQ(result.error().diagnostics[0].code, refusal.code);
    EXPECT_EQ(result.error().road, dsl::Road::user);
    EXPECT_NE(result.error().diagnostics[0].message.find(refusal.says), std::string::npos)
        << result.error().diagnostics[0].message;
  }
}

TEST(Refusals, CoverTheTable) {
  std::set<std::string, std::less<>> seen;
  for (const Refusal& refusal : refusals()) seen.insert(refusal.code);
  for (const LaunchRefusal& refusal : launch_refusals()) seen.insert(refusal.code);
  for (std::string_view code : kDiagnosticCodes) EXPECT_TRUE(seen.contains(code)) << code;
  EXPECT_EQ(seen.size(), kDiagnosticCodes.size());
}

}  // namespace
}  // namespace tilec::ptx::test
