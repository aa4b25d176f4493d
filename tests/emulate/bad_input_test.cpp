// Every way of being wrong that a user of `tilec emulate` may find: a clear message, with line and
// column where there is one, the exit code, nothing on standard output and no file left behind.
#include <set>

#include "tests/emulate/support.h"
#include "tools/emulate_arguments.h"

namespace tilec {
namespace {

struct Bad {
  std::string what;
  std::string ptx;
  std::vector<std::string> more;  // after FILE --grid 1 --block 32
  int code;
  std::string says;  // part of standard error
};

const std::string kGood = module_of(".param .u32 n, .param .f32 a, .param .u64 out",
                                    "ld.param.u64 %rd1, [out]; mov.u32 %r1, 1;"
                                    "st.global.u32 [%rd1], %r1;");
const std::vector<std::string> kArguments = {"--arg", "1", "--arg", "1.5", "--arg", "u32:1"};

std::vector<std::string> with(const std::vector<std::string>& more) {
  std::vector<std::string> words = kArguments;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> arguments(const std::string& n, const std::string& a,
                                   const std::string& out) {
  return {"--arg", n, "--arg", a, "--arg", out};
}

/// Faults of the text alone.
std::vector<Bad> texts() {
  const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
  return {
      {"empty", "", {}, 1, ":1:1: error: "},
      {"binary",
       std::string("\x7f"
                   "ELF\0\1\2",
                   7),
       {},
       1,
       ":1:1: error: "},
      {"truncated in a body", kGood.substr(0, kGood.size() - 3), kArguments, 1, "[ptx-truncated]"},
      {"truncated in a word", kGood.substr(0, kGood.size() / 2), kArguments, 1, ": error: "},
      {"no version", ".target sm_90\n.visible .entry k() { ret; }", {}, 1, ":1:1: error: "},
      {"another version",
       ".version 1.0\n.target sm_90\n",
       {},
       1,
       ":1:10: error: PTX version `1.0`"},
      {"no target", ".version 8.0\n.visible .entry k() { ret; }", {}, 1, "[ptx-target]"},
      {"another target", ".version 8.0\n.target gfx90a\n", {}, 1, ":2:9: error: "},
      {"32 bits", ".version 8.0\n.target sm_90\n.address_size 32\n", {}, 1, ":3:15: error: "},
      {"an entry twice", kGood + ".visible .entry k() { ret; }\n", kArguments, 1,
       "[ptx-duplicate-name]"},
      {"no entry", head, {}, 1, "the file has no entry"},
      {"a label twice",
       module_of("", "L: add.u32 %r1, %r1, 1;\nL: ret;"),
       {},
       1,
       ":13:1: error: label `L` stands twice"},
      {"a label that is not there",
       module_of("", "bra NOWHERE;"),
       {},
       1,
       ":12:5: error: no label `NOWHERE`"},
      {"an undeclared register", module_of("", "add.u32 %r1, %q, 1;"), {}, 1, ":12:14: error: "},
      {"an undeclared variable", module_of("", "mov.u32 %r1, nothing;"), {}, 1, ":12:14: error: "},
      {"another type", module_of("", "add.u32 %rd1, %rd2, 1;"), {}, 1, "[ptx-type-mismatch]"},
      {"an unknown instruction", module_of("", "frobnicate.u32 %r1, 2;"), {}, 1, ":12:1: error: "},
      {"several faults at once",
       module_of("", "add.u32 %rd1, %r2, 1;\nbra L;\nfoo.b32 %r1;"),
       {},
       1,
       ":14:1: error: "},
  };
}

/// Faults of arguments, files and options.
std::vector<Bad> calls(const Folder& folder) {
  const ElementType& f32 = *find_element_type("f32");
  const auto elements = fill_elements(f32, 8, {.kind = Filling::Kind::index});
  const std::string npy = write_npy(f32, {2, 4}, elements);
  folder.write("f32.npy", npy);
  folder.write("cut.npy", npy.substr(0, npy.size() - 5));
  folder.write("no.npy", "not an array");
  folder.write("bf16.npy",
               write_npy(*find_element_type("bf16"), {4}, std::span(elements).subspan(0, 8)));
  const std::string at = folder.path();
  const auto out = [&](const std::string& word) { return arguments("1", "1", word); };
  return {
      {"too few arguments",
       kGood,
       {"--arg", "1"},
       1,
       "1 argument for 3 parameters [emulate-argument-count]\n  help: one --arg each for n .u32, a "
       ".f32, out .u64"},
      {"too many arguments", kGood, with({"--arg", "7"}), 1, "4 arguments for 3 parameters"},
      {"arguments of a kernel without",
       module_of("", ""),
       {"--arg", "7"},
       1,
       "the kernel takes none"},
      {"a word for a number", kGood, arguments("many", "1", "u32:1"), 1,
       "argument 0 (`n`): `many` is no .u32 [emulate-number]"},
      {"a float for an integer", kGood, arguments("1.5", "1", "u32:1"), 1, "`1.5` is no .u32"},
      {"a negative for an unsigned", kGood, arguments("-1", "1", "u32:1"), 1, "`-1` is no .u32"},
      {"too large a number", kGood, arguments("4294967296", "1", "u32:1"), 1,
       "`4294967296` is no .u32"},
      {"too large a float", kGood, arguments("1", "1e99", "u32:1"), 1, "`1e99` is no .f32"},
      {"several numbers for one", kGood, arguments("1,2", "1", "u32:1"), 1,
       "`1,2` has 8 bytes; a .u32 has 4"},
      {"a type that is none", kGood, arguments("f33=1", "1", "u32:1"), 1, "`f33` is no type"},
      {"too few of an array",
       module_of(".param .align 4 .b8 p[8]", ""),
       {"--arg", "1,2,3"},
       1,
       "has 3 bytes; a .b8[8] has 8"},
      {"a buffer for a number", kGood, arguments("f32:8", "1", "u32:1"), 1,
       "`f32:8` is a buffer; a .u32 takes a number [emulate-argument-kind]"},
      {"a file for a number", kGood, arguments("x.npy", "1", "u32:1"), 1, "is a buffer"},
      {"two faults in one go", kGood, arguments("x", "y", "u32:1"), 1,
       "argument 1 (`a`): `y` is no .f32"},
      {"no extent", kGood, out("u32:"), 1, "`` is no number of elements"},
      {"a negative extent", kGood, out("u32:-4"), 1, "`-4` is no number of elements"},
      {"a broken extent", kGood, out("u32:4x"), 1, "`4x` is no number of elements"},
      {"an absurd extent", kGood, out("u32:99999999999x8"), 1, "are more than"},
      {"extents past 2^64", kGood, out("u32:99999999999999999999999"), 1, "is no number of"},
      {"contents that are none", kGood, out("u32:4=randon:1"), 1,
       "`randon` is nothing that a buffer can hold; did you mean random?"},
      {"no seed", kGood, out("u32:4=random"), 1, "random wants random:SEED"},
      {"a seed that is none", kGood, out("u32:4=random:x"), 1, "`x` is no seed"},
      {"a seed for zeros", kGood, out("u32:4=zero:1"), 1, "zero takes nothing"},
      {"a filling that does not fit", kGood, out("u8:4=fill:256"), 1, "`256` is no .u8"},
      {"no such file", kGood, out(at + "/none.npy"), 1, "[missing-file]"},
      {"a folder", kGood, out("u32:4=" + at + "/folder.npy"), 1, "[unreadable-file]"},
      {"no .npy file", kGood, out(at + "/no.npy"), 1, "[npy-not-npy]"},
      {"a cut .npy file", kGood, out(at + "/cut.npy"), 1, "[npy-truncated]"},
      {"a .npy file of another type", kGood, out("s32:8=" + at + "/f32.npy"), 1,
       "elements of type <f4, where .s32 are wanted [emulate-file]"},
      {"a .npy file of another size", kGood, out("f32:9=" + at + "/f32.npy"), 1,
       "an array of 2x4, where 9 elements are wanted [emulate-file]"},
      {"a .npy file of another shape", kGood, out("f32:4x2=" + at + "/f32.npy"), 1,
       "an array of 2x4, where 4x2 elements are wanted"},
      {"a .npy file of no certain type", kGood, out(at + "/bf16.npy"), 1, "as in bf16:4="},
      {"an entry that is not there", kGood, with({"--entry", "other"}), 1,
       "no entry `other` [launch-no-entry]\n  help: there is: k"},
      {"no entry named", kGood + ".visible .entry l() { ret; }\n", kArguments, 1,
       "name one with --entry [emulate-entry]"},
      {"--out of a number", kGood, with({"--out", "0=" + at + "/y.npy"}), 1,
       "--out `0`: there is no such buffer [emulate-no-buffer]\n  help: there are 2 (out)"},
      {"--out of no argument", kGood, with({"--out", "9=" + at + "/y.npy"}), 1, "--out `9`"},
      {"--out of no name", kGood, with({"--out", "y=" + at + "/y.npy"}), 1, "--out `y`"},
      {"--expect without a file", kGood, with({"--expect", "out=" + at + "/none.npy"}), 1,
       "[missing-file]"},
      {"--expect of another type", kGood, with({"--expect", "out=" + at + "/f32.npy"}), 1,
       "[emulate-file]"},
      {"--shared over the limit", kGood, with({"--shared", "300000"}), 1, "[launch-shared]"},
      {"--shared far over the limit", kGood, with({"--shared", "18446744073709551615"}), 1,
       "[launch-shared]"},
  };
}

void check(const Bad& bad, const Folder& folder) {
  folder.write("k.ptx", bad.ptx);
  const std::vector<std::string> before = folder.names();
  std::vector<std::string> words = emulate_words(folder.path("k.ptx"), bad.more);
  words.insert(words.end(), {"--out", "out=" + folder.path("result.npy")});
  const Outcome outcome = tilec(words);
  EXPECT_EQ(outcome.code, bad.code) << bad.what << "\n" << outcome.err;
  EXPECT_NE(outcome.err.find(bad.says), std::string::npos) << bad.what << "\n" << outcome.err;
  EXPECT_EQ(outcome.out, "") << bad.what;
  EXPECT_EQ(folder.names(), before) << bad.what;
}

TEST(BadInput, OfTexts) {
  Folder folder;
  for (const Bad& bad : texts()) check(bad, folder);
}

TEST(BadInput, OfCalls) {
  Folder folder;
  std::filesystem::create_directory(folder.path("folder.npy"));
  std::string all;
  for (const Bad& bad : calls(folder)) {
    check(bad, folder);
    all += bad.says;
  }
  for (std::string_view code : kEmulateCodes) {
    if (code == "emulate-buffer") continue;  // its messages are looked for, not its code
    EXPECT_NE(all.find(code), std::string::npos) << code;
  }
}

// The text is read whole first, so a fault has its place however far down it stands.
TEST(BadInput, HasItsLineInAFileOfManyLines) {
  Folder folder;
  std::string body;
  for (int i = 0; i < 5000; ++i) body += "add.u32 %r1, %r1, 1;\n";
  check({"line 5012", module_of("", body + "bra L;"), {}, 1, "k.ptx:5012:5: error: "}, folder);
}

TEST(BadInput, GridsAndBlocks) {
  struct Case {
    const char* grid;
    const char* block;
    int code;
    const char* says;
  };
  Folder folder;
  folder.write("k.ptx", module_of("", ""));
  for (const Case& c : {
           Case{"0", "32", 1, "grid 0x1x1"},
           Case{"1", "0", 1, "block 0x1x1"},
           Case{"1,1,0", "32", 1, "[launch-grid]"},
           Case{"1,65536", "32", 1, "[launch-grid]"},
           Case{"4294967296", "32", 1, "grid 4294967296,1,1"},
           Case{"1", "1025", 1, "[launch-block]"},
           Case{"1", "32,33", 1, "1056 threads"},
           Case{"1", "1,1,65", 1, "[launch-block]"},
           Case{"1", "99999999999", 1, "block 99999999999,1,1"},
           Case{"x", "32", 2, "--grid wants X, X,Y or X,Y,Z, not `x`"},
           Case{"1,", "32", 2, "not `1,`"},
           Case{"1,2,3,4", "32", 2, "not `1,2,3,4`"},
           Case{"1", "-32", 2, ""},
           Case{"1", "32.5", 2, "not `32.5`"},
           Case{"99999999999999999999", "32", 2, "--grid wants"},
       }) {
    const Outcome outcome =
        tilec({"emulate", folder.path("k.ptx"), "--grid", c.grid, "--block", c.block});
    EXPECT_EQ(outcome.code, c.code) << c.grid << " " << c.block << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(c.says), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(BadInput, CommandLines) {
  Folder folder;
  folder.write("k.ptx", kGood);
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--out", "result.npy"},
                                             {"--out", "=result.npy"},
                                             {"--out", "out="},
                                             {"--expect", "x"},
                                             {"--schedule", "random"},
                                             {"--schedule", "random:"},
                                             {"--schedule", "random:x"},
                                             {"--schedule", "7"},
                                             {"--max-instructions", "0"},
                                             {"--max-instructions", "-1"},
                                             {"--checks", "some"},
                                             {"--device", "tpu"},
                                             {"--device", "gpu", "--counters"},
                                             {"--device", "gpu", "--schedule", "random:1"},
                                             {"--within", "1"},
                                             {"--unit", "0"},
                                             {"--within", "-1", "--expect", "out=x.npy"},
                                             {"--shared", "-1"},
                                             {"--nonsense"}}) {
    const Outcome outcome = tilec(emulate_words(folder.path("k.ptx"), with(more)));
    EXPECT_EQ(outcome.code, 2) << more[0] << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("tilec emulate"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(tilec({"emulate"}).code, 2);
  EXPECT_EQ(tilec({"emulate", folder.path("k.ptx")}).code, 2);
  EXPECT_EQ(tilec(emulate_words(folder.path("none.ptx"), {})).code, 1);
  EXPECT_EQ(tilec(emulate_words(folder.path(), {})).code, 1);
}

// An endless loop is given up: the machine's end, with its line; what was stored is not kept.
TEST(BadInput, AnEndlessLoop) {
  Folder folder;
  folder.write("k.ptx",
               module_of(".param .u64 out", "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1;\nbra L;"));
  const std::vector<std::string> words =
      emulate_words(folder.path("k.ptx"), {"--arg", "u32:1", "--max-instructions", "100000",
                                           "--json", "--out", "0=" + folder.path("result.npy")});
  const Outcome outcome = tilec(words);
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("k.ptx:12:1: machine error: k: the kernel runs too long"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("raise --max-instructions"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("\"ptx-too-long\""), std::string::npos) << outcome.out;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"k.ptx"});
}

TEST(BadInput, AProgramIsNoPtx) {
  const Outcome outcome = tilec(emulate_words(TILEC_BINARY, {}));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace tilec
