// tools/measure_gpu counters, corpus and matrix, over a GPU that is the PTX machine itself
// (fakes/tilec), and an ncu and a compute-sanitizer that say what they are told to.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/emulate/support.h"

namespace tilec {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kRoot = TILEC_SOURCE_DIR;
const std::string kFakes = kRoot + "/tests/emulate/fakes";

struct Measured {
  int code = -1;
  std::string said;
};

class Measure : public testing::Test {
 protected:
  Measured measure(const std::string& words, const std::string& environment = "",
                   const std::string& path = kFakes) const {
    const std::string command = "cd '" + kRoot + "' && env PATH='" + path +
                                "':\"$PATH\" REAL_TILEC='" + TILEC_BINARY + "' TILEC='" + kFakes +
                                "/tilec' " + environment + " tools/measure_gpu --jobs 2 --out '" +
                                folder_.path("out") + "' " + words + " 2>&1";
    Measured made;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return made;
    std::array<char, 4096> buffer;
    while (size_t size = fread(buffer.data(), 1, buffer.size(), pipe))
      made.said.append(buffer.data(), size);
    const int status = pclose(pipe);
    made.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return made;
  }

  json results(const std::string& what) const {
    const std::string text = folder_.read("out/" + what + "_fake_9000_x.json");
    EXPECT_TRUE(json::accept(text)) << text;
    return json::accept(text) ? json::parse(text) : json();
  }

  Folder folder_;
};

const std::string kTwoRungs = "--only '0[19]_*' --shape 96x64x40 counters";

TEST_F(Measure, CountersOfBothSides) {
  const Measured made = measure(kTwoRungs);
  ASSERT_EQ(made.code, 0) << made.said;
  const json file = results("counters");
  EXPECT_EQ(file["schema"], "tilec.measure/1");
  EXPECT_EQ(file["what"], "counters");
  EXPECT_EQ(file["ncu"], "2025.3.1.0 (build 1)");
  EXPECT_TRUE(file["rejected_metrics"].empty());
  ASSERT_EQ(file["rows"].size(), 2U);
  const json& row = file["rows"][1];
  EXPECT_EQ(row["name"], "09_double_buffer");
  EXPECT_EQ(row["shape"], "96x64x40");
  for (const char* figure : {"fma_warp_instructions", "sectors_per_request", "sectors_per_load",
                             "sectors_per_store", "wavefronts_per_shared_load"}) {
    EXPECT_EQ(row["compared"][figure]["agrees"], true) << figure;
    EXPECT_EQ(row["compared"][figure]["gpu"], row["compared"][figure]["machine"]) << figure;
  }
  EXPECT_EQ(row["gpu"]["opcodes"]["FFMA"], row["machine"]["fma"]);
  EXPECT_EQ(row["gpu"]["opcodes"]["FFMA2"], 7);
  EXPECT_EQ(row["gpu"]["gpu__time_duration.sum"], 12345.5);
  EXPECT_TRUE(row["provenance"]["ptx_hash"].is_string());
  // The naive kernel has no shared memory: neither side has such loads, and they agree in that.
  const json& none = file["rows"][0]["compared"]["wavefronts_per_shared_load"];
  EXPECT_TRUE(none["machine"].is_null());
  EXPECT_EQ(none["agrees"], true);
  const std::string raw = folder_.read("out/counters_fake_9000_x.txt");
  for (const char* part : {"=== ncu --version", "=== probe of 41 metrics",
                           "=== 09_double_buffer at 96x64x40", "\"Kernel Name\""})
    EXPECT_NE(raw.find(part), std::string::npos) << part;
}

// Copies by cp.async count as loads on both sides.
TEST_F(Measure, CountersOfAsynchronousCopies) {
  const Measured made = measure("--only '12_*' --shape 128x128x64 counters");
  ASSERT_EQ(made.code, 0) << made.said;
  const json row = results("counters")["rows"][0];
  EXPECT_GT(row["machine"]["async_copies"], 0);
  EXPECT_EQ(row["compared"]["sectors_per_load"]["agrees"], true) << row["compared"];
}

// A name that ncu does not know spoils its run; one that the chip lacks has no value. Both are
// named, and the others measured.
TEST_F(Measure, CountersWithoutSomeMetrics) {
  for (const char* more : {"", "FAKE_NCU_MUTE=1 "}) {
    const Measured made =
        measure("--only '09_*' --shape 96x64x40 counters",
                std::string(more) +
                    "FAKE_NCU_UNKNOWN='l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum "
                    "smsp__inst_executed_pipe_fmaheavy.sum' "
                    "FAKE_NCU_EMPTY='sass__inst_executed_per_opcode'");
    ASSERT_EQ(made.code, 0) << made.said;
    const json file = results("counters");
    std::map<std::string, std::string> rejected;
    for (const json& each : file["rejected_metrics"]) rejected[each["metric"]] = each["why"];
    ASSERT_EQ(rejected.size(), 3U) << file["rejected_metrics"];
    EXPECT_NE(rejected["smsp__inst_executed_pipe_fmaheavy.sum"].find("Failed to find"),
              std::string::npos)
        << file["rejected_metrics"];
    EXPECT_EQ(rejected["sass__inst_executed_per_opcode"], "ncu gives no value");
    const json& row = file["rows"][0];
    EXPECT_FALSE(row["gpu"].contains("smsp__inst_executed_pipe_fmaheavy.sum"));
    EXPECT_EQ(row["gpu"].size(), 41 - 3U);
    EXPECT_EQ(row["compared"]["fma_warp_instructions"]["agrees"], true);  // by threads / 32
    EXPECT_EQ(row["compared"]["wavefronts_per_shared_load"]["agrees"], true);
  }
}

TEST_F(Measure, CountersThatDoNotAgree) {
  struct Case {
    const char* skew;
    const char* figure;
    bool agrees;
  };
  for (const Case& c :
       {Case{"sass__inst_executed_per_opcode 1.001", "fma_warp_instructions", false},
        Case{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum 1.03", "sectors_per_load", false},
        Case{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum 0.97", "sectors_per_load", false},
        Case{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum 1.005", "sectors_per_load", true},
        Case{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum 1.04",
             "wavefronts_per_shared_load", true},
        Case{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum 1.06",
             "wavefronts_per_shared_load", false}}) {
    const Measured made = measure("--only '09_*' --shape 96x64x40 counters",
                                  "FAKE_NCU_SKEW='" + std::string(c.skew) + "'");
    EXPECT_EQ(made.code, c.agrees ? 0 : 3) << c.skew << "\n" << made.said;
    const json row = results("counters")["rows"][0];
    EXPECT_EQ(row["compared"][c.figure]["agrees"], c.agrees) << c.skew << row["compared"];
  }
}

// Fewer shared loads on the GPU than in the PTX: the assembler has merged some. Not judged.
TEST_F(Measure, CountersOfMergedLoads) {
  const Measured made = measure("--only '09_*' --shape 96x64x40 counters", "FAKE_NCU_MERGES=4");
  EXPECT_EQ(made.code, 0) << made.said;
  const json figure = results("counters")["rows"][0]["compared"]["wavefronts_per_shared_load"];
  EXPECT_TRUE(figure["agrees"].is_null()) << figure;
  EXPECT_GT(figure["gpu"], figure["machine"]);
}

TEST_F(Measure, CountersWhereNcuMayNotCount) {
  const Measured made = measure(kTwoRungs, "FAKE_NCU_DENIED=1");
  EXPECT_EQ(made.code, 4);
  EXPECT_NE(made.said.find("ERR_NVGPUCTRPERM"), std::string::npos) << made.said;
}

TEST_F(Measure, CorpusUnderEveryTool) {
  const Measured made =
      measure("--only '@(load_past_end|race_no_barrier|unwritten_global|endless_loop)' corpus",
              "FAKE_FINDS='memcheck:load_past_end:fault racecheck:race_no_barrier:fault'");
  ASSERT_EQ(made.code, 0) << made.said;
  const json file = results("corpus");
  ASSERT_EQ(file["rows"].size(), 4U);
  for (const json& row : file["rows"]) {
    const std::string name = row["name"];
    EXPECT_FALSE(row["what"].get<std::string>().empty());
    EXPECT_EQ(row["fault"]["machine"]["found"], row["expected"]) << row;
    EXPECT_TRUE(row["clean"]["machine"]["found"].empty()) << row;
    EXPECT_EQ(row["fault"]["alone"]["exit_code"], 4) << row;
    EXPECT_EQ(row["clean"]["alone"]["exit_code"], 0) << row;
    for (const char* tool : {"memcheck", "racecheck", "initcheck", "synccheck"}) {
      const bool found = (name == "load_past_end" && std::string(tool) == "memcheck") ||
                         (name == "race_no_barrier" && std::string(tool) == "racecheck");
      // What a driver call reports after the fault is counted by the tool, but is not its finding.
      EXPECT_EQ(row["fault"][tool]["found"], found) << name << tool << row["fault"][tool];
      // The twin is shown to the tools that found something.
      EXPECT_EQ(row["clean"].contains(tool), found) << name << tool;
      if (!found) continue;
      EXPECT_EQ(row["clean"][tool]["found"], false) << name << tool;
      EXPECT_EQ(row["clean"][tool]["count"], 0) << name << tool;
    }
  }
  EXPECT_EQ(file["rows"][1]["name"], "load_past_end");
  EXPECT_EQ(file["rows"][1]["fault"]["memcheck"]["says"],
            "Invalid __global__ read of size 4 bytes");
  EXPECT_EQ(file["rows"][2]["fault"]["racecheck"]["says"],
            "Error: Race reported between Write access and Read access");
}

TEST_F(Measure, CorpusWhereAToolFails) {
  const Measured made = measure("--only 'load_past_end' corpus", "FAKE_SANITIZER_BROKEN=synccheck");
  EXPECT_EQ(made.code, 3) << made.said;
  const json row = results("corpus")["rows"][0];
  EXPECT_NE(row["fault"]["synccheck"]["error"].get<std::string>().find("not supported"),
            std::string::npos)
      << row;
  EXPECT_FALSE(row["fault"]["memcheck"].contains("error"));
}

TEST_F(Measure, CorpusWithAFaultThatIsNotFound) {
  // The head promises a race that the kernel does not have.
  fs::create_directory(folder_.path("kernels"));
  folder_.write("kernels/k.ptx",
                "// Nothing.\n// launch: grid 1 block 32 shared 0\n// fault: ptx-shared-race\n"
                ".version 8.0\n.target sm_90\n.address_size 64\n"
                ".visible .entry fault(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }\n"
                ".visible .entry clean(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }\n");
  const Measured made =
      measure("--no-sanitizer --kernels '" + folder_.path("kernels") + "' corpus");
  EXPECT_EQ(made.code, 3) << made.said;
  EXPECT_NE(made.said.find("k: FAILED"), std::string::npos) << made.said;
  EXPECT_FALSE(results("corpus")["rows"][0]["fault"].contains("memcheck"));
}

const std::string kSomeForms = "--only '@(mma_m16n8k8_f32_f16|mma_m8n8k16_s32_s8|ldmatrix_x2)'";

TEST_F(Measure, MatrixFormsByClass) {
  const Measured made = measure(kSomeForms + " matrix");
  ASSERT_EQ(made.code, 0) << made.said;
  const json file = results("matrix");
  ASSERT_EQ(file["rows"].size(), 1 + 5 * 2 + 2 * 2U);
  for (const json& row : file["rows"]) {
    EXPECT_EQ(row["elements"], row["equal"]) << row;
    EXPECT_EQ(row["held"], true) << row;
  }
  EXPECT_EQ(file["rows"][0]["form"], "ldmatrix.m8n8.x2.b16");
  EXPECT_EQ(file["rows"][1]["form"], "mma.sync.m16n8k8.f32.f16.f16.f32");
  EXPECT_EQ(file["rows"][1]["class"], "random");
  EXPECT_EQ(file["rows"][2]["output"], "e");
}

TEST_F(Measure, MatrixThatDiffersAndItsReplay) {
  const Measured made = measure(kSomeForms + " matrix", "FAKE_GPU_BREAKS=mma_m16n8k8_f32_f16");
  EXPECT_EQ(made.code, 3) << made.said;
  const json file = results("matrix");
  int held = 0;
  for (const json& row : file["rows"]) {
    const bool broken = row["form"] == "mma.sync.m16n8k8.f32.f16.f16.f32";
    EXPECT_EQ(row["equal"], row["elements"].get<int>() - (broken ? 1 : 0)) << row;
    if (!broken) EXPECT_EQ(row["held"], true) << row;
    held += broken && row["held"] == true;
  }
  EXPECT_LE(held, 4);  // where the bit is that of a NaN, or next to nothing beside the sum's size

  // The same verdict later, without a GPU, from what the GPU made.
  const std::string kept = folder_.path("kept/matrix_fake_9000_x.tar.gz");
  fs::create_directory(folder_.path("kept"));
  fs::rename(folder_.path("out/matrix_fake_9000_x.tar.gz"), kept);
  const Measured again =
      measure(kSomeForms + " --replay '" + kept + "' matrix", "FAKE_NO_GPU='no GPU here'");
  EXPECT_EQ(again.code, 3) << again.said;
  const json replayed = results("matrix");
  EXPECT_EQ(replayed["rows"], file["rows"]);
  EXPECT_EQ(replayed["device"], file["device"]);
  EXPECT_EQ(replayed["compared_with"], "tilec 0.1.0");

  folder_.write("kept/matrix_x.tar.gz", "no archive");
  EXPECT_EQ(measure("--replay '" + folder_.path("kept/matrix_x.tar.gz") + "' matrix").code, 2);
}

// What an H200 made of a few forms is what the machine makes of them.
TEST_F(Measure, MatrixAsAnH200MadeIt) {
  const Measured made = measure(
      "--only '@(mma_m16n8k32_f32_e4m3_e5m2|mma_m16n8k16_f16_e5m2|mma_m16n8k8_f32_tf32|"
      "mma_m16n8k16_f32_f16)' --replay '" TILEC_SOURCE_DIR
      "/examples/results/matrix_h200.tar.gz' matrix",
      "FAKE_NO_GPU='no GPU here'");
  EXPECT_EQ(made.code, 0) << made.said;
  std::ifstream file(folder_.path("out/matrix_h200.json"));
  for (const json& row : json::parse(file)["rows"])
    EXPECT_EQ(row["equal"].get<int>() + row["both_nan"].get<int>(), row["elements"]) << row;
}

TEST_F(Measure, AllOfIt) {
  const std::string program = fs::path(TILEC_BINARY).parent_path() / "random_calls";
  folder_.write("random_calls",
                "#!/bin/sh\nexec '" + program + "' \"$@\" --most 30 --device cpu\n");
  fs::permissions(folder_.path("random_calls"), fs::perms::owner_all);
  const Measured made =
      measure("--only '@(01_naive|race_of_bytes|movmatrix)' --shape 64x64x64 --calls 10 all",
              "RANDOM_CALLS='" + folder_.path("random_calls") + "'");
  EXPECT_EQ(made.code, 0) << made.said;
  EXPECT_EQ(results("library")["calls"], 10);
  for (const char* what : {"ladder", "counters", "corpus", "matrix"})
    EXPECT_EQ(results(what)["rows"].size(), 1U) << what;
  EXPECT_EQ(results("ladder")["sanitizer"].size(), 8U);
  EXPECT_TRUE(results("shapes")["rows"].empty());  // 01_naive is not among those
  EXPECT_FALSE(results("matrix").contains("sanitizer"));
}

// What the machine lacks is left out of a run of several parts, and ends a run of that part alone.
TEST_F(Measure, WithoutNcu) {
  fs::create_directory(folder_.path("bin"));
  for (const char* name : {"tilec", "compute-sanitizer"})
    fs::create_symlink(kFakes + "/" + name, folder_.path(std::string("bin/") + name));
  if (fs::exists("/usr/local/cuda/bin/ncu")) GTEST_SKIP() << "there is an ncu here";
  EXPECT_EQ(measure("counters", "", folder_.path("bin")).code, 4);
  const Measured several =
      measure("--only '@(01_naive|race_of_bytes|movmatrix)' --shape 64x64x64 machine", "",
              folder_.path("bin"));
  EXPECT_EQ(several.code, 3) << several.said;
  EXPECT_NE(several.said.find("no ncu on PATH"), std::string::npos) << several.said;
  EXPECT_EQ(results("matrix")["rows"].size(), 1U);
}

}  // namespace
}  // namespace tilec
