// Edits of loops, made by hand, for the verifier to judge.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/sass/operands.h"
#include "compiler/sass/verify_edit.h"
#include "tests/sass/kernels.h"

namespace tilec::sass {

struct Edited {
  int sm = 0;
  std::vector<Word> before, after;
  LoopEdit edit;

  std::optional<Finding> verdict() const { return verify_edit(before, after, edit, sm); }
  Instruction at(size_t word) const {
    return decode(after[word], static_cast<uint32_t>(word * kWordBytes), sm);
  }
  /// Words of the new loop whose instruction has this name.
  std::vector<size_t> named(std::string_view name) const {
    std::vector<size_t> out;
    for (size_t i = edit.new_loop_begin; i < edit.new_loop_end; ++i)
      if (name_of(at(i)) == name) out.push_back(i);
    return out;
  }
  Edited with(size_t word, Word other) const {
    Edited out = *this;
    out.after[word] = other;
    return out;
  }
  Edited with_control_of(size_t word, const Control& control) const {
    return with(word, with_control(after[word], control));
  }
  Edited swapped(size_t one, size_t other) const {
    Edited out = *this;
    std::swap(out.after[one], out.after[other]);
    return out;
  }
};

/// The kernel of an example as it is.
inline Edited unedited(const std::string& name, int sm) {
  for (const KernelWords& kernel : example_kernels()) {
    if (kernel.name != name || !std::ranges::count(kernel.machines, sm)) continue;
    const auto [begin, end] = *steady_block(decode_all(kernel.words, sm));
    return {sm, kernel.words, kernel.words, {begin, end, begin, end, begin, end}};
  }
  ADD_FAILURE() << "no kernel " << name;
  return {};
}

inline Word with_target(const Instruction& jump, int64_t target, int sm) {
  const int64_t distance = (target - jump.offset - int64_t{kWordBytes}) / 4;
  const auto bits_of = static_cast<uint64_t>(distance);
  if (jump.opcode->code == 0x145) return with_bits(jump.word, 34, 30, bits_of);
  if (sm < 90 || jump.opcode->code != 0x147) return with_bits(jump.word, 34, 48, bits_of);
  return with_bits(with_bits(jump.word, 34, 48, bits_of >> 8), 16, 8, bits_of);
}

/// A nop that takes `stall` cycles.
inline Word pause(int stall) {
  return with_control(nop(), {.stall = stall, .yield = stall < 12});
}

inline Word move(int to, int from) {
  Word word = with_bits(word_of(0x202), 72, 4, 0xf);
  word = with_bits(with_bits(word, 16, 8, static_cast<uint64_t>(to)), 32, 8,
                   static_cast<uint64_t>(from));
  return with_control(word, {.stall = 13, .yield = false});
}

/// `kernel` with `entry` before its loop and `leave` behind it.
inline Edited wrapped(const Edited& kernel, const std::vector<Word>& entry,
                      const std::vector<Word>& leave) {
  Edited out = kernel;
  const auto [begin, end] = std::pair(kernel.edit.old_begin, kernel.edit.old_end);
  const auto at = [](size_t n) { return static_cast<ptrdiff_t>(n); };
  out.after.insert(out.after.begin() + at(end), leave.begin(), leave.end());
  out.after.insert(out.after.begin() + at(begin), entry.begin(), entry.end());
  out.edit.new_loop_begin = begin + entry.size();
  out.edit.new_loop_end = end + entry.size();
  out.edit.new_end = out.edit.new_loop_end + leave.size();
  const auto moved = [&](size_t old) {
    return old <= begin ? old : old < end ? old + entry.size() : old + entry.size() + leave.size();
  };
  for (size_t old = 0; old < kernel.before.size(); ++old) {
    if (old >= begin && old < end) continue;
    const size_t now = old == begin ? out.edit.new_loop_begin : moved(old);
    const Instruction was =
        decode(kernel.before[old], static_cast<uint32_t>(old * kWordBytes), kernel.sm);
    if (!was.target) continue;
    const size_t target = moved(static_cast<size_t>(*was.target) / kWordBytes);
    out.after[now] = with_target(out.at(now), int64_t(target * kWordBytes), kernel.sm);
  }
  return out;
}

/// Accumulators of the loop, each named by its multiply-adds alone.
inline std::vector<int> lone_accumulators(const Edited& kernel) {
  std::set<int> found, other;
  for (size_t i = kernel.edit.new_loop_begin; i < kernel.edit.new_loop_end; ++i) {
    const Instruction instruction = kernel.at(i);
    for (const RegisterUse& use : instruction.registers()) {
      const bool adds = name_of(instruction) == "FFMA" && (use.written || use.slot == Slot::c) &&
                        instruction.read(Slot::c) == instruction.registers()[0].first;
      for (int r = 0; r < use.count; ++r) (adds ? found : other).insert(use.first + r);
    }
  }
  std::vector<int> out;
  std::ranges::set_difference(found, other, std::back_inserter(out));
  return out;
}

/// `kernel` with the accumulator `from` in `to` within the loop: a copy before it, one behind it.
inline Edited renamed(const Edited& kernel, int from, int to) {
  const Word wait = pause(13);
  Edited out = wrapped(kernel, {wait, wait, wait, wait, move(to, from)}, {wait, move(from, to)});
  for (size_t i = out.edit.new_loop_begin; i < out.edit.new_loop_end; ++i)
    for (const RegisterUse& use : out.at(i).registers())
      if (use.first == from) out.after[i] = with_register(out.at(i), use.slot, to);
  return out;
}

}  // namespace tilec::sass
