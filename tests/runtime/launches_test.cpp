// What devices launch for a kernel and its arguments.
#include "runtime/launches.h"

#include <gtest/gtest.h>

#include "tests/runtime/gemm_on_host.h"

namespace tilec {
namespace {

KernelCode split_code(int split) {
  KernelCode code = code_of(test::naive_artifact());
  code.spec.split_k = split;
  code.entries.push_back({"naive_sum", {8, 128}, 256, 0});
  return code;
}

TEST(Launches, TakeOneGridForEachEntry) {
  const auto launches = plan_launches(
      split_code(3), {.m = 33, .n = 130, .k = 5, .workspace = 4096, .workspace_bytes = 1 << 20},
      132);
  ASSERT_TRUE(launches) << dsl::render(launches.error());
  ASSERT_EQ(launches->size(), 2u);
  EXPECT_EQ((*launches)[0].grid, (std::array<uint32_t, 3>{3 * 9, 3, 1}));
  EXPECT_EQ((*launches)[1].grid, (std::array<uint32_t, 3>{5 * 2, 1, 1}));
  for (const Launch& launch : *launches) {
    ASSERT_EQ(launch.parameters.size(), 12u);
    EXPECT_EQ(std::get<uint64_t>(launch.parameters[11]), 4096u);
  }
}

TEST(Launches, StartEarlyWhereTheKernelWaitsByItself) {
  KernelCode code = split_code(3);
  code.entries.back().awaits_before = true;
  const auto launches = plan_launches(
      code, {.m = 33, .n = 130, .k = 5, .workspace = 4096, .workspace_bytes = 1 << 20}, 132);
  ASSERT_TRUE(launches);
  EXPECT_FALSE((*launches)[0].early);
  EXPECT_TRUE((*launches)[1].early);
}

TEST(Launches, AreNoneForAnEmptyC) {
  for (const auto& [m, n] : {std::pair{0, 4}, std::pair{4, 0}}) {
    const auto launches = plan_launches(split_code(3), {.m = m, .n = n, .k = 5}, 132);
    ASSERT_TRUE(launches);
    EXPECT_TRUE(launches->empty());
  }
}

TEST(Launches, RefuseAWorkspaceTooSmall) {
  const auto launches =
      plan_launches(split_code(3), {.m = 33, .n = 130, .k = 5, .workspace_bytes = 100}, 132);
  ASSERT_FALSE(launches);
  EXPECT_EQ(launches.error().diagnostics.front().code, "workspace-too-small");
}

TEST(Launches, RefuseABatchThatTheKernelDoesNotKnow) {
  const auto launches =
      plan_launches(code_of(test::naive_artifact()), {.m = 3, .n = 3, .k = 5, .batch = 2}, 132);
  ASSERT_FALSE(launches);
  EXPECT_EQ(launches.error().diagnostics.front().code, "batch-differs");
}

}  // namespace
}  // namespace tilec
