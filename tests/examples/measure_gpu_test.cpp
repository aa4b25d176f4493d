// tools/measure_gpu, over a fake tilec that fails as asked, and over the real one with a fake
// driver.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/examples/shell.h"

namespace tilec {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kFakes = (kRoot / "tests/examples/fakes").string();

class MeasureGpu : public testing::Test {
 protected:
  // Three rungs, and a file of two kernels.
  void SetUp() override {
    fs::create_directory(folder_.path("specs"));
    folder_.write("specs/01_naive.tile", "# One \"idea\".\n#\n# more\ntile 32x32 copy none\n");
    folder_.write("specs/02_next.tile", "# Two.\ntile 32x32\n  thread 2x2  # twice\n");
    folder_.write("specs/12_best.tile", "# Twelve.\nkernel best { tile 64x64 thread 4x4 }\n");
    folder_.write(
        "specs/shapes.tile",
        "# Two kernels.\nkernel a { tile 16x16 } kernel b {\n tile 32x32 thread 2x2\n}\n");
    folder_.write("specs/shapes_fp32.csv",
                  "# M,N,K,layout,batch\n512,512,512,nn,1\n512,512,512,tt,1\n128,128,64,nn,12\n");
  }

  Outcome measure(const std::string& words, const std::string& environment = "",
                  const std::string& tilec = kFakes + "/tilec") const {
    return shell("env PATH='" + kFakes + "':\"$PATH\" TILEC='" + tilec + "' " + environment +
                 " tools/measure_gpu --specs '" + folder_.path("specs") + "' --out '" +
                 folder_.path("out") + "' " + words);
  }

  json results(const std::string& what = "ladder_fake_9000_x") const {
    const std::string text = text_of(folder_.path("out/" + what + ".json"));
    EXPECT_TRUE(json::accept(text)) << text;
    return json::accept(text) ? json::parse(text) : json();
  }

  Folder folder_;
};

TEST_F(MeasureGpu, LadderWithoutFaults) {
  const Outcome outcome = measure("ladder");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const json file = results();
  EXPECT_EQ(file["schema"], "tilec.measure/1");
  EXPECT_EQ(file["what"], "ladder");
  EXPECT_EQ(file["device"], "NVIDIA GeForce Fake 9000-X");
  EXPECT_EQ(file["tilec"], "tilec 0.1.0");
  EXPECT_EQ(file["compute_sanitizer"], "2025.3.1.0 (build 1)");
  for (const char* key : {"target", "sm_count", "max_clock_mhz", "driver", "cublas", "assembler",
                          "tilec_sha256", "measured"})
    EXPECT_FALSE(file[key].is_null()) << key;

  // Every rung at 4096; from 10 on two more sizes. `shapes` is no rung.
  ASSERT_EQ(file["rows"].size(), 5U);
  const char* expected[][2] = {{"01_naive", "4096x4096x4096"},
                               {"02_next", "4096x4096x4096"},
                               {"12_best", "4096x4096x4096"},
                               {"12_best", "2048x2048x2048"},
                               {"12_best", "8192x8192x8192"}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(file["rows"][i]["name"], expected[i][0]);
    EXPECT_EQ(file["rows"][i]["shape"], expected[i][1]);
  }
  const json& row = file["rows"][1];
  EXPECT_EQ(row["spec"], "tile 32x32 thread 2x2");
  EXPECT_EQ(file["rows"][2]["spec"], "tile 64x64 thread 4x4");
  EXPECT_EQ(row["kernel_us"], 2655.25);
  EXPECT_EQ(row["cublas_us"], 2670.5);
  EXPECT_EQ(row["cublas_way"], "cublasLt, 2nd of 8");
  EXPECT_EQ(row["cublas_sgemm_us"], 2680.25);
  EXPECT_EQ(row["cublaslt_us"], 2670.5);
  EXPECT_EQ(row["check_passed"], true);
  EXPECT_EQ(row["bit_equal"], true);
  EXPECT_EQ(row["spills"], 0);
  for (const char* key : {"ratio", "clock_mhz", "share_of_peak", "registers", "max_error",
                          "fma_share", "ideal_share", "executed_fma_share", "blocks_per_sm"})
    EXPECT_TRUE(row[key].is_number()) << key;
  for (const auto& [key, value] : row["provenance"].items()) EXPECT_FALSE(value.is_null()) << key;
  EXPECT_FALSE(row.contains("error"));
}

TEST_F(MeasureGpu, SanitizesEveryKernel) {
  ASSERT_EQ(measure("ladder").code, 0);
  const json runs = results()["sanitizer"];
  ASSERT_EQ(runs.size(), 5 * 2 * 4U);  // kernels, shapes, tools
  EXPECT_EQ(runs[0]["summary"], "ERROR SUMMARY: 0 errors");
  EXPECT_EQ(runs[1]["summary"], "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)");
  EXPECT_EQ(runs[39]["name"], "shapes:b");
  EXPECT_EQ(runs[39]["tool"], "synccheck");
  EXPECT_EQ(runs[39]["shape"], "256x256x64");
  for (const json& run : runs) EXPECT_EQ(run["clean"], true) << run;
}

TEST_F(MeasureGpu, AHazardIsKeptAndFails) {
  const Outcome outcome = measure("ladder", "FAKE_HAZARD='racecheck 02_next 129x127x65'");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  int unclean = 0;
  const json file = results();
  for (const json& run : file["sanitizer"]) {
    if (run["clean"] == true) continue;
    ++unclean;
    EXPECT_EQ(run["name"], "02_next");
    EXPECT_EQ(run["tool"], "racecheck");
    EXPECT_EQ(run["shape"], "129x127x65");
    EXPECT_NE(run["output"].get<std::string>().find("Race reported"), std::string::npos);
  }
  EXPECT_EQ(unclean, 1);
}

// One process a tool and a way of sharing out; a row for each of its kernels.
TEST_F(MeasureGpu, SanitizesKernelsThatShareOutTheirWork) {
  const Outcome outcome = measure("sanitizer");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const json rows = results("sanitizer_fake_9000_x")["rows"];
  ASSERT_EQ(rows.size(), (3 * 9 + 4 + 2 * 3) * 4U);  // two shapes of three rungs
  std::set<std::string> names;
  std::set<std::string> ways;
  for (const json& row : rows) {
    EXPECT_EQ(row["clean"], true) << row;
    EXPECT_NE(row["spec"].get<std::string>().find("tile "), std::string::npos);
    names.insert(row["name"]);
    ways.insert(row["way"]);
  }
  EXPECT_EQ(names.size(), 9U + 3U);
  EXPECT_EQ(ways, (std::set<std::string>{"alone", "many tiles", "pointers", "rungs", "strided"}));
}

TEST_F(MeasureGpu, AHazardAmongThemIsKeptAndFails) {
  const Outcome outcome = measure("sanitizer", "FAKE_HAZARD='racecheck split_small 257x259x129'");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  int unclean = 0;
  const json rows = results("sanitizer_fake_9000_x")["rows"];
  for (const json& row : rows) {
    if (row["clean"] == true) continue;
    ++unclean;
    EXPECT_EQ(row["tool"], "racecheck");
    EXPECT_NE(row["output"].get<std::string>().find("Race reported"), std::string::npos) << row;
  }
  EXPECT_EQ(unclean, 3 * 9);
}

// The real program, on the CPU and with a fault in every call that shows one.
TEST_F(MeasureGpu, RandomCallsOfTheLibrary) {
  const std::string program = fs::path(TILEC_BINARY).parent_path() / "random_calls";
  folder_.write("random_calls",
                "#!/bin/sh\nexec '" + program + "' \"$@\" --most 30 --device cpu $PLANT\n");
  fs::permissions(folder_.path("random_calls"), fs::perms::owner_all);
  const std::string environment = "RANDOM_CALLS='" + folder_.path("random_calls") + "' ";
  Outcome outcome = measure("library --calls 40 --seed 3 --jobs 2", environment);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  json file = results("library_fake_9000_x");
  EXPECT_EQ(file["calls"], 40);
  EXPECT_EQ(file["seed"], 3);
  EXPECT_EQ(file["wrong"], 0);
  EXPECT_GT(file["worst_error"], 0);
  EXPECT_LE(file["worst_error"], 1);
  EXPECT_TRUE(file["seconds"].is_number());
  ASSERT_EQ(file["rows"].size(), 3U);
  int calls = 0;
  for (const json& row : file["rows"]) calls += row["calls"].get<int>();
  EXPECT_EQ(calls, 40);

  outcome = measure("library --calls 40", environment + "PLANT='--plant ldb'");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  file = results("library_fake_9000_x");
  EXPECT_GT(file["wrong"], 0);
  EXPECT_NE(file["error"].get<std::string>().find("elements wrong"), std::string::npos);
}

TEST_F(MeasureGpu, CanLeaveTheSanitizerOut) {
  EXPECT_EQ(measure("ladder --no-sanitizer").code, 0);
  EXPECT_TRUE(results()["sanitizer"].empty());
  EXPECT_TRUE(results()["compute_sanitizer"].is_null());
}

TEST_F(MeasureGpu, ARowThatFailsIsRecordedAndTheRestGoOn) {
  struct Case {
    const char* fault;
    const char* error;  // part of the row's
  };
  for (const Case& c :
       {Case{"run 02_next 4096x4096x4096 wrong", "exit code 3: check failed: [wrong-result]"},
        Case{"run 02_next 4096x4096x4096 crash", "exit code 139"},
        Case{"run 02_next 4096x4096x4096 no_time", "no kernel_us"},
        Case{"run 02_next 4096x4096x4096 refused",
             "error: a \"quoted\" word,   a \\ and a tab here"},
        Case{"run 02_next 4096x4096x4096 hang", "took longer than 1 s"},
        Case{"report 02_next 4096x4096x4096 refused", "report: exit code 1"}}) {
    const Outcome outcome =
        measure("ladder --no-sanitizer --limit 1", "FAKE_FAULT='" + std::string(c.fault) + "'");
    EXPECT_EQ(outcome.code, 3) << c.fault << "\n" << outcome.output;
    const json rows = results()["rows"];
    ASSERT_EQ(rows.size(), 5U) << c.fault;
    for (const json& row : rows) {
      EXPECT_EQ(row.contains("error"), row["name"] == "02_next") << c.fault << row;
    }
    const std::string error = rows[1]["error"];
    EXPECT_NE(error.find(c.error), std::string::npos) << c.fault << ": " << error;
  }
}

TEST_F(MeasureGpu, AWrongResultIsNoMeasurement) {
  EXPECT_EQ(measure("ladder --no-sanitizer", "FAKE_FAULT='run 12_best 2048x2048x2048 wrong'").code,
            3);
  const json row = results()["rows"][3];
  EXPECT_EQ(row["check_passed"], false);
  EXPECT_EQ(row["bit_equal"], false);
  EXPECT_TRUE(row.contains("error"));
}

// While the third row is being measured, the first two are in the file already.
TEST_F(MeasureGpu, RowsAreWrittenAsTheyCome) {
  const Outcome outcome =
      measure("ladder --no-sanitizer",
              "FAKE_FAULT='run 12_best 4096x4096x4096 look' FAKE_LOOK_AT='" + folder_.path("out") +
                  "' FAKE_LOOK_TO='" + folder_.path("seen") + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const json seen = json::parse(text_of(folder_.path("seen/ladder_fake_9000_x.json")));
  ASSERT_EQ(seen["rows"].size(), 2U);
  EXPECT_EQ(seen["rows"][1]["name"], "02_next");
}

TEST_F(MeasureGpu, OnlySomeExamplesAndShapes) {
  EXPECT_EQ(measure("ladder --no-sanitizer --only '0[2-9]_*' --shape 64x64x64 --shape 1x1x1").code,
            0);
  const json rows = results()["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["name"], "02_next");
  EXPECT_EQ(rows[1]["shape"], "1x1x1");
  const Outcome none = measure("ladder --only 'x*'");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.output.find("match 'x*'"), std::string::npos) << none.output;
}

TEST_F(MeasureGpu, ShapesAreThoseOfTheList) {
  Outcome outcome = measure("shapes");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  json rows = results("shapes_fake_9000_x")["rows"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["name"], "chosen");
  EXPECT_EQ(rows[0]["cublas_way"], "cublasLt, 2nd of 8");
  EXPECT_EQ(rows[0]["shape"], "512x512x512");
  EXPECT_EQ(rows[1]["layout"], "tt");
  EXPECT_EQ(rows[2]["batch"], 12);
  outcome = measure("shapes --shape 512x512x512");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  rows = results("shapes_fake_9000_x")["rows"];
  ASSERT_EQ(rows.size(), 2U);
}

// The ladder, then specs by seed: the same in every run, and none that tilec refuses.
TEST_F(MeasureGpu, PredictionsBesideWhatIsMeasured) {
  const Outcome outcome = measure("prediction");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const json file = results("prediction_fake_9000_x");
  ASSERT_EQ(file["rows"].size(), 5 + 24U);
  std::set<std::string> specs;
  for (const json& row : file["rows"]) {
    EXPECT_EQ(row["share_of_peak"], 0.7738);
    EXPECT_EQ(row["predicted_share_of_peak"], 0.7538);
    EXPECT_EQ(row["predicted_us"], 2725.5);
    const std::string spec = row["spec"];
    EXPECT_EQ(spec.find("stages 4"), std::string::npos);
    if (row["name"].get<std::string>().starts_with("seed_")) specs.insert(spec);
  }
  EXPECT_GE(specs.size(), 20U);
  EXPECT_EQ(file["median_error_points"], 2.0);
  EXPECT_EQ(file["worst_error_points"], 2.0);
  EXPECT_EQ(file["predicted_rows"], 29);
  EXPECT_EQ(file["counted_rows"], 29);
  EXPECT_EQ(file["exact_rows"], 28);
  EXPECT_EQ(file["rows"][0]["predicted_warp_instructions"], 1000.0);
  EXPECT_EQ(file["rows"][0]["counted_multiply_adds"], 640.0);
  ASSERT_EQ(measure("prediction").code, 0);
  EXPECT_EQ(results("prediction_fake_9000_x")["rows"], file["rows"]);
}

// Another seed: other specs, in a file of their own, and the ladder is left out.
TEST_F(MeasureGpu, ASeedOfOnesOwn) {
  const Outcome outcome = measure("prediction --seed 21");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const json file = results("prediction_seed21_fake_9000_x");
  EXPECT_EQ(file["seed"], 21);
  ASSERT_EQ(file["rows"].size(), 24U);
  EXPECT_EQ(measure("prediction --seed 1e3").code, 2);
}

// The change of each experiment, predicted and measured; the fake's kernels are all alike.
TEST_F(MeasureGpu, LossesTakenAway) {
  const Outcome outcome = measure("losses");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const json file = results("losses_fake_9000_x");
  ASSERT_EQ(file["rows"].size(), file["changes"].size() + 1);
  EXPECT_EQ(file["changes"][0]["name"], "whole_waves");
  EXPECT_EQ(file["changes"][0]["loss"], "last_wave");
  EXPECT_EQ(file["changes"][0]["predicted_change_points"], 0.0);
  EXPECT_EQ(file["changes"][0]["measured_change_points"], 0.0);
}

TEST_F(MeasureGpu, WordsThatAreWrong) {
  struct Case {
    const char* words;
    int code;
    const char* said;
  };
  for (const Case& c :
       {Case{"", 2, "Usage:"}, Case{"--help", 0, "Usage:"},
        Case{"predictions", 2, "unknown measurement"},
        Case{"everything", 2, "unknown measurement 'everything'"},
        Case{"ladder shapes", 2, "here are two"}, Case{"--jobs 0 corpus", 2, "--jobs"},
        Case{"--replay x.tar.gz ladder", 2, "for matrix"},
        Case{"--frob ladder", 2, "unknown option"},
        Case{"ladder --out", 2, "--out needs a value"}}) {
    const Outcome outcome = shell(std::string("tools/measure_gpu ") + c.words);
    EXPECT_EQ(outcome.code, c.code) << c.words << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(c.said), std::string::npos) << c.words << "\n" << outcome.output;
  }
}

TEST_F(MeasureGpu, WithoutAGpuOrATilec) {
  const Outcome no_gpu = measure("ladder", "FAKE_NO_GPU='machine error: no driver here'");
  EXPECT_EQ(no_gpu.code, 4);
  EXPECT_NE(no_gpu.output.find("no driver here"), std::string::npos) << no_gpu.output;
  EXPECT_FALSE(fs::exists(folder_.path("out")));
  const Outcome no_tilec = measure("ladder", "", "/nowhere/tilec");
  EXPECT_EQ(no_tilec.code, 4);
  EXPECT_NE(no_tilec.output.find("no tilec"), std::string::npos) << no_tilec.output;
}

// The real tilec, with a driver, cuBLAS and NVML on host memory that know one kernel, `naive` with
// tiles of 16x16: what the fake tilec prints is what this one prints.
TEST_F(MeasureGpu, ReadsWhatTilecPrints) {
  for (const char* name : {"libcuda.so.1", "libcublas.so.13", "libnvidia-ml.so.1"})
    fs::create_symlink(TILEC_FAKE_CUDA, folder_.path(name));
  fs::remove_all(folder_.path("specs"));
  fs::create_directory(folder_.path("specs"));
  folder_.write("specs/01_naive.tile", "# One.\nkernel naive { tile 16x16 }\n");
  folder_.write("specs/02_other.tile", "# Two.\nkernel other { tile 16x16 }\n");
  const Outcome outcome = measure(
      "ladder --no-sanitizer --shape 16x16x16",
      "LD_LIBRARY_PATH='" + folder_.path() + "' TILEC_NVJITLINK=/nowhere TILEC_PTXAS=/nowhere",
      TILEC_BINARY);
  if (outcome.code == 4) GTEST_SKIP() << "built without cuda.h";
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  const json file = results("ladder_fake_h200");
  EXPECT_EQ(file["device"], "Fake H200");
  EXPECT_EQ(file["sm_count"], 132);
  ASSERT_EQ(file["rows"].size(), 2U);
  const json& row = file["rows"][0];
  EXPECT_FALSE(row.contains("error")) << row;
  // What takes an assembler is not there; all else is.
  for (const char* key : {"kernel_us",
                          "cublas_us",
                          "ratio",
                          "clock_mhz",
                          "share_of_peak",
                          "tflops",
                          "max_error",
                          "spills",
                          "shared_bytes",
                          "threads",
                          "blocks_per_sm",
                          "ideal_share",
                          "kernel_fastest_us",
                          "kernel_slowest_us",
                          "cublas_sgemm_us",
                          "cublaslt_us",
                          "cublas_clock_mhz",
                          "watts",
                          "launches_a_burst",
                          "operand_sets"})
    EXPECT_TRUE(row[key].is_number()) << key;
  EXPECT_EQ(row["check_passed"], true);
  EXPECT_EQ(row["bit_equal"], true);
  for (const char* key : {"spec", "kernel", "ptx_hash", "driver", "cublas", "device", "data"})
    EXPECT_TRUE(row["provenance"][key].is_string()) << key;
  EXPECT_NE(file["rows"][1]["error"].get<std::string>().find("exit code 4"), std::string::npos);
}

}  // namespace
}  // namespace tilec
