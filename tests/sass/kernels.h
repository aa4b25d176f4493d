// The instruction words of every example on four targets: data/kernels.words.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "compiler/sass/flow.h"
#include "tests/sass/support.h"

namespace tilec::sass {

struct KernelWords {
  std::vector<int> machines;  // 86, 89: the same words on both
  std::string name;           // of the example
  std::vector<Word> words;
};

inline std::vector<KernelWords> read_kernels() {
  const std::vector<uint8_t> bytes = read_bytes("kernels.words");
  std::vector<KernelWords> out;
  for (size_t at = 0; at < bytes.size();) {
    const auto* end =
        static_cast<const uint8_t*>(std::memchr(bytes.data() + at, '\n', bytes.size() - at));
    std::istringstream line(std::string(bytes.data() + at, end));
    at = static_cast<size_t>(end - bytes.data()) + 1;
    KernelWords kernel;
    std::string machines;
    size_t count = 0;
    line >> machines >> kernel.name >> count;
    std::istringstream list(machines);
    for (std::string machine; std::getline(list, machine, ',');)
      kernel.machines.push_back(std::stoi(machine));
    kernel.words.resize(count);
    std::memcpy(kernel.words.data(), bytes.data() + at, count * kWordBytes);
    at += count * kWordBytes;
    out.push_back(std::move(kernel));
  }
  return out;
}

inline const std::vector<KernelWords>& example_kernels() {
  static const std::vector<KernelWords> kernels = read_kernels();
  return kernels;
}

/// Where the steady loop stands, if it is one basic block: [begin, end) in words.
inline std::optional<std::pair<size_t, size_t>> steady_block(
    std::span<const Instruction> instructions) {
  const Flow flow = find_flow(instructions);
  const std::optional<size_t> loop = steady_loop(flow, instructions);
  if (!loop || flow.loops[*loop].blocks.size() != 1) return std::nullopt;
  const BasicBlock& block = flow.blocks[flow.loops[*loop].header];
  return std::pair(block.begin, block.end);
}

}  // namespace tilec::sass
