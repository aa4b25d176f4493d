// Cubins with other words in them: what they record stays true, what is not touched stays the same.
#include "compiler/sass/replace_code.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "compiler/sass/disassemble.h"
#include "compiler/sass/edit_elf.h"
#include "compiler/sass/loop/rewrite_cubin.h"
#include "compiler/sass/retarget.h"
#include "tests/sass/kernels.h"

namespace tilec::sass {
namespace {

const std::vector<std::string> kTargets = {"sm_80", "sm_86", "sm_89", "sm_90a"};

Code same_code(const Kernel& kernel) {
  Code code{.words = kernel.words, .registers = kernel.registers};
  code.origins.resize(kernel.words.size());
  std::iota(code.origins.begin(), code.origins.end(), size_t{0});
  return code;
}

// `count` NOPs before the first word; jumps lead where they led.
Code shifted_code(const Kernel& kernel, size_t count, int sm) {
  Code code{.words = std::vector<Word>(count, nop_word()),
            .origins = std::vector<size_t>(count, 0),
            .registers = kernel.registers + 8};
  for (size_t i = 0; i < kernel.words.size(); ++i) {
    const Instruction old = decode(kernel.words[i], uint32_t(i * kWordBytes), sm);
    Word word = kernel.words[i];
    if (old.target)
      word = with_target(word, uint32_t((i + count) * kWordBytes),
                         *old.target + int64_t(count * kWordBytes), sm)
                 .value_or(word);
    code.words.push_back(word);
    code.origins.push_back(i);
  }
  return code;
}

std::vector<uint64_t> exits_of(const std::vector<uint8_t>& file, const std::string& kernel,
                               uint8_t attribute = 0x1c) {
  std::vector<uint64_t> out;
  const auto elf = read_elf(file);
  const Section* info = elf->find(".nv.info." + kernel);
  for (uint64_t at = 0; info != nullptr && at + 4 <= info->bytes.size();) {
    const uint64_t size = info->bytes[at] == 4 ? read_at<uint16_t>(info->bytes, at + 2) : 0;
    for (uint64_t i = 0; info->bytes[at + 1] == attribute && i + 4 <= size; i += 4)
      out.push_back(read_at<uint32_t>(info->bytes, at + 4 + i));
    at += 4 + size;
  }
  return out;
}

void expect_symbols_to_fit(const std::vector<uint8_t>& file, const Kernel& kernel) {
  const auto elf = read_elf(file);
  size_t functions = 0;
  for (const Symbol& symbol : elf->symbols) {
    if (symbol.type != 2 || symbol.name != kernel.name) continue;
    EXPECT_EQ(symbol.size, kernel.words.size() * kWordBytes);
    ++functions;
  }
  EXPECT_EQ(functions, 1U);
}

void expect_nvdisasm_to_agree(const std::vector<uint8_t>& file) {
  const std::optional<std::string> tool = find_nvdisasm();
  if (!tool) return;
  const dsl::Result<Disassembly> text = disassemble(file, *tool);
  EXPECT_TRUE(text) << dsl::render(text.error());
}

TEST(ReplaceCode, TheSameWordsChangeNothing) {
  for (const std::string& target : kTargets) {
    const std::vector<uint8_t> file = read_bytes("sgemm_" + target + ".cubin");
    const Cubin cubin = *read_cubin(file);
    const Kernel& kernel = cubin.kernels.front();
    const auto out = replace_code(file, kernel.name, same_code(kernel));
    ASSERT_TRUE(out) << dsl::render(out.error());
    const Cubin again = *read_cubin(*out);
    EXPECT_EQ(again.kernels.front().words, kernel.words);
    EXPECT_EQ(again.kernels.front().registers, kernel.registers);
    for (uint32_t offset = 0; offset < kernel.words.size() * kWordBytes; offset += kWordBytes)
      EXPECT_EQ(line_at(again.kernels.front().lines, offset), line_at(kernel.lines, offset));
    EXPECT_EQ(exits_of(*out, kernel.name), exits_of(file, kernel.name));
    expect_symbols_to_fit(*out, again.kernels.front());
    expect_nvdisasm_to_agree(*out);
    const auto before = read_elf(file), after = read_elf(*out);
    ASSERT_EQ(before->sections.size(), after->sections.size());
    for (size_t s = 0; s < before->sections.size(); ++s) {
      const Section& section = before->sections[s];
      EXPECT_EQ(section.name, after->sections[s].name);
      if (section.name.find("debug_line") == std::string::npos)
        EXPECT_TRUE(std::ranges::equal(section.bytes, after->sections[s].bytes)) << section.name;
    }
  }
}

TEST(ReplaceCode, MoreWordsMoveAllThatIsRecorded) {
  for (const std::string& target : kTargets) {
    const std::vector<uint8_t> file = read_bytes("sgemm_" + target + ".cubin");
    const Cubin cubin = *read_cubin(file);
    const Kernel& kernel = cubin.kernels.front();
    for (const size_t count : {1U, 8U, 137U}) {
      const auto out = replace_code(file, kernel.name, shifted_code(kernel, count, cubin.sm));
      ASSERT_TRUE(out) << dsl::render(out.error());
      const Cubin read = *read_cubin(*out);
      const Kernel& now = read.kernels.front();
      EXPECT_EQ(now.words.size() % 8, 0U);
      EXPECT_EQ(now.registers, kernel.registers + 8);
      std::vector<uint64_t> moved = exits_of(file, kernel.name);
      for (uint64_t& exit : moved) exit += count * kWordBytes;
      EXPECT_FALSE(moved.empty());
      EXPECT_EQ(exits_of(*out, kernel.name), moved);
      const auto by = static_cast<uint32_t>(count * kWordBytes);
      for (uint32_t offset = 0; offset < kernel.words.size() * kWordBytes; offset += kWordBytes)
        EXPECT_EQ(line_at(now.lines, offset + by), line_at(kernel.lines, offset)) << offset;
      expect_symbols_to_fit(*out, now);
      expect_nvdisasm_to_agree(*out);
    }
  }
}

// Places where lanes of a warp wait for each other are kept beside the exits, in the same form; the
// masks beside them name registers, which may be others in the new code, or none.
TEST(ReplaceCode, MovesPlacesWhereLanesWait) {
  std::vector<uint8_t> file = read_bytes("sgemm_sm_90a.cubin");
  const Kernel kernel = read_cubin(file)->kernels.front();
  const std::vector<uint64_t> exits = exits_of(file, kernel.name);
  ASSERT_FALSE(exits.empty());
  const Elf elf = *read_elf(file);
  const Section& info = *elf.find(".nv.info." + kernel.name);
  uint64_t at = 0;
  while (info.bytes[at + 1] != 0x1c)
    at += 4 + (info.bytes[at] == 4 ? read_at<uint16_t>(info.bytes, at + 2) : 0);
  constexpr size_t kBefore = 3;
  const Code code = shifted_code(kernel, kBefore, 90);
  file[info.offset + at + 1] = 0x28;
  const auto moved = replace_code(file, kernel.name, code);
  ASSERT_TRUE(moved) << dsl::render(moved.error());
  const std::vector<uint64_t> now = exits_of(*moved, kernel.name, 0x28);
  ASSERT_EQ(now.size(), exits.size());
  for (size_t i = 0; i < now.size(); ++i) EXPECT_EQ(now[i], exits[i] + kBefore * kWordBytes);

  file[info.offset + at + 1] = 0x29;
  for (size_t i = 0; i < exits.size(); ++i)
    write_at<uint32_t>(file, info.offset + at + 4 + i * 4, 0xffffffff);
  EXPECT_TRUE(replace_code(file, kernel.name, code));
  write_at<uint32_t>(file, info.offset + at + 4, 7);
  EXPECT_EQ(replace_code(file, kernel.name, code).error().diagnostics[0].code, "not-editable");
}

TEST(ReplaceCode, RefusesWhatItCannotKeepTrue) {
  const std::vector<uint8_t> file = read_bytes("sgemm_sm_90a.cubin");
  const Cubin cubin = *read_cubin(file);
  const Code code = same_code(cubin.kernels.front());
  EXPECT_EQ(replace_code(file, "nobody", code).error().diagnostics[0].code, "no-kernel");
  std::vector<uint8_t> damaged = file;
  const auto elf = read_elf(file);
  const Section* info = elf->find(".nv.info." + cubin.kernels.front().name);
  ASSERT_NE(info, nullptr);
  damaged[info->offset + 1] = 0x77;  // an attribute that nobody knows
  EXPECT_EQ(replace_code(damaged, cubin.kernels.front().name, code).error().diagnostics[0].code,
            "not-editable");
  damaged = {file.begin(), file.begin() + 100};
  EXPECT_FALSE(replace_code(damaged, cubin.kernels.front().name, code));
}

// A section of the code's name that has a size and no bytes stood before it: found by the fuzzer.
TEST(ReplaceCode, RefusesCodeWhoseNameAnotherSectionBears) {
  std::vector<uint8_t> file = read_bytes("lead_sm_90a.cubin");
  const Elf elf = *read_elf(file);
  const auto index = [&](std::string_view name) {
    return static_cast<size_t>(std::ranges::find(elf.sections, name, &Section::name) -
                               elf.sections.begin());
  };
  const Cubin cubin = *read_cubin(file);
  const Kernel& kernel = cubin.kernels.front();
  const uint64_t text = section_header_at(file, index(".text." + kernel.name));
  for (const std::string& other : {std::string(".nv.callgraph"), ".nv.info." + kernel.name}) {
    std::vector<uint8_t> twice = file;
    const uint64_t header = section_header_at(twice, index(other));
    if (other == ".nv.callgraph") write_at<uint32_t>(twice, header, read_at<uint32_t>(twice, text));
    write_at<uint32_t>(twice, header + 4, 8);  // SHT_NOBITS
    write_at<uint64_t>(twice, header + 32, ~uint64_t{0} / 2);
    const auto out = replace_code(twice, kernel.name, same_code(kernel));
    EXPECT_EQ(out.has_value(), other != ".nv.callgraph") << other;
    if (!out) EXPECT_EQ(out.error().diagnostics[0].code, "not-editable");
  }
}

// Mending one table changes another, so that the code is no longer found: found by the fuzzer.
TEST(ReplaceCode, RefusesTablesThatOverlap) {
  const std::vector<uint8_t> file = read_bytes("overlapping_tables.cubin");
  for (const bool slots_apart : {false, true}) {
    RewriteOptions options;
    options.order.slots_apart = slots_apart;
    EXPECT_FALSE(rewrite_cubin(file, options));
  }
  const Cubin cubin = *read_cubin(file);
  const Kernel& kernel = cubin.kernels.front();
  const auto out = replace_code(file, kernel.name, shifted_code(kernel, 64, cubin.sm));
  if (!out) EXPECT_EQ(out.error().diagnostics[0].code, "not-editable");
}

// Whatever is written reads back, or nothing is.
TEST(ReplaceCode, LeavesNoFileThatCannotBeRead) {
  const std::vector<uint8_t> file = read_bytes("overlapping_sizes.cubin");
  RewriteOptions options;
  options.order.slots_apart = true;
  const auto out = rewrite_cubin(file, options);
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().find("left as assembled"), std::string::npos) << out.error();
}

TEST(ReplaceBytes, GrowsAndShrinksOneSectionAlone) {
  const std::vector<uint8_t> file = read_bytes("sgemm_sm_80.cubin");
  const auto before = read_elf(file);
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const size_t index = random() % before->sections.size();
    const Section& section = before->sections[index];
    if (section.bytes.empty()) continue;
    const uint64_t begin = random() % (section.bytes.size() + 1);
    const uint64_t end = begin + random() % (section.bytes.size() - begin + 1);
    const std::vector<uint8_t> put(random() % 400, 0xa5);
    const std::vector<uint8_t> out = replace_bytes(file, *before, index, begin, end, put);
    std::vector<uint8_t> expected(section.bytes.begin(), section.bytes.begin() + long(begin));
    expected.insert(expected.end(), put.begin(), put.end());
    expected.insert(expected.end(), section.bytes.begin() + long(end), section.bytes.end());
    const auto after = read_elf(out);
    if (section.type == 3 || section.type == 2) continue;  // names and symbols are others' to read
    ASSERT_TRUE(after) << section.name;
    for (size_t s = 0; s < before->sections.size(); ++s) {
      const auto wanted =
          s == index ? std::span<const uint8_t>(expected) : before->sections[s].bytes;
      EXPECT_TRUE(std::ranges::equal(after->sections[s].bytes, wanted))
          << before->sections[s].name << " after a change of " << section.name;
    }
  }
}

TEST(LineProgram, IsReadAsItWasWritten) {
  std::mt19937 random(9);
  const std::vector<uint8_t> file = read_bytes("sgemm_sm_90a.cubin");
  const auto elf = read_elf(file);
  const Section* lines = elf->find(".debug_line");
  ASSERT_NE(lines, nullptr);
  const std::vector<LineSequence> old = read_line_table(lines->bytes);
  ASSERT_FALSE(old.empty());
  for (int round = 0; round < 100; ++round) {
    std::vector<LineRow> rows;
    uint32_t offset = 0;
    for (size_t i = 0; i < 1 + random() % 60; ++i) {
      rows.push_back({offset, 1 + int(random() % 3000), 1 + int(random() % 2)});
      offset += 16 * (1 + random() % 90);
    }
    const std::vector<uint8_t> program = write_line_program(rows, offset);
    // In place of the old program, with the unit's length mended.
    std::vector<uint8_t> bytes(lines->bytes.begin(),
                               lines->bytes.begin() + long(old[0].address_at + 8));
    bytes.insert(bytes.end(), program.begin(), program.end());
    write_at<uint32_t>(bytes, 0, uint32_t(bytes.size() - 4));
    const std::vector<LineSequence> read = read_line_table(bytes);
    ASSERT_EQ(read.size(), 1U);
    for (uint32_t at = 0; at < offset; at += 16)
      EXPECT_EQ(line_at(read[0].rows, at), line_at(rows, at)) << at;
  }
}

TEST(Retarget, LeadsEveryJumpOfTheExamplesElsewhere) {
  size_t jumps = 0;
  for (const KernelWords& kernel : example_kernels())
    for (const int sm : kernel.machines)
      for (size_t i = 0; i < kernel.words.size(); ++i) {
        const auto offset = static_cast<uint32_t>(i * kWordBytes);
        const Instruction old = decode(kernel.words[i], offset, sm);
        if (!old.target) {
          EXPECT_FALSE(with_target(kernel.words[i], offset, 0, sm));
          continue;
        }
        ++jumps;
        EXPECT_EQ(with_target(kernel.words[i], offset, *old.target, sm), kernel.words[i]);
        for (const int64_t to : {int64_t{0}, int64_t{0x5670}}) {
          const std::optional<Word> word = with_target(kernel.words[i], offset, to, sm);
          ASSERT_TRUE(word);
          EXPECT_EQ(decode(*word, offset, sm).target, to);
          EXPECT_EQ(with_target(*word, offset, *old.target, sm), kernel.words[i]);
        }
      }
  EXPECT_GT(jumps, 100U);
}

}  // namespace
}  // namespace tilec::sass
