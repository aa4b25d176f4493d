// The one table of opcodes: code, name, operands, class.
//
// The low 12 bits of a word are the opcode. Its low 9 bits say what the instruction does; bits 9 to
// 11, here its *form*, say where an arithmetic instruction takes its operands from:
//
//   form  low 12 bits  operand b              operand c
//   1     2xx 3xx      register, bits 32..39  register, bits 64..71
//   2     4xx 5xx      register, bits 64..71  immediate, bits 32..63
//   3     6xx 7xx      register, bits 64..71  constant bank
//   4     8xx 9xx      immediate              register, bits 64..71
//   5     axx bxx      constant bank          register, bits 64..71
//   6     cxx dxx      uniform register       register, bits 64..71
//   7     exx fxx      register, bits 64..71  uniform register
//
// The destination stands in bits 16..23, operand a in 24..31. Other instructions (memory, control)
// keep their register fields in place; their form says something of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/sass/classes.h"
#include "compiler/sass/word.h"

namespace tilec::sass {

/// How many registers the operands have.
enum class Width : uint8_t {
  one,     // one register each
  two,     // aligned pairs: 64 bits
  marked,  // a pair where bit 80 is set, else one: CS2R, MOV
  wide,    // IMAD.WIDE: destination and c are pairs
  local,   // data by the size field (bits 73..75), address one register: shared and local memory
  global,  // data by the size field, address a pair where bit 72 is set
  varies,  // by modifiers that we do not read: the first register is known, the count is not
};

struct Opcode {
  std::string_view name;   // as nvdisasm prints it, with the part that tells it from its neighbours
  uint16_t code = 0;       // low 9 bits
  std::string_view forms;  // those seen, a digit each
  /// General registers, in order of the text: D written, d a b c read, each from its own field;
  /// k is operand c in the field of b (FADD), B operand b in its field whatever the form (SEL.64).
  /// "?": operands that are not decoded.
  std::string_view slots;
  Width width = Width::one;
  Class kind = Class::unknown;
  int first_sm = 80;
  int last_sm = 120;
};

/// The whole table, by rising code.
std::span<const Opcode> opcodes();

/// The row for `word` on `sm` (90 for sm_90a); null if it is not in the table.
const Opcode* find_opcode(Word word, int sm);

constexpr int form_of(Word word) {
  return static_cast<int>(bits(word, 9, 3));
}

/// Whether forms mean what the table above says: arithmetic. Others, STSM (0x044) among them, keep
/// their fields in place.
constexpr bool has_operand_forms(const Opcode& opcode) {
  return opcode.code < 0x118 && opcode.code != 0x044;
}

}  // namespace tilec::sass
