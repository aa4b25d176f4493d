// tools/render_tables: what it makes of results and of commands, and that the READMEs show no less.
#include <gtest/gtest.h>

#include "tests/examples/shell.h"

namespace tilec {
namespace {

// Two rungs at 4096, one of them wrong; a kernel at two sizes; two runs of the sanitizer.
const std::string kLadder = R"({
  "schema": "tilec.measure/1", "what": "ladder", "device": "NVIDIA Fake", "driver": "580.1",
  "cublas": "13.1.0", "assembler": "nvJitLink 13.0", "measured": "2026-11-29T20:00:00Z",
  "rows": [
    {"name": "01_naive", "spec": "tile 32x32 copy none", "shape": "4096x4096x4096", "layout": "nn",
     "kernel_us": 275800.4, "cublas_us": 2670.0, "ratio": 0.0097, "clock_mhz": 1980.0,
     "share_of_peak": 0.0074, "cublas_clock_mhz": 1900.0, "check_passed": true, "bit_equal": true,
     "registers": 32, "fma_share": 0.17, "ideal_share": 0.333},
    {"name": "02_wrong", "spec": "tile 32x32", "shape": "4096x4096x4096", "layout": "nn",
     "kernel_us": 23.0, "cublas_us": 2674.0, "ratio": 116.2, "clock_mhz": 1980.0,
     "share_of_peak": 0.99, "cublas_clock_mhz": 1980.0, "check_passed": false, "bit_equal": false,
     "registers": 32, "fma_share": 0.17, "ideal_share": 0.333, "error": "run: exit code 3"},
    {"name": "12_best", "spec": "tile 64x64", "shape": "4096x4096x4096", "layout": "nn",
     "kernel_us": 2650.0, "cublas_us": 2673.0, "ratio": 1.00868, "clock_mhz": 1980.0,
     "share_of_peak": 0.775, "cublas_clock_mhz": 1980.0, "check_passed": true, "bit_equal": false,
     "registers": 122, "fma_share": null, "ideal_share": 0.941},
    {"name": "12_best", "spec": "tile 64x64", "shape": "2048x2048x2048", "layout": "nn",
     "kernel_us": 350.0, "cublas_us": 341.0, "ratio": 0.974, "clock_mhz": 1980.0,
     "share_of_peak": 0.7, "cublas_clock_mhz": 1980.0, "check_passed": true, "bit_equal": true,
     "registers": 122, "fma_share": 0.89, "ideal_share": 0.941}
  ],
  "sanitizer": [
    {"name": "01_naive", "tool": "memcheck", "shape": "129x127x65", "clean": true},
    {"name": "01_naive", "tool": "racecheck", "shape": "129x127x65", "clean": RACECHECK}
  ]
})";

class RenderTables : public testing::Test {
 protected:
  void SetUp() override { write_ladder(true); }

  void write_ladder(bool racecheck_is_clean) const {
    std::string text = kLadder;
    text.replace(text.find("RACECHECK"), 9, racecheck_is_clean ? "true" : "false");
    folder_.write("ladder_fake.json", text);
  }

  Outcome render(const std::string& words = "") const {
    return shell("tools/render_tables --tilec '" TILEC_BINARY "' --results '" + folder_.path() +
                 "' " + words + " '" + folder_.path("page.md") + "'");
  }

  // The page after its places were filled in.
  std::string rendered(const std::string& page) const {
    folder_.write("page.md", page);
    const Outcome outcome = render();
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return text_of(folder_.path("page.md"));
  }

  Folder folder_;
};

std::string place(const std::string& name, const std::string& body = "") {
  return "Before.\n<!-- table: " + name + " -->\n" + body + "<!-- end -->\nAfter.\n";
}

TEST_F(RenderTables, WhatIsNotMeasuredSaysSo) {
  EXPECT_EQ(rendered(place("ladder b300", "old\n")),
            place("ladder b300",
                  "Not measured yet: `tools/measure_gpu ladder` on that device writes "
                  "`examples/results/ladder_b300.json`.\n"));
}

TEST_F(RenderTables, TheLadder) {
  const std::string page = rendered(place("ladder fake", "old\n"));
  EXPECT_TRUE(page.starts_with("Before.\n<!-- table: ladder fake -->\n| n = 4096 |")) << page;
  EXPECT_TRUE(page.ends_with("2026-11-29.\n<!-- end -->\nAfter.\n")) << page;
  for (const char* line :
       {"| [01_naive](../examples/01_naive.tile) | 275,800 | 0.010 | 0.7 % | 32 | 17.0 % | 33.3 % "
        "| yes |\n",
        // A wrong kernel has no time.
        "| [02_wrong](../examples/02_wrong.tile) | failed | – | – | – | – | – | – |\n",
        "| [12_best](../examples/12_best.tile) | 2,650 | 1.009 | 77.5 % | 122 | – | 94.1 % | no "
        "|\n",
        // cuBLAS in the middle of the three rows: 0.775 x 2650 / 2673 of peak.
        "| cuBLAS | 2,673 | 1 | 76.8 % |  |  |  |  |\n",
        "NVIDIA Fake, driver 580.1, cuBLAS 13.1.0, nvJitLink 13.0, 2026-11-29.\n"})
    EXPECT_NE(page.find(line), std::string::npos) << line << "\n" << page;
}

TEST_F(RenderTables, Sizes) {
  const std::string page = rendered(place("sizes fake"));
  EXPECT_NE(page.find("| ratio to cuBLAS at n = | 2048 | 4096 |\n"), std::string::npos) << page;
  EXPECT_NE(page.find("| `tile 64x64` | 0.974 | 1.009 |\n"), std::string::npos) << page;
  EXPECT_EQ(page.find("copy none"), std::string::npos) << page;
}

TEST_F(RenderTables, Shapes) {
  folder_.write("shapes_fake.json", R"({
    "schema": "tilec.measure/1", "what": "shapes", "device": "NVIDIA Fake", "driver": "580.1",
    "cublas": "13.1.0", "assembler": "nvJitLink 13.0", "measured": "2026-11-29T20:00:00Z",
    "sanitizer": [], "rows": [
      {"name": "slow", "shape": "64x4096x4096", "layout": "nn", "kernel_us": 100.0, "ratio": 0.5,
       "cublas_us": 50.0, "check_passed": true, "bit_equal": false},
      {"name": "fast", "shape": "64x4096x4096", "layout": "nn", "kernel_us": 80.0, "ratio": 0.625,
       "cublas_us": 50.0, "check_passed": true, "bit_equal": false},
      {"name": "wrong", "shape": "64x4096x4096", "layout": "nn", "kernel_us": 1.0, "ratio": 50.0,
       "cublas_us": 50.0, "check_passed": false, "bit_equal": false},
      {"name": "slow", "shape": "64x4096x4096", "layout": "tt", "kernel_us": 99.0, "ratio": 0.5,
       "cublas_us": 50.0, "check_passed": true, "bit_equal": true}]})");
  const std::string page = rendered(place("shapes fake"));
  EXPECT_NE(page.find("| 64x4096x4096 | 50.0 | 80.0 | 0.625 | fast | no |\n"
                      "| 64x4096x4096 tt | 50.0 | 99.0 | 0.500 | slow | yes |\n\n"),
            std::string::npos)
      << page;
}

TEST_F(RenderTables, TheSanitizersVerdict) {
  EXPECT_EQ(rendered(place("sanitizer fake")),
            place("sanitizer fake",
                  "compute-sanitizer's memcheck and racecheck over 1 kernel at 129x127x65: 2 runs, "
                  "all are clean.\n"));
  write_ladder(false);
  EXPECT_NE(rendered(place("sanitizer fake"))
                .find("2 runs, not clean: 01_naive under racecheck at 129x127x65."),
            std::string::npos);
}

TEST_F(RenderTables, KernelsThatShareOutTheirWork) {
  const std::string head = R"({"schema": "tilec.measure/1", "what": "sanitizer", "rows": [
    {"name": "split", "way": "alone", "tool": "memcheck", "shape": "9x9x9", "clean": true},
    {"name": "split", "way": "alone", "tool": "racecheck", "shape": "9x9x9", "clean": )";
  folder_.write("sanitizer_fake.json", head + "true}]}");
  EXPECT_EQ(rendered(place("divided fake")),
            place("divided fake",
                  "memcheck and racecheck over 1 kernels (split; alone) at 9x9x9: "
                  "2 runs, all are clean.\n"));
  folder_.write("sanitizer_fake.json", head + "false}]}");
  EXPECT_NE(rendered(place("divided fake")).find("not clean: split (alone) under racecheck."),
            std::string::npos);
}

TEST_F(RenderTables, RandomCallsOfTheLibrary) {
  const auto write = [this](const char* wrong, const char* error, const char* cublas_wrong) {
    folder_.write("library_fake.json",
                  std::string(R"({"schema": "tilec.measure/1", "device": "NVIDIA Fake",
      "cublas": "13.1.0", "calls": 10, "kernels": 3, "bit_equal": 4, "wrong": )") +
                      wrong + R"(, "worst_error": )" + error + R"(, "cublas_wrong": )" +
                      cublas_wrong + R"(, "rows": [{"kind": "sgemm", "cublas_wrong": 0},
      {"kind": "pointers", "cublas_wrong": )" +
                      cublas_wrong + "}]}");
    return rendered(place("library fake"));
  };
  EXPECT_NE(write("0", "0.25", "0")
                .find("10 random calls of libtilec on NVIDIA Fake, by 3 kernels: 0 wrong, largest "
                      "error 0.250 of the bound; 4 bit for bit as cuBLAS 13.1.0 does it.\n"),
            std::string::npos);
  const std::string wrong = write("2", "null", "3");
  EXPECT_NE(wrong.find("2 wrong, largest error NaN"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("which itself failed the check in 3 (3 of pointers)."), std::string::npos);
}

const std::string kMachine = R"head("schema": "tilec.measure/1", "device": "NVIDIA Fake",
    "driver": "580.1", "ncu": "2025.3 (x)", "compute_sanitizer": "2025.4 (y)",
    "measured": "2026-11-29T20:00:00Z")head";

TEST_F(RenderTables, CountersOfBothSides) {
  const auto compared = [](const std::string& fma, const std::string& waves) {
    return R"("compared": {"fma_warp_instructions": {)" + fma + R"(},
        "sectors_per_request": {"gpu": 16.5, "machine": 16.5, "agrees": true},
        "wavefronts_per_shared_load": {)" +
           waves + "}}";
  };
  folder_.write("counters_fake.json",
                "{" + kMachine + R"(, "rows": [{"name": "01_naive", "shape": "512x512x512", )" +
                    compared(R"("gpu": 4096, "machine": 4096, "agrees": true)",
                             R"("gpu": null, "machine": null, "agrees": true)") +
                    R"(}, {"name": "05_two", "shape": "512x512x512", )" +
                    compared(R"("gpu": 4097, "machine": 4096, "agrees": false)",
                             R"("gpu": 5, "machine": 3, "agrees": null)") +
                    "}]}");
  const std::string page = rendered(place("counters fake"));
  for (const char* line :
       {"| [01_naive](../examples/01_naive.tile) | 512x512x512 | 4,096 | 16.5 | – | yes |\n",
        "| [05_two](../examples/05_two.tile) | 512x512x512 | 4,097 / 4,096 | 16.5 | 5 / 3 ¹ | no "
        "|\n",
        "NVIDIA Fake, driver 580.1, Nsight Compute 2025.3, 2026-11-29.", "narrow ones (05_two)"})
    EXPECT_NE(page.find(line), std::string::npos) << line << "\n" << page;
}

TEST_F(RenderTables, MatrixForms) {
  const auto row = [](const char* kind, const char* rest) {
    return std::string(R"({"form": "mma", "class": ")") + kind + R"(", "elements": 1000, )" + rest +
           "}";
  };
  folder_.write("matrix_fake.json",
                "{" + kMachine + R"(, "rows": [)" +
                    row("random", R"("equal": 998, "both_nan": 2, "largest_units": 0,
                                     "held": true)") +
                    "," + row("special", R"("equal": 999, "both_nan": 0, "largest_units": 0.25,
                                      "held": true)") +
                    "]}");
  const std::string page = rendered(place("matrix fake"));
  EXPECT_NE(page.find("| `mma` | random special | 2,000 | 1 | 0.25 | yes |\n"), std::string::npos)
      << page;
}

TEST_F(RenderTables, WhoFindsWhatOfTheCorpus) {
  folder_.write("corpus_fake.json", "{" + kMachine + R"(, "rows": [
    {"name": "race", "expected": ["r"],
     "fault": {"machine": {"found": ["r"]}, "alone": {"exit_code": 0, "hangs": false},
               "memcheck": {"found": false, "hangs": false},
               "racecheck": {"found": true, "hangs": false},
               "initcheck": {"found": true, "hangs": false},
               "synccheck": {"found": false, "hangs": true}},
     "clean": {"machine": {"found": []}, "racecheck": {"found": false},
               "initcheck": {"found": true}}},
    {"name": "missed", "expected": ["x"],
     "fault": {"machine": {"found": []}, "alone": {"exit_code": 4, "hangs": false}},
     "clean": {"machine": {"found": []}}}]})");
  const std::string page = rendered(place("corpus fake"));
  for (const char* line :
       {"| [race](../tests/ptx/corpus/race.ptx) | found | – | – | found | "
        "found, twin too | hangs |\n",
        "corpus/missed.ptx) | MISSED | fails |  |  |  |  |\n",
        "| **2 kernels** | 1 |  | 0 | 1 | 0 | 0 |\n", "compute-sanitizer 2025.4"})
    EXPECT_NE(page.find(line), std::string::npos) << line << "\n" << page;
}

TEST_F(RenderTables, WhatCommandsPrint) {
  EXPECT_EQ(rendered("```console\n$ tilec explain 'tile 16x16' | head -1\nold\n"
                     "$ echo a \\\n    b\n```\n\n```sh\n$ left alone\n```\n"),
            "```console\n$ tilec explain 'tile 16x16' | head -1\ntile 16x16x8\n"
            "$ echo a \\\n    b\na b\n```\n\n```sh\n$ left alone\n```\n");
  folder_.write("page.md", "```console\n$ no_such_command\n```\n");
  EXPECT_EQ(render().code, 2);
}

TEST_F(RenderTables, CheckNamesWhatIsStaleAndWritesNothing) {
  folder_.write("page.md", place("sizes fake", "old\n"));
  const Outcome stale = render("--check");
  EXPECT_EQ(stale.code, 1);
  EXPECT_NE(stale.output.find("page.md is stale"), std::string::npos) << stale.output;
  EXPECT_NE(stale.output.find("\n-old\n"), std::string::npos) << stale.output;
  EXPECT_EQ(text_of(folder_.path("page.md")), place("sizes fake", "old\n"));
  EXPECT_EQ(render().code, 0);
  EXPECT_EQ(render("--check").code, 0);
}

TEST_F(RenderTables, WhatCannotBe) {
  struct Case {
    const char* name;
    const char* said;
  };
  for (const Case& c :
       {Case{"ladders fake", "no table 'ladders fake'"}, Case{"ladder", "no table 'ladder'"},
        Case{"ladder broken", "broken.json"}, Case{"ladder other", "schema other/7"}}) {
    folder_.write("ladder_broken.json", "{\"schema\": ");
    folder_.write("ladder_other.json", "{\"schema\": \"other/7\"}");
    folder_.write("page.md", place(c.name));
    const Outcome outcome = render();
    EXPECT_EQ(outcome.code, 2) << c.name;
    EXPECT_NE(outcome.output.find(c.said), std::string::npos) << outcome.output;
  }
}

TEST(Readmes, ShowWhatIsTrue) {
  const Outcome outcome = shell("tools/render_tables --check --tilec '" TILEC_BINARY "'");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  if (outcome.output.starts_with("skipped: ")) GTEST_SKIP() << outcome.output;
}

}  // namespace
}  // namespace tilec
