// A short run of the fuzzer: cubins of the data, damaged by a seed.
#include <gtest/gtest.h>

#include <random>

#include "compiler/sass/edit_elf.h"
#include "tests/sass/fuzz_one.h"
#include "tests/sass/support.h"

namespace tilec::sass::test {
namespace {

// Damage anywhere, in a table, or in the words of the code.
void damage(std::vector<uint8_t>& file, std::mt19937& random) {
  const auto elf = read_elf(file);
  const auto at = [&](size_t count) { return random() % std::max<size_t>(count, 1); };
  for (size_t n = 1 + at(3); n > 0; --n) {
    switch (at(6)) {
      case 0:
        file[at(file.size())] = static_cast<uint8_t>(random());
        break;
      case 1:  // the file's head and its tables
        write_at<uint32_t>(file, at(64), static_cast<uint32_t>(random()));
        break;
      case 2:
        if (elf)
          write_at<uint64_t>(file, section_header_at(file, at(elf->sections.size())) + 8 * at(8),
                             at(2) != 0 ? random() : at(file.size()));
        break;
      case 3:
        file.resize(at(file.size()));
        return;
      default:  // a word's bits, or one word in another's place
        if (!elf) break;
        for (const Section& section : elf->sections) {
          if (!section.name.starts_with(".text.") || section.bytes.size() < 32) continue;
          const uint64_t one = section.offset + 16 * at(section.bytes.size() / 16);
          const uint64_t other = section.offset + 16 * at(section.bytes.size() / 16);
          if (at(2) != 0)
            std::copy_n(file.begin() + long(one), 16, file.begin() + long(other));
          else
            file[one + at(16)] ^= static_cast<uint8_t>(1U << at(8));
        }
    }
    if (file.empty()) return;
  }
}

TEST(Fuzz, CubinsOfAnyKind) {
  std::vector<std::vector<uint8_t>> files;
  for (const std::string& target : data_targets())
    files.push_back(read_bytes("sgemm_" + target + ".cubin"));
  for (const char* name : {"lead_sm_80.cubin", "lead_sm_90a.cubin"})
    files.push_back(read_bytes(name));
  std::mt19937 random(77);
  for (uint32_t i = 0; i < 300; ++i) {
    std::vector<uint8_t> file = files[i % files.size()];
    ASSERT_FALSE(file.empty());
    if (i >= files.size()) damage(file, random);
    fuzz_one(file, i);
  }
}

}  // namespace
}  // namespace tilec::sass::test
