// Random calls of libtilec on the CPU machine; tests/library/program makes a thousand on a GPU.
#include "tests/library/random_calls.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

namespace tilec::random_calls {
namespace {

namespace fs = std::filesystem;

class RandomCalls : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tilec-random-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("TILEC_TUNING", (folder_ + "/none.db").c_str(), 1);
    auto caller = Caller::open(TILEC_CPU, folder_);
    ASSERT_TRUE(caller) << dsl::render(caller.error());
    caller_ = std::move(*caller);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_;
  std::unique_ptr<Caller> caller_;
};

constexpr uint64_t kSeed = 11;
constexpr int64_t kMost = 130;

TEST_F(RandomCalls, AHundredAreRight) {
  for (int64_t i = 0; i < 100; ++i) {
    const RandomCall call = random_call(kSeed, i, kMost);
    const auto result = caller_->make(call, Plant::none);
    ASSERT_TRUE(result) << i << ": " << describe(call) << ": " << dsl::render(result.error());
    EXPECT_FALSE(result->wrong) << i << ": " << describe(call) << ": " << result->words << " by "
                                << result->spec;
    EXPECT_LE(result->error, 1);
  }
}

// A leading dimension that is off by one is found in every call that it matters to.
TEST_F(RandomCalls, APlantedFaultIsFound) {
  for (const Plant plant : {Plant::lda, Plant::ldb, Plant::ldc}) {
    int planted = 0;
    for (int64_t i = 0; planted < 8; ++i) {
      const RandomCall call = random_call(kSeed, i, 40);
      if (!can_show(plant, call)) continue;
      ++planted;
      const auto result = caller_->make(call, plant);
      ASSERT_TRUE(result) << i << ": " << dsl::render(result.error());
      EXPECT_TRUE(result->wrong) << i << ": " << describe(call);
      EXPECT_NE(result->words, "");
    }
  }
}

// What the calls are made of, so that no kind is lost in silence.
TEST(RandomCall, ComesInEveryKind) {
  std::set<std::string> seen;
  for (int64_t i = 0; i < 1000; ++i) {
    const RandomCall call = random_call(1, i, 700);
    const GemmProblem& p = call.problem;
    seen.insert(kind_of(call));
    seen.insert(call.order == TILEC_ROW_MAJOR ? "rows" : "columns");
    seen.insert(p.layout.a_transposed ? "ta" : "na");
    seen.insert(p.layout.b_transposed ? "tb" : "nb");
    const std::pair<const char*, int64_t> extents[] = {
        {"m", p.shape.m}, {"n", p.shape.n}, {"k", p.shape.k}};
    for (const auto& [name, extent] : extents)
      if (extent < 2) seen.insert(name + std::to_string(extent));
    if (p.shape.k > 4000) seen.insert("long");
    if (p.alpha == 0) seen.insert("alpha0");
    if (p.beta == 0) seen.insert("beta0");
    if (p.alpha == 0 && p.beta == 0) seen.insert("both0");
    if (p.lda % 2 == 1 && p.offset_a % 2 == 1) seen.insert("odd");
    if (call.one_a) seen.insert("one A");
    if (call.one_b) seen.insert("one B");
    EXPECT_TRUE(complete(p)) << describe(call);
    EXPECT_EQ(describe(call), describe(random_call(1, i, 700)));
  }
  EXPECT_EQ(seen.size(), 3 + 2 + 4 + 6 + 1 + 3 + 1 + 2U);
}

}  // namespace
}  // namespace tilec::random_calls
