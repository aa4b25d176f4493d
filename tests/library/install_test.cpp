// An install in a folder of its own, and the example program built against it by find_package.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string output;
};

Outcome shell(const std::string& command) {
  Outcome out;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> part{};
  while (const size_t size = fread(part.data(), 1, part.size(), pipe))
    out.output.append(part.data(), size);
  out.code = pclose(pipe);
  return out;
}

TEST(Install, ServesAProgramByFindPackage) {
  std::string pattern = (fs::temp_directory_path() / "tilec-install-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::string folder = pattern;
  const Outcome installed =
      shell("cmake --install '" TILEC_BUILD_DIR "' --prefix '" + folder + "/prefix'");
  ASSERT_EQ(installed.code, 0) << installed.output;
  const Outcome configured = shell("cmake -S '" TILEC_SOURCE_DIR "/examples/library' -B '" +
                                   folder + "/build' -DCMAKE_PREFIX_PATH='" + folder +
                                   "/prefix' -DCMAKE_CXX_COMPILER='" TILEC_COMPILER "'");
  ASSERT_EQ(configured.code, 0) << configured.output;
  const Outcome built = shell("cmake --build '" + folder + "/build'");
  ASSERT_EQ(built.code, 0) << built.output;
  const std::string run = "TILEC_CACHE='" + folder + "/cache' TILEC_TUNING='" + folder +
                          "/none.db' '" + folder + "/build/sgemm' cpu";
  for (int time = 0; time < 2; ++time) {  // compiled, then from the cache
    const Outcome ran = shell(run);
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_NE(ran.output.find("right"), std::string::npos) << ran.output;
    EXPECT_NE(ran.output.find("the model's choice"), std::string::npos) << ran.output;
  }
  const Outcome symbols =
      shell("nm -D --defined-only '" + folder + "/prefix/lib/libtilec.so' | grep -vc ' T tilec_'");
  EXPECT_EQ(symbols.output, "0\n") << "the library shows more than its interface";
  fs::remove_all(folder);
}

}  // namespace
