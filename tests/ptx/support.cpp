#include "tests/ptx/support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace tilec::ptx::test {

std::string kernel(std::string_view body, std::string_view declarations) {
  return fmt::format(R"(.version 8.0
.target sm_90a
.address_size 64
{}
.visible .entry k(.param .u64 in, .param .u64 out)
{{
.reg .pred %p<16>;
.reg .b16 %h<32>;
.reg .b32 %r<64>;
.reg .f32 %f<32>;
.reg .b64 %rd<64>;
.reg .f64 %d<32>;
ld.param.u64 %rd1, [in];
ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r60, %ctaid.x;
mov.u32 %r61, %ntid.x;
mad.lo.u32 %r62, %r60, %r61, %r1;
mul.wide.u32 %rd63, %r62, 64;
add.u64 %rd1, %rd1, %rd63;
add.u64 %rd2, %rd2, %rd63;
{}
ret;
}}
)",
                     declarations, body);
}

std::optional<Module> parse_or_fail(std::string_view text) {
  auto module = parse({"test.ptx", std::string(text)});
  if (module) return *module;
  ADD_FAILURE() << dsl::render(module.error());
  return std::nullopt;
}

Outcome run(std::string_view body, const Run& how, const std::vector<uint64_t>& in,
            std::string_view declarations) {
  Outcome outcome;
  const auto module = parse_or_fail(kernel(body, declarations));
  if (!module) return outcome;
  const size_t words = size_t{how.threads} * how.blocks * 8;
  std::vector<uint64_t> input(words, 0);
  std::copy_n(in.begin(), std::min(in.size(), words), input.begin());
  outcome.out.assign(words, 0);
  Memory memory;
  const uint64_t from = *memory.allocate(static_cast<int64_t>(words * 8));
  const uint64_t to = *memory.allocate(static_cast<int64_t>(words * 8));
  EXPECT_TRUE(memory.write(from, std::as_bytes(std::span(input))));
  EXPECT_TRUE(memory.write(to, std::as_bytes(std::span(outcome.out))));
  LaunchConfig config;
  config.grid = {how.blocks, 1, 1};
  config.block = {how.threads, 1, 1};
  config.checks = how.checks;
  config.threads = how.host_threads;
  config.dynamic_shared_bytes = how.dynamic_shared_bytes;
  config.max_block_instructions = how.max_block_instructions;
  const Argument arguments[] = {from, to};
  auto result = launch(*module, "k", config, arguments, memory);
  if (!result) {
    outcome.error = dsl::render(result.error());
    return outcome;
  }
  outcome.result = std::move(*result);
  EXPECT_TRUE(memory.read(to, std::as_writable_bytes(std::span(outcome.out))));
  return outcome;
}

std::string read_data(std::string_view name) {
  std::ifstream file(std::string(TILEC_SOURCE_DIR) + "/tests/ptx/data/" + std::string(name));
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string describe_all(const LaunchResult& result) {
  std::string text;
  for (const Finding& finding : result.findings) text += describe(finding) + "\n";
  return text;
}

std::string codes(const LaunchResult& result) {
  std::string text;
  for (const Finding& finding : result.findings)
    text += (text.empty() ? "" : " ") +
            std::string(finding_rows()[static_cast<size_t>(finding.kind)].code);
  return text;
}

}  // namespace tilec::ptx::test
