// A short run of the fuzzer: texts of the corpus and of the data, mutated by a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "tests/ptx/fuzz_one.h"
#include "tests/ptx/support.h"

namespace tilec::ptx::test {
namespace {

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::string mutate(std::string text, const std::string& other) {
    const uint32_t count = 1 + below(6);
    for (uint32_t i = 0; i < count; ++i) one(text, other);
    return text;
  }

 private:
  uint32_t below(size_t limit) { return limit == 0 ? 0 : static_cast<uint32_t>(random_() % limit); }
  // A line of `text`: begin and length, its end included.
  std::pair<size_t, size_t> line(const std::string& text) {
    const size_t at = below(text.size());
    const size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    return {begin, begin < end ? end - begin : 0};
  }

  void one(std::string& text, const std::string& other) {
    if (text.empty()) return;
    static constexpr const char* kTokens[] = {"-1",         "0",         "0xFFFFFFFFFFFFFFFF",
                                              "4294967296", "%p1",       "%r1",
                                              "%rd1",       "%f1",       "{",
                                              "}",          "[",         "]",
                                              "(",          ")",         ";",
                                              ",",          "|",         "!",
                                              "@",          ".v4",       ".b64",
                                              ".pred",      "bra",       "ret",
                                              "bar.sync 0", "999999999", ".shared",
                                              ".param",     "::",        "_",
                                              "0f7FFFFFFF", "1e999",     "/*",
                                              "\"",         "\x80"};
    switch (below(7)) {
      case 0:
        text[below(text.size())] = static_cast<char>(random_());
        return;
      case 1: {
        const auto [begin, length] = line(text);
        text.erase(begin, length);
        return;
      }
      case 2: {
        const auto [begin, length] = line(text);
        text.insert(line(text).first, text.substr(begin, length));
        return;
      }
      case 3: {
        const auto [begin, length] = line(other);
        text.insert(line(text).first, other.substr(begin, length));
        return;
      }
      case 4:
        text.insert(below(text.size()), kTokens[below(std::size(kTokens))]);
        return;
      case 5: {
        // A word of the text takes another's place.
        const size_t from = below(text.size()), to = below(text.size());
        const size_t length = 1 + below(8);
        text.replace(to, std::min(length, text.size() - to), text.substr(from, length));
        return;
      }
      default:
        text.resize(below(text.size()));
        return;
    }
  }

  std::mt19937 random_;
};

TEST(Fuzz, TextsOfAnyKind) {
  std::vector<std::string> texts;
  const std::filesystem::path folder = std::string(TILEC_SOURCE_DIR) + "/tests/ptx/corpus";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    texts.push_back(read_data("../corpus/" + entry.path().filename().string()));
  ASSERT_FALSE(texts.empty());
  std::sort(texts.begin(), texts.end());
  Mutator mutator(2024);
  for (size_t i = 0; i < 12000; ++i) {
    const std::string text =
        mutator.mutate(texts[i % texts.size()], texts[(i * 7 + 3) % texts.size()]);
    SCOPED_TRACE(text);
    fuzz_one(text);
  }
}

}  // namespace
}  // namespace tilec::ptx::test
