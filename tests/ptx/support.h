// What the tests of the PTX machine share: snippets turned into kernels, and their results.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ptx/machine.h"

namespace tilec::ptx::test {

/// A module around one entry `k(u64 in, u64 out)` whose registers are %p<16> %h<32> %r<64> %f<32>
/// %rd<64> %d<32>. Before `body`, %rd1 is `in` + 64 * thread and %rd2 `out` + 64 * thread, and
/// %r1 is %tid.x. `declarations` go before the entry.
std::string kernel(std::string_view body, std::string_view declarations = "");

/// Parses; a fault fails the test and gives nothing.
std::optional<Module> parse_or_fail(std::string_view text);

struct Outcome {
  std::vector<uint64_t> out;  // 8 words a thread
  LaunchResult result;
  std::string error;  // rendered, if the launch was refused
};

struct Run {
  uint32_t threads = 32;
  uint32_t blocks = 1;
  Checks checks = Checks::all;
  int64_t dynamic_shared_bytes = 0;
  int host_threads = 1;
  uint64_t max_block_instructions = 1'000'000;
};

/// Runs `kernel(body)`: input word w of thread t is `in(t, w)`; 8 words of 64 bits a thread.
Outcome run(std::string_view body, const Run& how = {}, const std::vector<uint64_t>& in = {},
            std::string_view declarations = "");

/// A file of tests/ptx/data.
std::string read_data(std::string_view name);

/// All findings, a line each.
std::string describe_all(const LaunchResult& result);

/// Codes of the findings, in order, with a space between.
std::string codes(const LaunchResult& result);

}  // namespace tilec::ptx::test
