// Rules `control`, `board` and `reuse`: what a word's control fields may say, from the word and its
// neighbours.
//
// Sources: over all examples on sm_80, sm_86, sm_89 and sm_90a the assembler writes stalls of 1 to
// 11 with the yield bit set or clear, 12 and 13 with it clear, and 0 on padding alone; write
// barriers on instructions of variable latency alone, read barriers on those that read late alone;
// nothing but LDGDEPBAR and DEPBAR on the scoreboard that counts asynchronous copies.
#include <fmt/format.h>

#include "compiler/sass/verify_parts.h"

namespace tilec::sass::verify {
namespace {

std::string fault_of_stall(const Control& control) {
  const bool seen = (control.stall >= 1 && control.stall <= 11) ||
                    (control.stall >= 12 && control.stall <= 13 && !control.yield);
  return seen ? "" : fmt::format("stall {} with yield {:d}", control.stall, control.yield);
}

std::string fault_of_barriers(const Control& control, const Operands& operands) {
  if (control.write_barrier == 6 || control.read_barrier == 6) return "there is no scoreboard 6";
  if (control.write_barrier != kNoBarrier && !operands.variable_latency)
    return "a write barrier on an instruction of fixed latency";
  if (control.read_barrier != kNoBarrier && !operands.reads_late())
    return "a read barrier on an instruction that reads as it issues";
  return "";
}

// Scoreboards that count asynchronous copies: set by commits anywhere in the kernel.
int counting(const Code& code) {
  int mask = 0;
  for (size_t i = 0; i < code.at.size(); ++i)
    if (code.operands[i].effect == Effect::async_commit)
      mask |= 1 << code.at[i].control.write_barrier;
  return mask;
}

std::string fault_of_boards(const Control& control, const Operands& operands, int counted) {
  if (operands.effect == Effect::async_commit)
    return control.write_barrier == kNoBarrier ? "a commit without a scoreboard" : "";
  const auto is_counted = [&](int board) { return board != kNoBarrier && (counted >> board & 1); };
  if (is_counted(control.write_barrier) || is_counted(control.read_barrier) ||
      (control.wait_mask & counted) != 0)
    return "the scoreboard counts asynchronous copies";
  return "";
}

constexpr Slot kSlots[] = {Slot::a, Slot::b, Slot::c};

const RegisterUse* read_in(const Instruction& instruction, Slot slot) {
  for (const RegisterUse& use : instruction.registers())
    if (use.slot == slot && !use.written && use.first != kZeroRegister) return &use;
  return nullptr;
}

bool writes(const Operands& operands, const RegisterUse& use) {
  for (const Operand& write : operands.writes())
    if (write.file == File::general && write.first < use.first + use.count &&
        use.first < write.first + write.count)
      return true;
  return false;
}

// Accesses to memory may leave the cache alone: they do not end the life of what it holds.
bool takes_from_cache(const Instruction& instruction, const Operands& operands, Slot slot) {
  return !operands.reads_late() && read_in(instruction, slot) != nullptr;
}

std::string fault_of_reuse(const Code& code, size_t at, size_t end, Slot slot) {
  const Instruction& instruction = code.at[at];
  const RegisterUse* use = read_in(instruction, slot);
  if (use == nullptr) return "reuse of an operand that is no register";
  if (code.operands[at].reads_late()) return "reuse of an operand that is read late";
  if (!instruction.guard.always()) return "reuse under a guard";
  if (writes(code.operands[at], *use)) return "reuse of a register that the instruction overwrites";
  for (size_t next = at + 1; next < end; ++next) {
    if (takes_from_cache(code.at[next], code.operands[next], slot)) return "";
    if (code.operands[next].effect == Effect::control) break;
    if (writes(code.operands[next], *use))
      return fmt::format("reuse of R{}, which word {} overwrites", use->first, next);
  }
  return "reuse of an operand across a branch";
}

std::optional<Finding> check_reuse(const Code& code, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const int reuse = code.at[i].control.reuse;
    if (reuse > 7) return Finding{i, "reuse", "there is no slot of bit 3"};
    for (const Slot slot : kSlots) {
      if ((reuse >> static_cast<int>(slot) & 1) == 0) continue;
      if (const std::string fault = fault_of_reuse(code, i, end, slot); !fault.empty())
        return Finding{i, "reuse", fault};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> check_control(const Both& both) {
  const Code& code = both.after;
  const LoopEdit& edit = both.edit;
  const int counted = counting(both.before) | counting(both.after);
  for (size_t i = edit.new_begin; i < edit.new_end; ++i) {
    const Control& control = code.at[i].control;
    const Operands& operands = code.operands[i];
    if (const std::string fault = fault_of_stall(control); !fault.empty())
      return Finding{i, "control", fault};
    if (const std::string fault = fault_of_barriers(control, operands); !fault.empty())
      return Finding{i, "control", fault};
    if (const std::string fault = fault_of_boards(control, operands, counted); !fault.empty())
      return Finding{i, "board", fault};
  }
  if (auto finding = check_reuse(code, edit.new_begin, edit.new_loop_begin)) return finding;
  if (auto finding = check_reuse(code, edit.new_loop_begin, edit.new_loop_end)) return finding;
  return check_reuse(code, edit.new_loop_end, edit.new_end);
}

}  // namespace tilec::sass::verify
