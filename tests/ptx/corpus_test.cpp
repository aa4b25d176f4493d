// The corpus of faulty kernels: each file has an entry `fault` and its twin `clean`; every fault is
// found, and no twin is accused. The head of a file says how to launch it and what is to be found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

std::vector<std::string> files() {
  std::vector<std::string> names;
  const std::filesystem::path folder = std::string(TILEC_SOURCE_DIR) + "/tests/ptx/corpus";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".ptx") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

struct Head {
  uint32_t blocks = 0, threads = 0;
  int64_t shared = 0;
  std::set<std::string> codes;
};

Head head_of(const std::string& text) {
  Head head;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && line.starts_with("//")) {
    std::istringstream words(line.substr(2));
    std::string word;
    words >> word;
    if (word == "launch:")
      words >> word >> head.blocks >> word >> head.threads >> word >> head.shared;
    if (word == "fault:")
      while (words >> word) head.codes.insert(word);
  }
  return head;
}

LaunchResult launch_entry(const Module& module, const Head& head, const char* entry,
                          int host_threads) {
  const auto bytes = static_cast<int64_t>(head.blocks) * head.threads * 64;
  Memory memory;
  const uint64_t in = *memory.allocate(bytes), out = *memory.allocate(bytes),
                 scratch = *memory.allocate(bytes);
  const std::vector<std::byte> zeros(static_cast<size_t>(bytes));
  EXPECT_TRUE(memory.write(in, zeros));
  EXPECT_TRUE(memory.write(out, zeros));
  LaunchConfig config;
  config.grid = {head.blocks, 1, 1};
  config.block = {head.threads, 1, 1};
  config.dynamic_shared_bytes = head.shared;
  config.checks = Checks::all;
  config.threads = host_threads;
  config.max_block_instructions = 1'000'000;
  const Argument arguments[] = {in, out, scratch};
  auto result = launch(module, entry, config, arguments, memory);
  if (result) return *result;
  ADD_FAILURE() << dsl::render(result.error());
  return {};
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, FindsTheFaultAndLeavesTheTwin) {
  const std::string text = read_data("../corpus/" + GetParam() + ".ptx");
  const Head head = head_of(text);
  ASSERT_FALSE(head.codes.empty());
  const auto module = parse_or_fail(text);
  ASSERT_TRUE(module);
  for (int host_threads : {1, 2}) {
    const LaunchResult fault = launch_entry(*module, head, "fault", host_threads);
    std::set<std::string> found;
    for (const Finding& finding : fault.findings) {
      found.insert(std::string(finding_rows()[static_cast<size_t>(finding.kind)].code));
      EXPECT_EQ(finding.kernel, "fault");
      EXPECT_GT(finding.site.ptx_line, 0);
    }
    EXPECT_EQ(found, head.codes) << describe_all(fault);
    const LaunchResult clean = launch_entry(*module, head, "clean", host_threads);
    EXPECT_TRUE(clean.clean()) << describe_all(clean);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(files()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

TEST(Corpus, HasFortyClassesAndEveryKindOfFinding) {
  const std::vector<std::string> names = files();
  EXPECT_GE(names.size(), 40u);
  std::set<std::string> codes;
  for (const std::string& name : names) {
    const Head head = head_of(read_data("../corpus/" + name + ".ptx"));
    codes.insert(head.codes.begin(), head.codes.end());
  }
  for (const FindingRow& row : finding_rows())
    EXPECT_TRUE(codes.contains(std::string(row.code))) << row.code;
}

}  // namespace
}  // namespace tilec::ptx::test
