#include "compiler/sass/classes.h"

#include "compiler/sass/decode.h"

namespace tilec::sass {
namespace {

struct ClassRow {
  std::string_view name;
  std::string_view title;
};

constexpr std::array<ClassRow, kClasses> kRows = {{
    {"fma", "multiply-adds"},
    {"matrix", "tensor core"},
    {"fragment_load", "fragment loads"},
    {"slice_copy", "slice copies"},
    {"address", "addresses"},
    {"barrier", "barriers and waits"},
    {"move", "moves"},
    {"control", "control"},
    {"spill", "spills"},
    {"store", "stores"},
    {"float_other", "other floating point"},
    {"nop", "padding"},
    {"unknown", "unknown"},
}};

// The low 9 bits of opcodes that the assembler also uses for something simpler.
constexpr uint16_t kImad = 0x024, kHalfFma = 0x031, kHalfFmaMma = 0x035, kFloatFma2 = 0x049;

// A product with RZ: the instruction moves operand c. IMAD.MOV is RZ * RZ + c; IMAD.U32 with a
// uniform c likewise; HFMA2 with -RZ and RZ and an immediate loads that immediate.
bool is_product_of_zeros(const Instruction& instruction) {
  return instruction.read(Slot::a) == kZeroRegister && instruction.read(Slot::b) == kZeroRegister &&
         form_of(instruction.word) != 4 && form_of(instruction.word) != 5 &&
         form_of(instruction.word) != 6;
}

}  // namespace

std::string_view class_name(Class kind) {
  return kRows[static_cast<size_t>(kind)].name;
}
std::string_view class_title(Class kind) {
  return kRows[static_cast<size_t>(kind)].title;
}

Class classify(const Instruction& instruction) {
  if (instruction.opcode == nullptr) return Class::unknown;
  const uint16_t code = instruction.opcode->code;
  const bool moves_too = code == kImad || code == kHalfFma ||
                         (code == kHalfFmaMma && instruction.opcode->kind == Class::fma);
  if (moves_too && is_product_of_zeros(instruction)) return Class::move;
  return instruction.opcode->kind;
}

int multiply_adds(const Instruction& instruction) {
  if (classify(instruction) != Class::fma) return 0;
  switch (instruction.opcode->code) {
    case kFloatFma2:
    case kHalfFma:
    case kHalfFmaMma:
      return 2;
    default:
      return 1;
  }
}

}  // namespace tilec::sass
