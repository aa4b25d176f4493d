#include "compiler/sass/decode.h"

#include <fmt/format.h>

namespace tilec::sass {
namespace {

constexpr int kFieldD = 16, kFieldA = 24, kFieldB = 32, kFieldC = 64;  // first bits of registers

// The codes of instructions with a target in the word (low 9 bits).
constexpr uint16_t kBranch = 0x147, kPushSync = 0x145, kCall = 0x144;

// Registers of the data operand of loads and stores: 8, 8, 16, 16, 32, 64, 128 bits.
int data_registers(Word word) {
  const uint64_t size = bits(word, 73, 3);
  return size == 5 ? 2 : size == 6 ? 4 : 1;
}

int register_count(const Opcode& opcode, Word word, Slot slot, char letter) {
  switch (opcode.width) {
    case Width::one:
      return 1;
    case Width::two:
      return 2;
    case Width::marked:
      return static_cast<int>(1 + bits(word, 80, 1));
    case Width::wide:
      return slot == Slot::d || slot == Slot::c ? 2 : 1;
    case Width::local:
      return slot == Slot::a ? 1 : data_registers(word);
    case Width::global:
      if (letter == 'd') return 1;  // LDGSTS: an address in shared memory, and one in global
      if (slot != Slot::a) return data_registers(word);
      return opcode.slots.front() == 'd' || bits(word, 72, 1) != 0 ? 2 : 1;
    case Width::varies:
      return 0;
  }
  return 0;
}

// Where the operand of `letter` stands in a word of this form; -1 where it is no general register.
int field_of(char letter, int form, bool by_form) {
  const bool c_is_other = form == 2 || form == 3 || form == 7;
  const bool b_is_other = form >= 4 && form <= 6;
  switch (letter) {
    case 'D':
    case 'd':
      return kFieldD;
    case 'a':
      return kFieldA;
    case 'B':
      return kFieldB;
    case 'b':
      if (!by_form) return kFieldB;
      return b_is_other ? -1 : c_is_other ? kFieldC : kFieldB;
    case 'k':
      return c_is_other || b_is_other ? -1 : kFieldB;
    default:
      return by_form && c_is_other ? -1 : kFieldC;
  }
}

Slot slot_of(char letter) {
  switch (letter) {
    case 'a':
      return Slot::a;
    case 'b':
    case 'B':
      return Slot::b;
    case 'c':
    case 'k':
      return Slot::c;
    default:
      return Slot::d;
  }
}

// The field of operand `letter` in `instruction`; -1 where it is no general register there.
int field_in(const Instruction& instruction, char letter) {
  const Opcode& opcode = *instruction.opcode;
  const bool by_form = has_operand_forms(opcode);
  const int field = field_of(letter, form_of(instruction.word), by_form);
  // An operation on a and c alone has its second operand's kind in the place of c.
  const bool two_operands = opcode.slots.find('c') == std::string_view::npos;
  return letter == 'b' && two_operands && field == kFieldC && by_form ? -1 : field;
}

void add_registers(Instruction& instruction) {
  const Opcode& opcode = *instruction.opcode;
  instruction.registers_known = opcode.slots != "?" && opcode.width != Width::varies;
  if (opcode.slots == "?") return;
  for (const char letter : opcode.slots) {
    const int field = field_in(instruction, letter);
    if (field < 0) continue;
    const Slot slot = slot_of(letter);
    instruction.uses[static_cast<size_t>(instruction.use_count++)] = {
        .slot = slot,
        .written = letter == 'D',
        .first = static_cast<int>(bits(instruction.word, field, 8)),
        .count = register_count(opcode, instruction.word, slot, letter)};
  }
}

int64_t sign_extend(uint64_t value, int width) {
  const uint64_t sign = uint64_t{1} << (width - 1);
  return static_cast<int64_t>((value ^ sign) - sign);
}

// Targets count in 4 bytes from the next instruction. Up to sm_89 bits 34..81 hold them; from
// sm_90 on branches have 8 more low bits in 16..23. BSSY, which has flags above bit 64 from sm_100
// on, uses 34..63; CALL stayed as it was.
std::optional<int64_t> target_of(const Instruction& instruction, int sm) {
  if (instruction.opcode == nullptr) return std::nullopt;
  const uint16_t code = instruction.opcode->code;
  if (code != kBranch && code != kPushSync && code != kCall) return std::nullopt;
  const uint64_t field = bits(instruction.word, 34, 48);
  int64_t distance = sign_extend(field, 48);
  if (code == kPushSync) distance = sign_extend(bits(instruction.word, 34, 30), 30);
  if (code == kBranch && sm >= 90)
    distance =
        sign_extend((field << 8 | bits(instruction.word, 16, 8)) & ((uint64_t{1} << 56) - 1), 56);
  return instruction.offset + int64_t{kWordBytes} + distance * 4;
}

}  // namespace

int Instruction::read(Slot slot) const {
  for (const RegisterUse& use : registers())
    if (use.slot == slot && !use.written) return use.first;
  return kZeroRegister;
}

int register_field(const Instruction& instruction, Slot slot) {
  if (instruction.opcode == nullptr || instruction.opcode->slots == "?") return -1;
  for (const char letter : instruction.opcode->slots)
    if (slot_of(letter) == slot)
      if (const int field = field_in(instruction, letter); field >= 0) return field;
  return -1;
}

Instruction decode(Word word, uint32_t offset, int sm) {
  Instruction instruction{.offset = offset, .word = word, .opcode = find_opcode(word, sm)};
  instruction.guard = {.predicate = static_cast<int>(bits(word, 12, 3)),
                       .negated = bits(word, 15, 1) != 0};
  instruction.control = decode_control(word);
  if (instruction.opcode != nullptr) add_registers(instruction);
  instruction.target = target_of(instruction, sm);
  return instruction;
}

std::vector<Instruction> decode_all(std::span<const Word> words, int sm) {
  std::vector<Instruction> instructions;
  instructions.reserve(words.size());
  for (size_t i = 0; i < words.size(); ++i)
    instructions.push_back(decode(words[i], static_cast<uint32_t>(i * kWordBytes), sm));
  return instructions;
}

std::string name_of(const Instruction& instruction) {
  if (instruction.opcode != nullptr) return std::string(instruction.opcode->name);
  return fmt::format("unknown 0x{:03x}", bits(instruction.word, 0, 12));
}

}  // namespace tilec::sass
