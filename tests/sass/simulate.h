// A machine for straight code that knows no instruction but copies: every other one makes numbers
// out of its word and its operands by a hash. Two pieces of code that do the same leave the same
// numbers. It shares the tables with the verifier, nothing else, and knows nothing of time.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <vector>

#include "compiler/sass/cubin.h"
#include "compiler/sass/liveness.h"
#include "compiler/sass/operands.h"
#include "compiler/sass/verify_edit.h"

namespace tilec::sass {

class Simulation {
 public:
  /// `slots_apart` as in LoopEdit: what loads from shared memory see changes at barriers alone.
  Simulation(int sm, uint64_t seed, bool slots_apart) : sm_(sm), slots_apart_(slots_apart) {
    for (size_t file = 0; file < 4; ++file)
      for (size_t reg = 0; reg < 256; ++reg) state_[file][reg] = mix(seed + 256 * file + reg);
  }

  void run(std::span<const Word> words, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) step(decode(words[i], uint32_t(i * kWordBytes), sm_));
  }
  uint64_t general(int reg) const {
    return reg == kZeroRegister ? 0 : state_[0][static_cast<size_t>(reg)];
  }
  uint64_t effects() const { return effects_; }

 private:
  static uint64_t mix(uint64_t value) {
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15;
    return value ^ value >> 29;
  }
  static uint64_t with(uint64_t hash, uint64_t value) { return mix(hash * 31 + value); }

  uint64_t value(File file, int reg) const {
    return reg >= file_size(file) ? 0 : state_[static_cast<size_t>(file)][static_cast<size_t>(reg)];
  }

  void step(const Instruction& instruction) {
    const Operands operands = operands_of(instruction);
    if (instruction.opcode == nullptr || instruction.opcode->code == 0x118) return;
    if (instruction.opcode->code == 0x002 && instruction.guard.always() &&
        instruction.registers().size() == 2) {
      state_[0][static_cast<size_t>(instruction.registers()[0].first)] =
          general(instruction.registers().back().first);
      return;
    }
    Word key = with_control(instruction.word, {});
    std::vector<uint64_t> read;
    for (const RegisterUse& use : instruction.registers()) {
      key = with_bits(key, register_field(instruction, use.slot), 8, 0);
      for (int r = 0; r < use.count && !use.written; ++r)
        read.push_back(use.first == kZeroRegister ? 0 : general(use.first + r));
    }
    if (instruction.target) key = with_bits(with_bits(key, 34, 48, 0), 16, 8, 0);
    if (instruction.opcode->code == 0x023 && read[0] > read[1]) std::swap(read[0], read[1]);
    for (const Operand& operand : operands.reads())
      for (int r = 0; r < operand.count && operand.file != File::general; ++r)
        read.push_back(value(operand.file, operand.first + r));
    uint64_t hash = with(key.lo, key.hi);
    for (const uint64_t v : read) hash = with(hash, v);
    apply(instruction, operands, hash);
  }

  void apply(const Instruction& instruction, const Operands& operands, uint64_t hash) {
    const bool never = instruction.guard.predicate == kTruePredicate && instruction.guard.negated;
    if (never) return;
    switch (operands.effect) {
      case Effect::none:
      case Effect::constant_read:
        break;
      case Effect::shared_read:
        hash = with(hash, shared_);
        break;
      case Effect::global_read:
      case Effect::local_read:
        hash = with(hash, other_);
        break;
      case Effect::async_commit:
      case Effect::control:
        effects_ = with(effects_, hash);
        break;
      case Effect::shared_write:
      case Effect::async_copy:
      case Effect::async_wait:
        effects_ = with(effects_, hash);
        if (!slots_apart_) shared_ = effects_;
        break;
      default:
        effects_ = with(effects_, hash);
        other_ = shared_ = effects_;
        break;
    }
    uint64_t index = 0;
    const uint64_t guard = instruction.guard.always() ? 0 : uint64_t{1} << index;
    for (const Operand& write : operands.writes())
      for (int r = 0; r < write.count; ++r) {
        uint64_t& place =
            state_[static_cast<size_t>(write.file)][static_cast<size_t>(write.first + r)];
        // Under a guard, the old value may stay.
        place = guard == 0 ? with(hash, index) : with(with(hash, index), place);
        ++index;
      }
  }

  int sm_;
  bool slots_apart_;
  std::array<std::array<uint64_t, 256>, 4> state_{};
  uint64_t shared_ = 1, other_ = 2, effects_ = 3;
};

/// General registers that the code of `kernel` from word `end` on may read.
inline std::vector<int> wanted_behind(const Kernel& kernel, int sm, size_t end) {
  const std::vector<Instruction> all = decode_all(kernel.words, sm);
  const Flow flow = find_flow(all);
  const std::vector<Registers> live = live_at_tops(all, flow);
  std::vector<int> out;
  for (size_t b = 0; b < flow.blocks.size(); ++b)
    for (int reg = 0; reg < kZeroRegister && flow.blocks[b].begin == end; ++reg)
      if (live[b][static_cast<size_t>(reg)]) out.push_back(reg);
  return out;
}

/// Whether both do the same in `trips` trips: the order of effects, and every general register of
/// `wanted` behind the loop. `edit` has to be within the words.
inline bool same_by_simulation(std::span<const Word> before, std::span<const Word> after,
                               const LoopEdit& edit, int sm, std::span<const int> wanted,
                               int trips = 3) {
  Simulation old(sm, 7, edit.slots_apart), now(sm, 7, edit.slots_apart);
  now.run(after, edit.new_begin, edit.new_loop_begin);
  for (int trip = 0; trip < trips; ++trip) {
    old.run(before, edit.old_begin, edit.old_end);
    now.run(after, edit.new_loop_begin, edit.new_loop_end);
  }
  now.run(after, edit.new_loop_end, edit.new_end);
  return old.effects() == now.effects() &&
         std::ranges::all_of(wanted, [&](int reg) { return old.general(reg) == now.general(reg); });
}

}  // namespace tilec::sass
