// The kernels of tools/measure_sanitizer, without a GPU.
#include <gtest/gtest.h>

#include "tests/examples/shell.h"

namespace tilec {
namespace {

// What is given to compute-sanitizer is what tilec takes, and right.
TEST(MeasureSanitizer, ItsKernelsAreRightOnTheCpu) {
  const Folder folder;
  folder.write("run", R"sh(set -eu
    . tools/measure_sanitizer
    divided_runs | while IFS='|' read -r way shape options kernels; do
      [ "$shape" = 257x259x129 ] || continue
      "$1" run "$(divided_kernels)" --shape "$shape" $options --device cpu --no-cublas
    done
)sh");
  const Outcome outcome =
      shell("bash '" + folder.path("run") + "' '" + std::string(TILEC_BINARY) + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  int passed = 0;
  for (size_t at = 0; (at = outcome.output.find("\ncheck      passed", at)) != std::string::npos;
       ++at)
    ++passed;
  EXPECT_EQ(passed, 3 * 9) << outcome.output;
}

}  // namespace
}  // namespace tilec
