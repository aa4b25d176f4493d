// What the tests of `tilec emulate` share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/npy.h"
#include "tests/cli/tilec_process.h"

namespace tilec {

inline const std::string kAxpy = std::string(TILEC_SOURCE_DIR) + "/examples/axpy.ptx";

/// `emulate FILE --grid 1 --block 32 MORE...`
inline std::vector<std::string> emulate_words(const std::string& file,
                                              const std::vector<std::string>& more,
                                              const std::string& block = "32") {
  std::vector<std::string> words = {"emulate", file, "--grid", "1", "--block", block};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// `emulate examples/axpy.ptx` for 100 elements, y = 2 * x + 1 with x = 0, 1, ..., and MORE.
inline std::vector<std::string> axpy_words(const std::vector<std::string>& more) {
  std::vector<std::string> words = emulate_words(
      kAxpy, {"--arg", "100", "--arg", "2", "--arg", "f32:100=index", "--arg", "f32:100=fill:1"},
      "128");
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// A module with one entry `k` of these parameters and this body.
inline std::string module_of(const std::string& parameters, const std::string& body,
                             const std::string& declarations = "") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + declarations + "\n.visible .entry k(" +
         parameters +
         ")\n{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<8>;\n.reg .f32 %f<4>;\n"
         ".reg .b64 %rd<8>;\n" +
         body + "\nret;\n}\n";
}

template <class Element>
std::vector<Element> elements_of(const std::string& npy) {
  const auto array = read_npy("result", npy);
  if (!array) {
    ADD_FAILURE() << dsl::render(array.error());
    return {};
  }
  std::vector<Element> elements(array->data.size() / sizeof(Element));
  std::memcpy(elements.data(), array->data.data(), array->data.size());
  return elements;
}

}  // namespace tilec
