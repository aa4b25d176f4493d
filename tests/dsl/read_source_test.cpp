#include "dsl/read_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "dsl/parser.h"
#include "tests/dsl/support.h"

namespace tilec::dsl {
namespace {

class ReadSource : public ::testing::Test {
 protected:
  ReadSource() { std::filesystem::create_directories(folder_); }
  ~ReadSource() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("tilec_read_source_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
       "_" + std::to_string(getpid()));
};

std::string code_of(const std::string& argument) {
  auto source = read_source(argument);
  return source ? "" : test::codes(source.error());
}

TEST_F(ReadSource, ReadsAFile) {
  std::string path = file("small.tile", "tile 64x64 # comment\n");
  auto source = read_source(path);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->name, path);
  EXPECT_EQ(source->text, "tile 64x64 # comment\n");
}

TEST_F(ReadSource, ReadsAFileWithABlankInItsName) {
  auto source = read_source(file("my spec.tile", "tile 8x8"));
  ASSERT_TRUE(source);
  EXPECT_EQ(source->text, "tile 8x8");
}

TEST_F(ReadSource, TakesASpecForText) {
  for (const std::string& text : {"tile 64x64", "  tile 64x64", "\nkernel a{tile 8x8}", "# nothing",
                                  "persistent", "", " ", "tiel 64x64", "64x64 tile"}) {
    auto source = read_source(text);
    ASSERT_TRUE(source) << text;
    EXPECT_EQ(source->name, "<spec>");
    EXPECT_EQ(source->text, text);
  }
}

TEST_F(ReadSource, SaysWhatIsMissingOrUnreadable) {
  EXPECT_EQ(code_of("no/such/file.tile"), "missing-file");
  EXPECT_EQ(code_of("tile.tile"), "missing-file");
  EXPECT_EQ(code_of(std::string("a\0b", 3)), "missing-file");
  EXPECT_EQ(code_of(std::string(100000, 'a')), "missing-file");
  EXPECT_EQ(code_of(folder_.string()), "unreadable-file");
  std::string secret = file("secret.tile", "tile 8x8");
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  if (!std::ifstream(secret)) EXPECT_EQ(code_of(secret), "unreadable-file");  // root reads all
}

TEST_F(ReadSource, BoundsTheSize) {
  EXPECT_EQ(code_of(file("full.tile", std::string(kMostSourceBytes, ' '))), "");
  EXPECT_EQ(code_of(file("over.tile", std::string(kMostSourceBytes + 1, ' '))), "source-too-large");
  EXPECT_EQ(code_of("tile " + std::string(kMostSourceBytes, ' ')), "source-too-large");
  EXPECT_EQ(code_of("/dev/zero"), "source-too-large");
}

}  // namespace
}  // namespace tilec::dsl
