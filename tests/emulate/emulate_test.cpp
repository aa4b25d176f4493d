// `tilec emulate`, as a user types it: arguments, results, counters, schedules, comparisons.
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/emulate/support.h"

namespace tilec {
namespace {

using nlohmann::json;

TEST(Emulate, RunsTheExampleOfItsHelp) {
  const std::string help = tilec({"emulate", "--help"}).out;
  const size_t begin = help.find("  tilec emulate", help.find("\nExample:\n"));
  ASSERT_NE(begin, std::string::npos) << help;
  std::vector<std::string> words;
  std::istringstream line(help.substr(begin + 8, help.find('\n', begin) - begin - 8));
  for (std::string word; line >> word;) words.push_back(word);
  Folder folder;
  words[1] = kAxpy;
  words.back() = "y=" + folder.path("y.npy");
  const Outcome outcome = tilec(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(elements_of<float>(folder.read("y.npy")).size(), 1000U);
}

TEST(Emulate, WritesWhatTheKernelStored) {
  Folder folder;
  const Outcome outcome = tilec(axpy_words({"--out", "3=" + folder.path("y.npy")}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("findings   none"), std::string::npos) << outcome.out;
  const std::vector<float> y = elements_of<float>(folder.read("y.npy"));
  ASSERT_EQ(y.size(), 100U);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(y[i], 2 * static_cast<float>(i) + 1);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"y.npy"});
}

TEST(Emulate, ReadsArraysAndKeepsTheirShape) {
  Folder folder;
  const ElementType& f32 = *find_element_type("f32");
  const auto x = fill_elements(f32, 100, {.kind = Filling::Kind::index});
  folder.write("x.npy", write_npy(f32, {4, 25}, x));
  for (const std::string& word : {folder.path("x.npy"), "f32:100=" + folder.path("x.npy"),
                                  "f32:4x25=" + folder.path("x.npy")}) {
    const Outcome outcome = tilec(emulate_words(
        kAxpy,
        {"--arg", "100", "--arg", "1", "--arg", word, "--arg", "f32:4x25=zero", "--out",
         "y=" + folder.path("new/y.npy"), "--out", "x=" + folder.path("x2.npy")},
        "128"));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto y = read_npy("y", folder.read("new/y.npy"));
    ASSERT_TRUE(y);
    EXPECT_EQ(y->shape, (std::vector<int64_t>{4, 25}));
    EXPECT_EQ(y->data, x);
    EXPECT_EQ(elements_of<float>(folder.read("x2.npy")), elements_of<float>(folder.read("x.npy")));
  }
}

// Each parameter's bytes come out as they went in.
TEST(Emulate, NumbersOfEveryType) {
  struct Case {
    const char* parameter;
    const char* word;
    const char* load;  // into %r1, from [p]
    uint32_t bits;
  };
  for (const Case& c : {
           Case{".u32 p", "42", "ld.param.u32 %r1, [p];", 42},
           Case{".s32 p", "-42", "ld.param.u32 %r1, [p];", 0xFFFFFFD6},
           Case{".b32 p", "-1", "ld.param.u32 %r1, [p];", 0xFFFFFFFF},
           Case{".b32 p", "0xff", "ld.param.u32 %r1, [p];", 255},
           Case{".b32 p", "1.5", "ld.param.u32 %r1, [p];", 0x3FC00000},
           Case{".b32 p", "f32=2", "ld.param.u32 %r1, [p];", 0x40000000},
           Case{".b32 p", "f16=1,2", "ld.param.u32 %r1, [p];", 0x40003C00},
           Case{".f32 p", "2", "ld.param.u32 %r1, [p];", 0x40000000},
           Case{".f32 p", "-inf", "ld.param.u32 %r1, [p];", 0xFF800000},
           Case{".u64 p", "4294967297", "ld.param.u32 %r1, [p+4];", 1},
           Case{".f64 p", "1", "ld.param.u32 %r1, [p+4];", 0x3FF00000},
           Case{".u16 p", "65535", "ld.param.u16 %h1, [p]; cvt.u32.u16 %r1, %h1;", 65535},
           Case{".s16 p", "-2", "ld.param.u16 %h1, [p]; cvt.u32.u16 %r1, %h1;", 0xFFFE},
           Case{".u8 p", "200", "ld.param.u8 %r1, [p];", 200},
           Case{".align 4 .b8 p[8]", "1,2,3,4,5,6,7,8", "ld.param.u32 %r1, [p+4];", 0x08070605},
           Case{".align 4 .b8 p[8]", "u32=7,9", "ld.param.u32 %r1, [p+4];", 9},
       }) {
    Folder folder;
    folder.write("k.ptx", module_of(std::string(".param ") + c.parameter + ", .param .u64 out",
                                    std::string(c.load) +
                                        "ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r1;"));
    const Outcome outcome = tilec(emulate_words(
        folder.path("k.ptx"),
        {"--arg", c.word, "--arg", "u32:1", "--out", "out=" + folder.path("o.npy")}, "1"));
    ASSERT_EQ(outcome.code, 0) << c.parameter << " " << c.word << "\n" << outcome.err;
    EXPECT_EQ(elements_of<uint32_t>(folder.read("o.npy")), std::vector<uint32_t>{c.bits})
        << c.parameter << " " << c.word;
  }
}

TEST(Emulate, ChoosesAnEntry) {
  Folder folder;
  const std::string one = module_of("", "");
  folder.write("two.ptx", one + ".visible .entry second() { ret; }\n");
  const Outcome unnamed = tilec(emulate_words(folder.path("two.ptx"), {}));
  EXPECT_EQ(unnamed.code, 1);
  EXPECT_NE(unnamed.err.find("there is: k, second"), std::string::npos) << unnamed.err;
  const Outcome named = tilec(emulate_words(folder.path("two.ptx"), {"--entry", "second"}));
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_NE(named.out.find("kernel     second"), std::string::npos) << named.out;
  EXPECT_EQ(tilec(emulate_words("-", {}), {.input = one}).code, 0);
}

TEST(Emulate, GridAndBlockHaveThreeAxes) {
  Folder folder;
  folder.write(
      "k.ptx",
      module_of(".param .u64 out",
                "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y;"
                "mov.u32 %r3, %ntid.z; mul.wide.u32 %rd2, %r1, 8; add.u64 %rd1, %rd1, %rd2;"
                "mov.u32 %r4, %tid.x; mov.u32 %r5, %tid.y; or.b32 %r4, %r4, %r5;"
                "mov.u32 %r5, %tid.z; or.b32 %r4, %r4, %r5; mov.u32 %r5, %ctaid.x;"
                "or.b32 %r4, %r4, %r5; mov.u32 %r5, %ctaid.y; or.b32 %r4, %r4, %r5;"
                "setp.ne.u32 %p1, %r4, 0; @%p1 ret; st.global.v2.u32 [%rd1], {%r2, %r3};"));
  const Outcome outcome = tilec({"emulate", folder.path("k.ptx"), "--grid", "2,3,4", "--block",
                                 "4,2,5", "--arg", "u32:8", "--out", "0=" + folder.path("o.npy")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(elements_of<uint32_t>(folder.read("o.npy")),
            (std::vector<uint32_t>{3, 5, 3, 5, 3, 5, 3, 5}));
}

TEST(Emulate, DynamicSharedMemory) {
  Folder folder;
  folder.write("k.ptx", module_of(".param .u64 out",
                                  "ld.param.u64 %rd1, [out]; mov.u32 %r2, s; mov.u32 %r1, 77;"
                                  "st.shared.u32 [%r2+996], %r1; ld.shared.u32 %r3, [%r2+996];"
                                  "st.global.u32 [%rd1], %r3;",
                                  ".extern .shared .align 16 .b8 s[];"));
  const std::vector<std::string> more = {"--arg", "u32:1", "--out", "0=" + folder.path("o.npy")};
  std::vector<std::string> enough = emulate_words(folder.path("k.ptx"), more, "1");
  enough.insert(enough.end(), {"--shared", "1000"});
  EXPECT_EQ(tilec(enough).code, 0);
  EXPECT_EQ(elements_of<uint32_t>(folder.read("o.npy")), std::vector<uint32_t>{77});
  enough.back() = "996";
  const Outcome past = tilec(enough);
  EXPECT_EQ(past.code, 3);
  EXPECT_NE(past.err.find("[ptx-out-of-bounds]"), std::string::npos) << past.err;
}

TEST(Emulate, FindingsAreSaidInBothFormsAndLeaveNoFile) {
  Folder folder;
  std::vector<std::string> words =
      emulate_words(kAxpy,
                    {"--arg", "128", "--arg", "2", "--arg", "f32:100=index", "--arg", "f32:128",
                     "--out", "3=" + folder.path("y.npy")},
                    "128");
  const Outcome text = tilec(words);
  EXPECT_EQ(text.code, 3);
  EXPECT_TRUE(folder.names().empty());
  EXPECT_NE(text.out.find("findings   2"), std::string::npos) << text.out;
  EXPECT_NE(text.err.find("axpy.ptx:29:3: check failed: "), std::string::npos) << text.err;
  EXPECT_NE(text.err.find("    ^~~~"), std::string::npos) << text.err;

  words.push_back("--json");
  const Outcome in_json = tilec(words);
  EXPECT_EQ(in_json.code, 3);
  EXPECT_EQ(in_json.err, text.err);
  const json result = json::parse(in_json.out);
  EXPECT_EQ(result["clean"], false);
  ASSERT_EQ(result["findings"].size(), 2U);
  const json& found = result["findings"][0];
  EXPECT_EQ(found["code"], "ptx-out-of-bounds");
  EXPECT_EQ(found["kernel"], "axpy");
  EXPECT_EQ(found["site"]["ptx_line"], 29);
  EXPECT_EQ(found["site"]["thread"], json({100, 0, 0}));
  EXPECT_EQ(found["lanes"], 28);
  EXPECT_EQ(found["space"], "global");
  EXPECT_TRUE(found["clash"].is_null());
  EXPECT_EQ(result["findings"][1]["code"], "ptx-unwritten-memory");
  EXPECT_TRUE(result["outputs"].empty());

  // Without the checks for what was never written, only the bounds are left.
  words.insert(words.end(), {"--checks", "bounds"});
  EXPECT_EQ(json::parse(tilec(words).out)["findings"].size(), 1U);
}

TEST(Emulate, JsonSaysWhatWasRun) {
  Folder folder;
  const Outcome outcome =
      tilec(axpy_words({"--json", "--counters", "--out", "y=" + folder.path("y.npy")}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["schema"], "tilec.emulate/1");
  EXPECT_EQ(result["device"], "cpu");
  EXPECT_EQ(result["entry"], "axpy");
  EXPECT_EQ(result["grid"], json({1, 1, 1}));
  EXPECT_EQ(result["block"], json({128, 1, 1}));
  EXPECT_EQ(result["clean"], true);
  EXPECT_EQ(result["arguments"][1]["name"], "a");
  EXPECT_EQ(result["arguments"][2]["shape"], json({100}));
  EXPECT_EQ(result["outputs"][0]["argument"], 3);
  const json& counters = result["counters"];
  EXPECT_EQ(counters["warps"], 4);
  const json& total = counters["total"];
  EXPECT_EQ(total["fma"], 4);
  EXPECT_EQ(total["multiply_adds"], 100);
  EXPECT_EQ(total["by_class"]["fma"], 4);
  EXPECT_EQ(total["divergent_branches"], 1);
  EXPECT_EQ(total["predicated_off"], 100);  // lanes whose guarded branch was not taken
  // 3 warps of 128 bytes in 4 sectors, one of 16 in 1; twice.
  EXPECT_EQ(total["global_load"]["requests"], 8);
  EXPECT_EQ(total["global_load"]["sectors"], 26);
  EXPECT_EQ(total["global_load"]["bytes"], 800);
  EXPECT_EQ(total["global_load"]["bytes_moved"], 26 * 32);
  EXPECT_EQ(total["global_store"]["sectors"], 13);
  EXPECT_EQ(total["shared_load"]["requests"], 0);
  EXPECT_TRUE(total["shared_load"]["wavefronts_per_request"].is_null());
  // Lines add up to the whole.
  uint64_t sum = 0;
  for (const json& line : counters["by_ptx_line"]) {
    sum += line["warp_instructions"].get<uint64_t>();
    if (line["line"] == 31) EXPECT_EQ(line["text"], "fma.rn.f32 %f3, %f1, %f2, %f3;");
  }
  EXPECT_EQ(sum, total["warp_instructions"]);
}

TEST(Emulate, CountersAsText) {
  const Outcome outcome = tilec(axpy_words({"--counters"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part :
       {"100 multiply-adds", "4 FMAs", "global loads   8 requests for 800 bytes, 26 sectors (3.25",
        "by PTX line", "fma.rn.f32 %f3, %f1, %f2, %f3;", "1 divergent branches"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST(Emulate, NamesTheBanksAtFault) {
  Folder folder;
  folder.write("k.ptx", module_of(".param .u64 out",
                                  ".shared .align 128 .b8 tile[8192]; mov.u32 %r1, %tid.x;"
                                  "mul.lo.u32 %r2, %r1, 128; mov.u32 %r3, tile;"
                                  "add.u32 %r2, %r2, %r3; st.shared.b32 [%r2+12], %r1;"));
  std::vector<std::string> words =
      emulate_words(folder.path("k.ptx"), {"--arg", "u32:1", "--counters"});
  const std::string text = tilec(words).out;
  EXPECT_NE(text.find("32 wavefronts (32.00 a request), 31 of them conflicts, bank 3: 31\n"),
            std::string::npos)
      << text;
  words.push_back("--json");
  const json banks =
      json::parse(tilec(words).out)["counters"]["total"]["shared_store"]["conflicts_by_bank"];
  ASSERT_EQ(banks.size(), 32U);
  EXPECT_EQ(banks[3], 31);
  EXPECT_EQ(banks[4], 0);
}

TEST(Emulate, TheSameTwice) {
  const std::vector<std::string> words =
      emulate_words(kAxpy,
                    {"--arg", "100", "--arg", "2", "--arg", "f32:100=random:3", "--arg",
                     "f32:100=special:9", "--json", "--counters", "--schedule", "random:5"},
                    "128");
  EXPECT_EQ(tilec(words).out, tilec(words).out);
}

// The last warp to store wins.
TEST(Emulate, SchedulesShakeRacesOut) {
  Folder folder;
  folder.write("k.ptx", module_of(".param .u64 out",
                                  "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;"
                                  "shr.u32 %r1, %r1, 5; st.global.u32 [%rd1], %r1;"));
  std::set<uint32_t> winners;
  for (const char* seed : {"random:1", "random:2", "random:3", "random:4", "random:5"}) {
    const Outcome outcome =
        tilec(emulate_words(folder.path("k.ptx"),
                            {"--arg", "u32:1", "--checks", "bounds", "--schedule", seed, "--out",
                             "0=" + folder.path("o.npy")},
                            "256"));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    winners.insert(elements_of<uint32_t>(folder.read("o.npy")).at(0));
  }
  EXPECT_GT(winners.size(), 1U);
}

TEST(Emulate, ComparesWithWhatIsExpected) {
  Folder folder;
  const ElementType& f32 = *find_element_type("f32");
  ASSERT_EQ(tilec(axpy_words({"--out", "y=" + folder.path("y.npy")})).code, 0);
  const std::string expect = "y=" + folder.path("y.npy");
  const Outcome same = tilec(axpy_words({"--expect", expect}));
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.out.find("argument 3 (`y`) held: 100 of 100 elements are equal"),
            std::string::npos)
      << same.out;

  auto bytes = read_npy("y", folder.read("y.npy"))->data;
  const uint64_t bits = read_bits(f32, bytes.data() + 4 * 50);
  write_bits(f32, bits + 1, bytes.data() + 4 * 50);
  folder.write("y.npy", write_npy(f32, {100}, bytes));
  const Outcome other = tilec(axpy_words({"--expect", expect, "--json"}));
  EXPECT_EQ(other.code, 3);
  EXPECT_NE(other.err.find("[not-as-expected]"), std::string::npos) << other.err;
  const json made = json::parse(other.out)["expected"][0];
  EXPECT_EQ(made["equal"], 99);
  EXPECT_EQ(made["within_unit"], 1);
  EXPECT_EQ(made["different"], 0);
  EXPECT_EQ(made["largest_units"], 1);
  EXPECT_EQ(made["first_unequal"], 50);
  EXPECT_EQ(made["held"], false);
  EXPECT_EQ(tilec(axpy_words({"--expect", expect, "--within", "1"})).code, 0);

  // Held against the size of x, 50, y = 101 + 2^-17 is off by two units, not one.
  const Outcome by_x = tilec(axpy_words({"--expect", expect, "--within", "1", "--unit", "x"}));
  EXPECT_EQ(by_x.code, 3) << by_x.out;
  EXPECT_NE(by_x.out.find("at most 2 units"), std::string::npos) << by_x.out;
}

TEST(Emulate, SaysWhatWasNeverWritten) {
  Folder folder;
  const Outcome outcome =
      tilec(emulate_words(kAxpy, {"--arg", "0", "--arg", "2", "--arg", "f32:8=zero", "--arg",
                                  "f32:100", "--out", "3=" + folder.path("y.npy")}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("400 bytes of it were never written"), std::string::npos);
}

// A file that cannot be written leaves none of those beside it.
TEST(Emulate, OutputsAreAllOrNothing) {
  Folder folder;
  std::filesystem::create_directory(folder.path("taken.npy"));
  const Outcome outcome = tilec(
      axpy_words({"--out", "x=" + folder.path("x.npy"), "--out", "y=" + folder.path("taken.npy")}));
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("[cannot-write]"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"taken.npy"});
}

TEST(RunCounters, AreInTheWholeAndByTileOp) {
  const std::string spec = "tile 32x32x8 thread 2x2";
  const std::vector<std::string> words = {"run", spec, "--shape", "64x64x32", "--counters"};
  const Outcome text = tilec(words);
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.err, "");  // counting chooses the CPU without being told
  for (const char* part : {"by line of tile IR", "outer acc += fa * fb", "shared loads"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;

  std::vector<std::string> in_json = words;
  in_json.insert(in_json.end(), {"--json", "--device", "cpu"});
  const Outcome outcome = tilec(in_json);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json counters = json::parse(outcome.out)["counters"];
  // 64 x 64 x 32 multiply-adds, one a lane and instruction.
  EXPECT_EQ(counters["total"]["multiply_adds"], 64 * 64 * 32);
  EXPECT_EQ(counters["fma"], counters["total"]["fma"]);
  uint64_t fma = 0, sum = 0;
  for (const json& line : counters["by_tile_op"]) {
    sum += line["warp_instructions"].get<uint64_t>();
    if (line.contains("text") && line["text"] == "outer acc += fa * fb")
      fma += line["fma"].get<uint64_t>();
  }
  EXPECT_EQ(fma, counters["fma"]);
  EXPECT_EQ(sum, counters["warp_instructions"]);

  in_json.erase(in_json.begin() + 4);  // without --counters the keys are as they were
  const json plain = json::parse(tilec(in_json).out)["counters"];
  EXPECT_FALSE(plain.contains("total"));
  EXPECT_EQ(plain["fma"], counters["fma"]);
  EXPECT_EQ(tilec({"run", spec, "--shape", "64", "--counters", "--device", "gpu"}).code, 2);
}

}  // namespace
}  // namespace tilec
