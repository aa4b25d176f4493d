// The cache of compiled kernels: whatever happens to its files, it gives what was stored or
// nothing.
#include "tools/library/cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "compiler/target.h"
#include "dsl/complete.h"

namespace tilec {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tilec-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string folder_;
};

// As large as a kernel is, and telling by its bytes whose it is.
Artifact artifact_of(int number) {
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  Artifact out;
  out.spec = (*dsl::read_specs({"<test>", "tile 16x16 thread 2x2 split_k 2"}, limits, "sm_90a"))[0];
  out.derived = dsl::derive(out.spec, find_target("sm_90a")->limits);
  out.batch = dsl::Batch::strided;
  out.blocks_per_sm = 7;
  out.entries = {{.name = "gemm", .tile = {16, 16}, .threads = 64, .shared_bytes = 2048},
                 {.name = "gemm_sum",
                  .tile = {8, 128},
                  .threads = 256,
                  .persistent = true,
                  .awaits_before = true}};
  out.ptx = std::string(20000, static_cast<char>('a' + number % 26));
  out.cubin.assign(30000, static_cast<uint8_t>(number));
  return out;
}

std::string key_of(int number) {
  return "key " + std::to_string(number);
}

bool same(const Artifact& one, const Artifact& two) {
  if (one.entries.size() != two.entries.size()) return false;
  for (size_t i = 0; i < one.entries.size(); ++i) {
    const Entry& a = one.entries[i];
    const Entry& b = two.entries[i];
    if (a.name != b.name || !(a.tile == b.tile) || a.threads != b.threads ||
        a.shared_bytes != b.shared_bytes || a.persistent != b.persistent ||
        a.awaits_before != b.awaits_before)
      return false;
  }
  return one.spec == two.spec && one.batch == two.batch && one.ptx == two.ptx &&
         one.blocks_per_sm == two.blocks_per_sm && one.cubin == two.cubin &&
         one.derived.threads == two.derived.threads;
}

TEST_F(Cache, GivesBackWhatWasStored) {
  const KernelCache cache(folder_ + "/deeper/still");
  EXPECT_FALSE(cache.load(key_of(1)));
  EXPECT_TRUE(cache.store(key_of(1), artifact_of(1)));
  const auto found = cache.load(key_of(1));
  ASSERT_TRUE(found);
  EXPECT_TRUE(same(*found, artifact_of(1)));
  EXPECT_FALSE(cache.load(key_of(2)));
}

// What a launch has to know of a cluster is in the spec, and in the code.
TEST_F(Cache, KeepsClusters) {
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  Artifact artifact = artifact_of(1);
  artifact.spec =
      (*dsl::read_specs({"<test>", "tile 16x16 thread 2x2 cluster 1x1x4"}, limits, "sm_90a"))[0];
  artifact.entries.resize(1);
  const auto found = unpack(key_of(1), pack(key_of(1), artifact));
  ASSERT_TRUE(found);
  EXPECT_TRUE(same(*found, artifact));
  EXPECT_EQ(found->spec.cluster, 4);
  EXPECT_FALSE(found->spec.leaves_parts());
}

TEST_F(Cache, KeepsNothingWithoutAFolder) {
  const KernelCache cache("");
  EXPECT_FALSE(cache.store(key_of(1), artifact_of(1)));
  EXPECT_FALSE(cache.load(key_of(1)));
}

TEST_F(Cache, DropsEntriesOfAnotherKey) {
  const KernelCache cache(folder_);
  ASSERT_TRUE(cache.store(key_of(1), artifact_of(1)));
  fs::copy_file(cache.path_of(key_of(1)), cache.path_of(key_of(2)));
  EXPECT_FALSE(cache.load(key_of(2)));
}

TEST_F(Cache, DropsEntriesCutShortAtAnyLength) {
  const std::string whole = pack(key_of(3), artifact_of(3));
  ASSERT_TRUE(unpack(key_of(3), whole));
  for (size_t size = 0; size < whole.size(); size += size < 400 ? 1 : 997)
    EXPECT_FALSE(unpack(key_of(3), whole.substr(0, size))) << size;
  EXPECT_FALSE(unpack(key_of(3), whole + "x"));
}

TEST_F(Cache, DropsEntriesWithAnyByteChanged) {
  const std::string whole = pack(key_of(4), artifact_of(4));
  std::mt19937 random(1);
  for (size_t at = 0; at < whole.size(); at += at < 400 ? 1 : 701) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1 + random() % 255));
    EXPECT_FALSE(unpack(key_of(4), damaged)) << at;
  }
}

// Lengths that a damaged file may claim, with a hash that is right: nothing is allocated for them.
TEST_F(Cache, IsMadeAnewAfterDamage) {
  const KernelCache cache(folder_);
  ASSERT_TRUE(cache.store(key_of(5), artifact_of(5)));
  std::ofstream(cache.path_of(key_of(5)), std::ios::trunc) << "tilec kernel 1\nnonsense";
  EXPECT_FALSE(cache.load(key_of(5)));
  ASSERT_TRUE(cache.store(key_of(5), artifact_of(5)));
  EXPECT_TRUE(cache.load(key_of(5)));
}

// Eight processes store and load the same keys; some are killed at some moment. Not one load gives
// anything but the entry of its key.
TEST_F(Cache, SurvivesEightProcessesAndKills) {
  constexpr int kProcesses = 8;
  constexpr int kKeys = 4;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t pid = fork();
    if (pid == 0) {
      const KernelCache cache(folder_);
      const int rounds = process < kProcesses / 2 ? 60 : 1000000;  // the rest run until killed
      for (int round = 0; round < rounds; ++round) {
        const int number = (round + process) % kKeys;
        cache.store(key_of(number), artifact_of(number));
        const auto found = cache.load(key_of(number));
        if (found && !same(*found, artifact_of(number))) _exit(1);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  std::mt19937 random(7);
  for (int process = kProcesses / 2; process < kProcesses; ++process) {
    usleep(20000 + random() % 30000);
    kill(children[static_cast<size_t>(process)], SIGKILL);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = 0;
    waitpid(children[static_cast<size_t>(process)], &status, 0);
    if (process < kProcesses / 2) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << process;
    }
  }
  const KernelCache cache(folder_);
  for (int number = 0; number < kKeys; ++number) {
    const auto found = cache.load(key_of(number));
    ASSERT_TRUE(found) << number;
    EXPECT_TRUE(same(*found, artifact_of(number)));
  }
}

// A limit on the size of files stands in for a full disk: writes come back short.
TEST_F(Cache, SurvivesAFullDisk) {
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10000, 10000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const KernelCache cache(folder_);
    const bool kept = cache.store(key_of(6), artifact_of(6));
    _exit(kept || cache.load(key_of(6)) ? 1 : 0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(fs::is_empty(folder_)) << "what could not be finished was left behind";
}

}  // namespace
}  // namespace tilec
