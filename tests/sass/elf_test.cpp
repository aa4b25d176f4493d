#include "compiler/sass/elf.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/sass/flow.h"
#include "tests/sass/support.h"

namespace tilec::sass {
namespace {

std::string code_of(const dsl::Error& error) {
  return error.diagnostics.at(0).code;
}

TEST(Cubin, ReadsWhatTheAssemblerRecorded) {
  // ptxas -v said 127 registers for all but sm_100a, 128 there; one kernel, no stack.
  for (const std::string& target : data_targets()) {
    const auto cubin = read_cubin(read_bytes("sgemm_" + target + ".cubin"));
    ASSERT_TRUE(cubin) << target;
    EXPECT_EQ("sm_" + std::to_string(cubin->sm), target.substr(0, target.find('a')));
    EXPECT_NE(cubin->assembler.find("release 13.0"), std::string::npos) << cubin->assembler;
    ASSERT_EQ(cubin->kernels.size(), 1U);
    const Kernel& kernel = cubin->kernels[0];
    EXPECT_EQ(kernel.name, "sgemm");
    EXPECT_EQ(kernel.registers, target == "sm_100a" ? 128 : 127) << target;
    EXPECT_EQ(kernel.frame_bytes, 0);
    // 16 kB, and 1 kB of the system's from sm_90 on.
    EXPECT_EQ(kernel.shared_bytes, cubin->sm >= 90 ? 17408 : 16384) << target;
    EXPECT_EQ(kernel.threads_per_block, (std::vector<int>{256, 1, 1})) << target;
    EXPECT_GT(kernel.words.size(), 600U);
    EXPECT_EQ(kernel.lines.empty(), target != "sm_90a");
    EXPECT_EQ(cubin->find("sgemm"), &cubin->kernels[0]);
    EXPECT_EQ(cubin->find("dgemm"), nullptr);
  }
}

TEST(Cubin, WordsStandAtTheirFileOffset) {
  const std::vector<uint8_t> bytes = read_bytes("sgemm_sm_90a.cubin");
  const auto cubin = read_cubin(bytes);
  ASSERT_TRUE(cubin);
  const Kernel& kernel = cubin->kernels[0];
  for (size_t i = 0; i < kernel.words.size(); ++i) {
    const Word word{read_at<uint64_t>(bytes, kernel.file_offset + i * 16),
                    read_at<uint64_t>(bytes, kernel.file_offset + i * 16 + 8)};
    ASSERT_EQ(word, kernel.words[i]);
  }
}

TEST(Cubin, RefusesWhatIsNone) {
  EXPECT_EQ(code_of(read_cubin({}).error()), "not-elf");
  const std::string text = "Neither an ELF file nor long enough to be one, but it is text.";
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  EXPECT_EQ(code_of(read_cubin(bytes).error()), "not-elf");

  std::vector<uint8_t> cubin = read_bytes("sgemm_sm_90a.cubin");
  std::vector<uint8_t> other = cubin;
  other[18] = 62;  // e_machine: x86-64
  EXPECT_EQ(code_of(read_cubin(other).error()), "not-a-cubin");
  std::vector<uint8_t> narrow = cubin;
  narrow[4] = 1;  // 32-bit
  EXPECT_EQ(code_of(read_cubin(narrow).error()), "not-elf");
  std::vector<uint8_t> sections = cubin;
  sections[40] = 0xff;  // e_shoff, low bytes
  sections[43] = 0xff;
  EXPECT_EQ(code_of(read_cubin(sections).error()), "elf-truncated");
  EXPECT_EQ(read_cubin(other).error().road, dsl::Road::machine);
}

// The section table is at the end of these files, so a shorter file has lost part of it.
TEST(Cubin, EveryTruncationIsAnError) {
  const std::vector<uint8_t> bytes = read_bytes("sgemm_sm_80.cubin");
  const uint64_t table_end =
      read_at<uint64_t>(bytes, 40) + uint64_t{read_at<uint16_t>(bytes, 60)} * 64;
  for (size_t size = 0; size < table_end; size += size < 4096 ? 1 : 37) {
    const std::vector<uint8_t> part(bytes.begin(), bytes.begin() + static_cast<long>(size));
    ASSERT_FALSE(read_cubin(part)) << size;
  }
}

// Reads, decodes and finds loops in damaged cubins: an Error or a result, never a crash. The
// sanitized build gives this test its teeth.
TEST(Cubin, MutationsNeverCrash) {
  std::mt19937_64 random(20);
  int accepted = 0;
  for (const char* name : {"sgemm_sm_90a.cubin", "sgemm_sm_86.cubin"}) {
    const std::vector<uint8_t> bytes = read_bytes(name);
    const uint64_t table = read_at<uint64_t>(bytes, 40);
    for (int round = 0; round < 1500; ++round) {
      std::vector<uint8_t> damaged = bytes;
      const int edits = 1 + static_cast<int>(random() % 8);
      for (int e = 0; e < edits; ++e) {
        // Half of the edits go where they hurt: the header and the section table.
        uint64_t at = random() % damaged.size();
        if (random() % 4 == 0) at = random() % 64;
        if (random() % 4 == 1) at = table + random() % (damaged.size() - table);
        damaged[at] = static_cast<uint8_t>(random());
      }
      if (random() % 8 == 0) damaged.resize(random() % damaged.size());
      const auto cubin = read_cubin(damaged);
      if (!cubin) continue;
      ++accepted;
      for (const Kernel& kernel : cubin->kernels) {
        const std::vector<Instruction> instructions = decode_all(kernel.words, cubin->sm);
        const Flow flow = find_flow(instructions);
        steady_loop(flow, instructions);
      }
    }
  }
  EXPECT_GT(accepted, 100);  // or the test would prove little
}

}  // namespace
}  // namespace tilec::sass
