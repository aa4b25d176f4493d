// What all parts of the verifier read: words with the ways between them, and who reads what later.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/sass/verify_parts.h"

namespace tilec::sass::verify {
namespace {

constexpr uint16_t kMov = 0x002, kCs2r = 0x005, kImad = 0x024;
constexpr uint16_t kCall = 0x144, kBra = 0x147, kExit = 0x14d;
// Jumps whose end does not stand in the word: CALL, BRX, RET and their like.
constexpr uint16_t kLost[] = {0x143, 0x144, 0x149, 0x14a, 0x14c, 0x150};

bool is_always(const Instruction& instruction) {
  if (!instruction.guard.always()) return false;
  const bool is_decided = instruction.opcode->code == kBra || instruction.opcode->code == kExit;
  return !is_decided || (form_of(instruction.word) == 4 &&
                         bits(instruction.word, 87, 4) == uint64_t{kTruePredicate});
}

void add_ways(Code& code, size_t i) {
  const Instruction& instruction = code.at[i];
  const auto go = [&](size_t to) {
    if (to < code.at.size())
      code.next[i].push_back(to);
    else
      code.lost[i] = true;
  };
  if (instruction.opcode == nullptr) code.lost[i] = true;
  const uint16_t low = instruction.opcode == nullptr ? 0 : instruction.opcode->code;
  if (is_jump(instruction)) {
    go(static_cast<size_t>(*instruction.target) / kWordBytes);
    if (!is_always(instruction)) go(i + 1);
  } else if (low == kExit) {
    if (!is_always(instruction)) go(i + 1);
  } else {
    if (std::ranges::find(kLost, low) != std::end(kLost)) code.lost[i] = true;
    if (i + 1 < code.at.size()) go(i + 1);
  }
}

Locations all_locations() {
  return Locations().set();
}

// Before instruction i, given what is wanted behind it.
void step_back(const Code& code, size_t i, Locations& wanted) {
  const Operands& operands = code.operands[i];
  if (!operands.known) {
    wanted = all_locations();
    return;
  }
  if (code.at[i].guard.always())
    for (const Operand& write : operands.writes())
      for (int r = 0; r < write.count; ++r) wanted.reset(location(write.file, write.first + r));
  for (const Operand& read : operands.reads())
    for (int r = 0; r < read.count; ++r) wanted.set(location(read.file, read.first + r));
}

}  // namespace

std::string location_name(size_t location) {
  if (location < 256) return fmt::format("R{}", location);
  if (location < 320) return fmt::format("UR{}", location - 256);
  if (location < 328) return fmt::format("P{}", location - 320);
  return fmt::format("UP{}", location - 328);
}

bool is_jump(const Instruction& instruction) {
  if (instruction.opcode == nullptr || !instruction.target || *instruction.target < 0) return false;
  const uint16_t code = instruction.opcode->code;
  return code == kBra || (code == kCall && operands_of(instruction).known);
}

Word without_registers(const Instruction& instruction) {
  Word word = with_control(instruction.word, {});
  for (const RegisterUse& use : instruction.registers())
    word = with_bits(word, register_field(instruction, use.slot), 8, 0);
  if (!is_jump(instruction)) return word;
  word = with_bits(word, 34, 48, 0);
  return instruction.opcode->code == kBra ? with_bits(word, 16, 8, 0) : word;
}

bool is_copy(const Instruction& instruction) {
  if (instruction.opcode == nullptr || !instruction.guard.always()) return false;
  const Word word = instruction.word;
  switch (instruction.opcode->code) {
    case kMov:
      return form_of(word) == 1 && bits(word, 72, 9) == 0xf;
    case kCs2r:
      return operands_of(instruction).known;  // of RZ
    case kImad:                               // RZ * RZ + c, no modifier
      return form_of(word) == 1 && instruction.read(Slot::a) == kZeroRegister &&
             instruction.read(Slot::b) == kZeroRegister && bits(word, 40, 24) == 0 &&
             (bits(word, 72, 9) & ~uint64_t{2}) == 0 && bits(word, 81, 3) == kTruePredicate;
    default:
      return false;
  }
}

Code read_code(std::span<const Word> words, int sm) {
  Code code{.sm = sm, .at = decode_all(words, sm)};
  code.operands.reserve(words.size());
  for (const Instruction& instruction : code.at) code.operands.push_back(operands_of(instruction));
  code.next.resize(words.size());
  code.lost.resize(words.size(), false);
  for (size_t i = 0; i < words.size(); ++i) add_ways(code, i);
  return code;
}

std::optional<Tail> find_tail(const Code& code, size_t begin, size_t end) {
  const auto jumps = [&](size_t from, size_t to) {
    return is_jump(code.at[from]) && *code.at[from].target == int64_t(to) * kWordBytes;
  };
  if (end <= begin || !jumps(end - 1, begin)) return std::nullopt;
  if (!is_always(code.at[end - 1])) return Tail{end - 1, 1};
  if (end - begin < 2 || !jumps(end - 2, end) || is_always(code.at[end - 2])) return std::nullopt;
  return Tail{end - 2, 2};
}

Locations live_at(const Code& code, size_t at) {
  std::vector<Locations> live(code.at.size());
  const auto wanted_behind = [&](size_t i) {
    Locations wanted;
    if (code.lost[i]) wanted = all_locations();
    for (const size_t to : code.next[i]) wanted |= live[to];
    return wanted;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = code.at.size(); i-- > 0;) {
      Locations wanted = wanted_behind(i);
      step_back(code, i, wanted);
      if (wanted == live[i]) continue;
      live[i] = wanted;
      changed = true;
    }
  }
  return at < live.size() ? live[at] : all_locations();
}

Locations live_before(const Code& code, size_t begin, size_t end, Locations wanted) {
  for (size_t i = end; i-- > begin;) step_back(code, i, wanted);
  return wanted;
}

}  // namespace tilec::sass::verify
