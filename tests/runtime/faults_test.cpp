// Every row of the table of faults is provoked by some test.
#include "runtime/faults.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tilec {
namespace {

std::string texts_of_the_tests() {
  std::ostringstream out;
  const std::filesystem::path folder = std::string(TILEC_SOURCE_DIR) + "/tests/runtime";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) out << std::ifstream(entry.path()).rdbuf();
  return out.str();
}

TEST(Faults, AreInTheOrderOfTheEnumeration) {
  for (size_t i = 0; i < kFaults.size(); ++i)
    EXPECT_EQ(static_cast<size_t>(kFaults[i].fault), i) << kFaults[i].code;
}

TEST(Faults, AreEachNamedByATest) {
  const std::string texts = texts_of_the_tests();
  for (const FaultRow& row : kFaults) {
    // Only a build without CUDA's header can say this.
    if (row.fault == Fault::no_cuda_support) continue;
    EXPECT_NE(texts.find('"' + std::string(row.code) + '"'), std::string::npos) << row.code;
  }
}

TEST(Faults, TakeTheRoadOfTheirRow) {
  EXPECT_EQ(make_error(Fault::bad_shape, "m").road, dsl::Road::user);
  EXPECT_EQ(make_error(Fault::device_call, "m").road, dsl::Road::machine);
  EXPECT_EQ(make_error(Fault::device_call, "m", "h").diagnostics.front().help, "h");
}

}  // namespace
}  // namespace tilec
