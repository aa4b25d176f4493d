#include "tests/ptx/rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>

namespace tilec::ptx::test {
namespace {

std::string register_of(char type, size_t index) {
  switch (type) {
    case 'h':
      return fmt::format("%h{}", 10 + index);
    case 'r':
      return fmt::format("%r{}", 10 + index);
    case 'q':
      return fmt::format("%rd{}", 10 + index);
    case 'f':
      return fmt::format("%f{}", 10 + index);
    case 'd':
      return fmt::format("%d{}", 10 + index);
    default:
      return fmt::format("%p{}", 10 + index);
  }
}

std::string load(char type, size_t index) {
  const std::string name = register_of(type, index);
  const size_t at = (index - 1) * 8;
  switch (type) {
    case 'h':
      return fmt::format("ld.global.b16 {}, [%rd1+{}];\n", name, at);
    case 'r':
      return fmt::format("ld.global.b32 {}, [%rd1+{}];\n", name, at);
    case 'f':
      return fmt::format("ld.global.f32 {}, [%rd1+{}];\n", name, at);
    case 'q':
      return fmt::format("ld.global.b64 {}, [%rd1+{}];\n", name, at);
    case 'd':
      return fmt::format("ld.global.f64 {}, [%rd1+{}];\n", name, at);
    default:
      return fmt::format("ld.global.b32 %r9, [%rd1+{}];\nsetp.ne.b32 {}, %r9, 0;\n", at, name);
  }
}

std::string store(char type) {
  const std::string name = register_of(type, 0);
  switch (type) {
    case 'h':
      return fmt::format("st.global.b16 [%rd2], {};\n", name);
    case 'r':
      return fmt::format("st.global.b32 [%rd2], {};\n", name);
    case 'f':
      return fmt::format("st.global.f32 [%rd2], {};\n", name);
    case 'q':
      return fmt::format("st.global.b64 [%rd2], {};\n", name);
    case 'd':
      return fmt::format("st.global.f64 [%rd2], {};\n", name);
    default:
      return fmt::format("selp.b32 %r9, 1, 0, {};\nst.global.b32 [%rd2], %r9;\n", name);
  }
}

// Operand letters that stand alone in `text` become registers.
std::string instruction(const Row& row) {
  std::string out;
  const std::string_view letters = "dabce";
  const size_t space = row.text.find(' ');
  for (size_t i = 0; i < row.text.size(); ++i) {
    const char c = row.text[i];
    const size_t index = letters.find(c);
    const bool alone = i > space && index != std::string_view::npos &&
                       (i + 1 == row.text.size() || !std::isalnum(row.text[i + 1])) &&
                       !std::isalnum(row.text[i - 1]) && row.text[i - 1] != '.';
    out += alone ? register_of(row.types[index], index) : std::string(1, c);
  }
  return out;
}

}  // namespace

void check(const Row& row) {
  std::string body;
  for (size_t i = 1; i < row.types.size(); ++i) body += load(row.types[i], i);
  body += instruction(row) + ";\n" + store(row.types[0]);
  for (uint32_t threads : {32u, 5u}) {
    std::vector<uint64_t> in;
    for (uint32_t t = 0; t < threads; ++t)
      in.insert(in.end(), {row.a, row.b, row.c, row.e, 0, 0, 0, 0});
    const Outcome outcome = run(body, {.threads = threads}, in);
    ASSERT_EQ(outcome.error, "") << row.text;
    EXPECT_TRUE(outcome.result.clean()) << row.text << "\n" << describe_all(outcome.result);
    for (uint32_t t = 0; t < threads; ++t)
      ASSERT_EQ(outcome.out[t * 8], row.expected) << fmt::format(
          "{} with {:#x} {:#x} {:#x}: {:#x}, expected {:#x}, lane {} of {}", row.text, row.a, row.b,
          row.c, outcome.out[t * 8], row.expected, t, threads);
  }
}

}  // namespace tilec::ptx::test
