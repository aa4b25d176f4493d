// `tilec tune` and the choice of `tilec run`, on the CPU: there a kernel counts by its
// instructions.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/tilec_process.h"

namespace tilec {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kSpace = "tile {16,32}x{16,32}x4 thread {2,4}x2 stages {1,2}";  // 16 members

class Tune : public testing::Test {
 protected:
  Outcome tune(std::vector<std::string> words) const {
    words.insert(words.begin(), {"tune"});
    words.insert(words.end(), {"--device", "cpu", "--file", folder_.path("tuned.db")});
    return tilec(words);
  }
  Folder folder_;
};

TEST_F(Tune, FindsVerifiesAndRemembers) {
  Outcome outcome = tune({kSpace, "--shape", "40x40x20", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json first = Json::parse(outcome.out)["shapes"][0];
  EXPECT_EQ(first["members"], 16);
  EXPECT_EQ(first["run"], 16);
  EXPECT_EQ(first["failed"], 0);
  ASSERT_EQ(first["rows"].size(), 16u);
  EXPECT_LT(first["rows"][0]["us"], first["rows"][15]["us"]);

  // A second run knows all of them.
  outcome = tune({kSpace, "--shape", "40x40x20", "--json"});
  const Json second = Json::parse(outcome.out)["shapes"][0];
  EXPECT_EQ(second["known"], 16);
  EXPECT_EQ(second["run"], 0);

  // `run` takes the best, and says so.
  const Surroundings here{.environment = {"TILEC_TUNING=" + folder_.path("tuned.db")}};
  outcome = tilec({"run", "--shape", "40x40x20", "--device", "cpu", "--json"}, here);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json run = Json::parse(outcome.out);
  EXPECT_EQ(run["spec"], first["rows"][0]["spec"]);
  EXPECT_NE(run["provenance"]["choice"].get<std::string>().find("tuned here"), std::string::npos);
}

// However many variants of one tile the model likes best, a short list holds others too.
TEST_F(Tune, AShortListHoldsSeveralTiles) {
  const Outcome outcome = tune({"tile {16,32}x16x{2,4} thread 2x2 stages {1..4}", "--shape",
                                "64x64x16", "--most", "2", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json rows = Json::parse(outcome.out)["shapes"][0]["rows"];
  ASSERT_EQ(rows.size(), 2u);
  const auto tile_of = [&](size_t row) {
    const std::string spec = rows[row]["spec"];
    return spec.substr(0, spec.find('x'));
  };
  EXPECT_NE(tile_of(0), tile_of(1));
}

TEST_F(Tune, RunNeverFailsForWantOfTuning) {
  const Surroundings here{.environment = {"TILEC_TUNING=" + folder_.path("none.db")}};
  for (const char* shape : {"40x40x20", "1x100x30", "100x1x30", "0x5x5", "7x7x0"}) {
    const Outcome outcome = tilec({"run", "--shape", shape, "--device", "cpu"}, here);
    EXPECT_EQ(outcome.code, 0) << shape << outcome.err;
    EXPECT_NE(outcome.out.find("choice     the model's choice"), std::string::npos) << outcome.out;
  }
  const Outcome batch = tilec(
      {"run", "--shape", "20x20x20", "--batch", "3", "--layout", "tt", "--device", "cpu"}, here);
  EXPECT_EQ(batch.code, 0) << batch.err;
}

// A file that cannot be used is named, and the model chooses.
TEST_F(Tune, RunSaysWhyAFileIsNotUsed) {
  folder_.write("foreign.db", "not a database");
  const Surroundings here{.environment = {"TILEC_TUNING=" + folder_.path("foreign.db")}};
  const Outcome outcome = tilec({"run", "--shape", "16x16x16", "--device", "cpu"}, here);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("is no tuning file; not used"), std::string::npos) << outcome.err;
}

TEST_F(Tune, ShardsMakeOneFileWhenMerged) {
  for (int shard = 0; shard < 3; ++shard) {
    const Outcome outcome = tilec({"tune", kSpace, "--shape", "40x40x20", "--device", "cpu",
                                   "--shard", std::to_string(shard) + "/3", "--file",
                                   folder_.path("part" + std::to_string(shard))});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  const Outcome merged = tune({"--merge", folder_.path("part0"), "--merge",
                               folder_.path("part1") + "," + folder_.path("part2")});
  ASSERT_EQ(merged.code, 0) << merged.err;
  const Outcome all = tune({kSpace, "--shape", "40x40x20", "--json"});
  EXPECT_EQ(Json::parse(all.out)["shapes"][0]["known"], 16);
  const Outcome exported = tune({"--export", "-"});
  EXPECT_NE(exported.out.find("; 40x40x20; nn; 1; "), std::string::npos) << exported.out;
}

TEST_F(Tune, SaysWhichRulesEmptyASpace) {
  const Outcome outcome = tune({"tile 64x64 thread {3,5}x{4,8}", "--shape", "64x64x64"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("4 by thread-does-not-divide-tile"), std::string::npos) << outcome.err;
}

TEST_F(Tune, RefusesBadWords) {
  EXPECT_EQ(tune({kSpace}).code, 2);
  EXPECT_EQ(tune({kSpace, "--shape", "4x4"}).code, 2);
  for (const char* shard : {"3/3", "-1/3", "1", "a/b", "0/0", "1/3x"})
    EXPECT_EQ(tune({kSpace, "--shape", "4x4x4", "--shard", shard}).code, 2) << shard;
  EXPECT_EQ(tune({"tile", "--shape", "4x4x4"}).code, 1);
  EXPECT_EQ(tune({"--merge", folder_.path("nowhere")}).code, 1);
  EXPECT_EQ(tune({kSpace, "--shape", "4x4x4", "--batch", "0"}).code, 1);
}

// Ctrl-C ends the search soon; what was done is in the file, and the next run goes on from there.
TEST_F(Tune, CtrlCKeepsWhatIsDone) {
  const std::string file = folder_.path("tuned.db");
  const pid_t pid = fork();
  if (pid == 0) {
    execl(TILEC_BINARY, "tilec", "tune",
          "tile {16,32,64}x{16,32,64}x{4,8} thread 2x2 stages {1..4}", "--shape", "200x200x200",
          "--device", "cpu", "--file", file.c_str(), nullptr);
    _exit(127);
  }
  // Once there is something to keep.
  for (int tries = 0; tries < 600 && (!fs::exists(file) || fs::file_size(file) < 12288); ++tries)
    usleep(100000);
  kill(pid, SIGINT);
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 0) GTEST_SKIP() << "it was done before it could be stopped";
  EXPECT_EQ(WEXITSTATUS(status), 1);
  const Outcome next = tilec({"tune", "tile {16,32,64}x{16,32,64}x{4,8} thread 2x2 stages {1..4}",
                              "--shape", "200x200x200", "--device", "cpu", "--file", file, "--most",
                              "72", "--shard", "0/72", "--json"});
  EXPECT_EQ(next.code, 0) << next.err;
  const Json found = Json::parse(next.out)["shapes"][0];
  EXPECT_GT(found["rows"].size(), 0u);
}

}  // namespace
}  // namespace tilec
