// What the file itself needs: it has to start on any Linux machine.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <sstream>

#include "tests/cli/tilec_process.h"

namespace tilec {
namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char part[4096];
  while (size_t size = fread(part, 1, sizeof part, pipe)) text.append(part, size);
  return pclose(pipe) == 0 ? text : "";
}

TEST(Binary, NeedsNothingButLibc) {
  std::string text = output_of(std::string("readelf -d '") + TILEC_BINARY + "'");
  if (text.empty()) GTEST_SKIP() << "no readelf here";
  // A `dist` binary has the C++ library inside; others may share it.
  std::string allowed =
      " [libc.so.6] [libm.so.6] [libdl.so.2] [libpthread.so.0] "
      "[ld-linux-x86-64.so.2] [ld-linux-aarch64.so.1] ";
  if (!TILEC_IS_DIST) allowed += "[libstdc++.so.6] [libgcc_s.so.1] ";
  std::istringstream lines(text);
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.find("RUNPATH"), std::string::npos) << line;
    if (line.find("(NEEDED)") == std::string::npos) continue;
    ++needed;
    std::string name = line.substr(line.find('['));
    EXPECT_NE(allowed.find(" " + name + " "), std::string::npos) << name;
  }
  EXPECT_GT(needed, 0) << text;
}

// Starting is most of what a small command costs.
TEST(Binary, StartsQuickly) {
  auto start = std::chrono::steady_clock::now();
  Outcome outcome = tilec({"explain", kSmallSpec}, nothing_installed());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(seconds, 2) << "takes 20 ms on an idle machine";
}

}  // namespace
}  // namespace tilec
