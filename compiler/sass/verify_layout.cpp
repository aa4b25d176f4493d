// Rules `shape` and `layout`, and `words`.
#include <fmt/format.h>

#include <map>

#include "compiler/sass/verify_parts.h"

namespace tilec::sass::verify {
namespace {

constexpr uint16_t kNop = 0x118, kPushSync = 0x145;
// Instructions that know where they stand, or where others do: CALL and RET with their addresses,
// BRX, LEPC, RPCMOV.
constexpr uint16_t kPlaced[] = {0x143, 0x144, 0x149, 0x14a, 0x14c, 0x14e, 0x150, 0x152, 0x153};

bool is_nop(const Instruction& instruction) {
  return instruction.opcode != nullptr && instruction.opcode->code == kNop;
}

bool is_placed(const Instruction& instruction) {
  if (instruction.opcode == nullptr) return true;
  for (const uint16_t code : kPlaced)
    if (instruction.opcode->code == code) return !is_jump(instruction);
  return false;
}

// Words of straight code within a region: nothing that jumps, nothing unknown.
std::optional<Finding> check_straight(const Code& code, size_t begin, size_t end, size_t shown) {
  for (size_t i = begin; i < end; ++i) {
    const std::string name = name_of(code.at[i]);
    if (!code.operands[i].known)
      return Finding{shown + (i - begin), "shape", name + " is not in the table of operands"};
    if (code.operands[i].effect == Effect::control)
      return Finding{shown + (i - begin), "shape", name + " within straight code"};
  }
  return std::nullopt;
}

// Index in the new words of what stands at `old`; none within the loop.
std::optional<size_t> moved(const LoopEdit& edit, size_t old) {
  if (old <= edit.old_begin) return old;
  if (old < edit.old_end) return std::nullopt;
  return old - edit.old_end + edit.new_end;
}

std::optional<Finding> compare_word(const Both& both, size_t old, size_t now) {
  const Instruction& was = both.before.at[old];
  const Instruction& is = both.after.at[now];
  if (!was.target) {
    if (was.word == is.word) return std::nullopt;
    return Finding{now, "layout",
                   fmt::format("a word outside of the loop changed: {}", name_of(was))};
  }
  const auto blank = [](const Instruction& instruction) {
    if (is_jump(instruction)) {
      const Word word = with_bits(instruction.word, 34, 48, 0);
      return instruction.opcode->code == 0x147 ? with_bits(word, 16, 8, 0) : word;
    }
    return instruction.opcode->code == kPushSync ? with_bits(instruction.word, 34, 30, 0)
                                                 : instruction.word;
  };
  if (is.opcode != was.opcode || !is.target || blank(was) != blank(is))
    return Finding{now, "layout",
                   fmt::format("a jump outside of the loop changed: {}", name_of(was))};
  if (*was.target < 0 || *was.target % kWordBytes != 0)
    return Finding{now, "layout", "a jump out of the kernel"};
  const std::optional<size_t> target =
      moved(both.edit, static_cast<size_t>(*was.target) / kWordBytes);
  if (!target) return Finding{now, "layout", "a jump from outside lands within the loop"};
  if (*is.target != int64_t(*target) * kWordBytes)
    return Finding{now, "layout",
                   fmt::format("a jump to word {} lands at byte {:#x}", *target, *is.target)};
  return std::nullopt;
}

}  // namespace

std::optional<Finding> check_shape(const Both& both) {
  const LoopEdit& edit = both.edit;
  const auto old_tail = find_tail(both.before, edit.old_begin, edit.old_end);
  const auto new_tail = find_tail(both.after, edit.new_loop_begin, edit.new_loop_end);
  if (!old_tail) return Finding{edit.new_begin, "shape", "the old loop is not one block"};
  if (!new_tail) return Finding{edit.new_loop_end - 1, "shape", "the new loop is not one block"};
  for (size_t i = new_tail->decides; i < edit.new_loop_end; ++i)
    if (!both.after.operands[i].known)
      return Finding{i, "shape", "a branch that is not in the table of operands"};
  if (auto finding = check_straight(both.before, edit.old_begin, old_tail->decides, edit.new_begin))
    return finding;
  if (auto finding =
          check_straight(both.after, edit.new_begin, edit.new_loop_begin, edit.new_begin))
    return finding;
  if (auto finding =
          check_straight(both.after, edit.new_loop_begin, new_tail->decides, edit.new_loop_begin))
    return finding;
  return check_straight(both.after, edit.new_loop_end, edit.new_end, edit.new_loop_end);
}

std::optional<Finding> check_layout(const Both& both) {
  const LoopEdit& edit = both.edit;
  const size_t old_count = both.before.at.size();
  const size_t new_count = both.after.at.size();
  for (size_t old = 0; old < old_count; ++old) {
    if (old == edit.old_begin) old = edit.old_end;
    if (old >= old_count) break;
    const size_t now = *moved(edit, old);
    if (now >= new_count) {  // padding may be dropped
      if (is_nop(both.before.at[old])) continue;
      return Finding{new_count, "layout", "words behind the loop are missing"};
    }
    if (edit.new_end != edit.old_end && is_placed(both.before.at[old]))
      return Finding{now, "layout",
                     name_of(both.before.at[old]) + " may depend on where it stands"};
    if (auto finding = compare_word(both, old, now)) return finding;
  }
  for (size_t now = *moved(edit, old_count); now < new_count; ++now)
    if (!is_nop(both.after.at[now]))
      return Finding{now, "layout", "a word behind the kernel's end"};
  return std::nullopt;
}

std::optional<Finding> check_words(const Both& both) {
  std::map<std::pair<uint64_t, uint64_t>, int> left;  // of the old loop, by word without registers
  const auto key = [](const Instruction& instruction) {
    const Word word = without_registers(instruction);
    return std::pair(word.lo, word.hi);
  };
  const auto is_free = [](const Instruction& instruction) {
    return is_copy(instruction) || is_nop(instruction);
  };
  for (size_t i = both.edit.old_begin; i < both.edit.old_end; ++i)
    if (!is_free(both.before.at[i])) ++left[key(both.before.at[i])];
  for (size_t i = both.edit.new_loop_begin; i < both.edit.new_loop_end; ++i)
    if (!is_free(both.after.at[i]) && --left[key(both.after.at[i])] < 0)
      return Finding{i, "words",
                     "the old loop has no such instruction left: " + name_of(both.after.at[i])};
  for (size_t i = both.edit.old_begin; i < both.edit.old_end; ++i)
    if (!is_free(both.before.at[i]) && left[key(both.before.at[i])] > 0)
      return Finding{
          both.edit.new_loop_begin, "words",
          fmt::format("{} of the old loop (word {}) is missing", name_of(both.before.at[i]), i)};
  return std::nullopt;
}

}  // namespace tilec::sass::verify
