// The file of tuning results: what is kept, what is found again, and what damage does.
#include "runtime/tuned.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tilec {
namespace {

namespace fs = std::filesystem;

class Tuned : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tilec-tuned-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/tuned.db";
  }
  void TearDown() override { fs::remove_all(folder_); }
  TuningFile opened(std::string* said = nullptr) const {
    Result<TuningFile> file = TuningFile::open(path_, said);
    EXPECT_TRUE(file) << dsl::render(file.error());
    return std::move(*file);
  }
  std::string folder_, path_;
};

const TuningKey kKey = {.device = "NVIDIA H200",
                        .driver = "580.1",
                        .version = "tilec 0.1.0",
                        .m = 64,
                        .n = 32,
                        .k = 16,
                        .layout = "nn",
                        .alignment = "4,4,4"};

TuningRow row_of(const std::string& spec, double us, const std::string& status = "ok") {
  return {
      .key = kKey, .spec = spec, .status = status, .us = us, .measured = "2026-01-01T00:00:00Z"};
}

TEST_F(Tuned, FindsTheFastestThatWasRight) {
  TuningFile file = opened();
  for (const TuningRow& row : {row_of("slow", 30), row_of("fast", 10), row_of("middling", 20),
                               row_of("wrong", 1, "wrong"), row_of("hung", 0, "hung")})
    ASSERT_TRUE(file.put(row));
  const auto best = file.best(kKey);
  ASSERT_TRUE(best && *best);
  EXPECT_EQ((*best)->spec, "fast");
  EXPECT_EQ(file.rows(kKey)->size(), 5u);
}

TEST_F(Tuned, KeepsRowsBetweenRuns) {
  ASSERT_TRUE(opened().put(row_of("one", 10)));
  const auto rows = opened().all();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].key, kKey);
  EXPECT_EQ((*rows)[0].us, 10);
}

// Everything that a time depends on is part of the key.
TEST_F(Tuned, TakesNothingFromAnotherKey) {
  TuningFile file = opened();
  ASSERT_TRUE(file.put(row_of("one", 10)));
  std::vector<TuningKey> others(8, kKey);
  others[0].device = "NVIDIA A100";
  others[1].driver = "590.2";
  others[2].version = "tilec 0.2.0";
  others[3].m = 65;
  others[4].batch = 2;
  others[5].layout = "nt";
  others[6].alignment = "1,4,4";
  others[7].k = 17;
  for (const TuningKey& other : others) {
    const auto best = file.best(other);
    ASSERT_TRUE(best);
    EXPECT_FALSE(*best);
  }
  const auto elsewhere = file.others(others[0]);
  ASSERT_EQ(elsewhere->size(), 1u);
  EXPECT_EQ((*elsewhere)[0], "NVIDIA H200, driver 580.1, tilec tilec 0.1.0");
  EXPECT_TRUE(file.others(kKey)->empty());
}

TEST_F(Tuned, TakesTheNewerOfTwoResults) {
  TuningFile file = opened();
  TuningRow row = row_of("one", 10);
  ASSERT_TRUE(file.put(row));
  row.us = 12;
  row.measured = "2025-01-01T00:00:00Z";
  ASSERT_TRUE(file.put(row));
  EXPECT_EQ((*file.rows(kKey))[0].us, 10);
  row.measured = "2027-01-01T00:00:00Z";
  ASSERT_TRUE(file.put(row));
  EXPECT_EQ((*file.rows(kKey))[0].us, 12);
}

TEST_F(Tuned, MovesADamagedFileAside) {
  {
    TuningFile file = opened();
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(file.put(row_of("spec " + std::to_string(i), i + 1)));
  }
  const auto size = fs::file_size(path_);
  ASSERT_GT(size, 20000u);
  for (const auto& [what, length] : {std::pair{"cut short", size / 2}, std::pair{"head", size}}) {
    const std::string copy = path_;
    if (std::string(what) == "head") {
      TuningFile file = opened();
      ASSERT_TRUE(file.put(row_of("one", 10)));
    }
    if (std::string(what) == "cut short") fs::resize_file(copy, length);
    if (std::string(what) == "head") {
      std::fstream out(copy, std::ios::in | std::ios::out | std::ios::binary);
      out.seekp(100);
      out << std::string(300, '\x7f');
    }
    std::string said;
    TuningFile file = opened(&said);
    EXPECT_NE(said.find("damaged"), std::string::npos) << what;
    EXPECT_TRUE(file.all()->empty()) << what;
    ASSERT_TRUE(file.put(row_of("again", 5)));
  }
  EXPECT_TRUE(fs::exists(path_ + ".damaged-1"));
  EXPECT_TRUE(fs::exists(path_ + ".damaged-2"));
}

TEST_F(Tuned, LeavesFilesOfOthersAlone) {
  std::ofstream(path_) << "a diary, and no database at all";
  auto refused = TuningFile::open(path_, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().diagnostics.front().code, "foreign-tuning-file");
  EXPECT_EQ(fs::file_size(path_), 31u);

  fs::remove(path_);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "CREATE TABLE songs(name TEXT)", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  refused = TuningFile::open(path_, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().diagnostics.front().message.find("no tuning file"), std::string::npos);

  fs::remove(path_);
  static_cast<void>(opened());
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "PRAGMA user_version=99", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  refused = TuningFile::open(path_, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().diagnostics.front().message.find("version 99"), std::string::npos);
}

}  // namespace
}  // namespace tilec
