// What the tests of this folder share: data files, and instructions made by hand.
#pragma once

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/sass/cubin.h"
#include "compiler/sass/decode.h"

namespace tilec::sass {

inline std::string data_path(const std::string& name) {
  return std::string(TILEC_SOURCE_DIR) + "/tests/sass/data/" + name;
}

inline std::vector<uint8_t> read_bytes(const std::string& name) {
  std::ifstream file(data_path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string read_text(const std::string& name) {
  const std::vector<uint8_t> bytes = read_bytes(name);
  return {bytes.begin(), bytes.end()};
}

/// The targets that data/sgemm_*.cubin exist for.
inline const std::vector<std::string>& data_targets() {
  static const std::vector<std::string> names = {"sm_80",  "sm_86",   "sm_89",
                                                 "sm_90a", "sm_100a", "sm_120a"};
  return names;
}

/// A word with opcode bits, always executed, no barriers.
inline Word word_of(uint64_t low12) {
  Word word = with_bits(with_bits({}, 0, 12, low12), 12, 3, kTruePredicate);
  return with_control(word, {.stall = 1});
}

inline Word ffma(int d, int a, int b, int c, int reuse = 0) {
  Word word = word_of(0x223);
  word = with_bits(word, 16, 8, static_cast<uint64_t>(d));
  word = with_bits(word, 24, 8, static_cast<uint64_t>(a));
  word = with_bits(word, 32, 8, static_cast<uint64_t>(b));
  word = with_bits(word, 64, 8, static_cast<uint64_t>(c));
  return with_control(word, {.stall = 1, .reuse = reuse});
}

/// BRA by `words` from this one (0: to itself), as sm_90 encodes it; `guard`: 7 always.
inline Word bra(int words, uint64_t guard = kTruePredicate) {
  const auto distance = static_cast<uint64_t>((int64_t{words} - 1) * 4);
  Word word = with_bits(word_of(0x947), 12, 3, guard);
  word = with_bits(word, 16, 8, distance & 0xff);
  word = with_bits(word, 34, 48, distance >> 8);
  return with_bits(word, 87, 3, kTruePredicate);
}

inline Word exit_word() {
  return word_of(0x94d);
}
inline Word nop() {
  return word_of(0x918);
}
inline Word iadd3() {
  return word_of(0x210);
}

inline std::vector<Instruction> program(std::initializer_list<Word> words, int sm = 90) {
  const std::vector<Word> list(words);
  return decode_all(list, sm);
}

}  // namespace tilec::sass
