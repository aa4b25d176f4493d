#include "compiler/sass/operands.h"

#include <algorithm>
#include <string_view>

namespace tilec::sass {
namespace {

using enum Effect;

enum class Timing : uint8_t { fixed, variable };
using enum Timing;

// A row adds to what opcodes.cpp says of general registers. `fields`, a letter each:
//
//   u v    predicates written at bits 81, 84        p q r  predicates read at bits 87, 77, 68
//   R      as r, uniform where bit 67 is set
//   D      uniform register written at bit 16       A B C  uniform registers read at 24, 32, 64
//   E      pair written at 16, F pair read at 64    S      one or a pair at 16 by the size field
//   m s    where bit 91 is set, a uniform register of the address at bit 32, 64
//   n t    where bit 91 is set, a descriptor (a uniform pair) at bit 32, 64
//   P      all predicates read                      0      no general registers, whatever
//   opcodes.cpp 1      general operands of width `varies` are one register each
//
// `uniform`: the operation runs in the uniform datapath, its predicates are uniform ones.
struct Row {
  uint16_t code = 0;       // low 9 bits
  std::string_view forms;  // digits
  std::string_view fields;
  Effect effect = none;
  Timing timing = fixed;
  bool uniform = false;
  int first_sm = 80;
  int last_sm = 99;
};

// clang-format off
constexpr auto kRows = std::to_array<Row>({
    {0x002, "1456",    "",       none},                            // MOV
    {0x003, "4",       "P",      none},                            // P2R
    {0x005, "4",       "",       none},                            // CS2R
    {0x007, "1456",    "p",      none},                            // SEL
    {0x008, "1456",    "p",      none},                            // FSEL
    {0x009, "1456",    "p",      none},                            // FMNMX
    {0x00a, "1456",    "p",      none},                            // FSET
    {0x00b, "1456",    "uvp",    none},                            // FSETP
    {0x00c, "1456",    "uvpr",   none},                            // ISETP
    {0x010, "1456",    "uvpq",   none},                            // IADD3
    {0x011, "1456",    "up",     none},                            // LEA
    {0x012, "1456",    "up",     none},                            // LOP3
    {0x013, "15",      "",       none},                            // IABS
    {0x016, "123456",  "",       none},                            // PRMT
    {0x017, "1456",    "p",      none},                            // IMNMX
    {0x019, "1234567", "",       none},                            // SHF
    {0x01a, "1456",    "",       none},                            // SGXT
    {0x01c, "4",       "uvpqR",  none},                            // PLOP3
    {0x020, "1456",    "",       none},                            // FMUL
    {0x021, "1237",    "",       none},                            // FADD
    {0x023, "1234567", "",       none},                            // FFMA
    {0x024, "1234567", "up",     none},                            // IMAD
    {0x025, "134567",  "up",     none},                            // IMAD.WIDE
    {0x027, "13456",   "up",     none},                            // IMAD.HI
    {0x031, "12345",   "",       none},                            // HFMA2
    {0x035, "12345",   "",       none},                            // HFMA2.MMA
    {0x036, "146",     "",       none},                            // VIADD
    {0x046, "12467",   "p",      none},                            // VIADDMNMX
    {0x048, "146",     "p",      none},                            // VIMNMX
    {0x082, "46",      "DB",     none, fixed, true},               // UMOV
    {0x087, "14",      "DABp",   none, fixed, true},               // USEL
    {0x08c, "14",      "ABuvpr", none, fixed, true},               // UISETP
    {0x090, "14",      "DABCuvpq", none, fixed, true},             // UIADD3
    {0x091, "1",       "DABCup", none, fixed, true},               // ULEA
    {0x092, "14",      "DABCup", none, fixed, true},               // ULOP3
    {0x096, "4",       "DAC",    none, fixed, true},               // UPRMT
    {0x099, "14",      "DABC",   none, fixed, true},               // USHF
    {0x0a4, "14",      "DABCup", none, fixed, true},               // UIMAD
    {0x0a5, "14",      "EABFup", none, fixed, true},               // UIMAD.WIDE
    {0x0b9, "5",       "S",      constant_read, fixed, true},      // ULDC
    {0x0ca, "1",       "D",      none, fixed, false, 90},          // R2UR
    {0x105, "1",       "1",      none, variable},                  // F2I
    {0x106, "16",      "1",      none, variable},                  // I2F
    {0x108, "1456",    "1",      none, variable},                  // MUFU
    {0x118, "4",       "",       none},                            // NOP
    {0x119, "4",       "",       none, variable},                  // S2R
    {0x11a, "4",       "",       async_wait},                      // DEPBAR
    {0x11d, "5",       "",       block_barrier},                   // BAR
    {0x141, "4",       "p",      control},                         // BSYNC
    {0x144, "4", "", control},                             // CALL.REL.NOINC: a jump
    {0x145, "4",       "p",      control},                         // BSSY
    {0x147, "4",       "p",      control},                         // BRA
    {0x14d, "4",       "p",      control},                         // EXIT
    {0x180, "4",       "n",      global_read, variable},           // LD
    {0x181, "4",       "n",      global_read, variable},           // LDG
    {0x182, "5",       "",       constant_read, variable},         // LDC
    {0x183, "4",       "",       local_read, variable},            // LDL
    {0x184, "4",       "m",      shared_read, variable},           // LDS
    {0x186, "4",       "t",      global_write},                    // STG
    {0x187, "1",       "",       local_write},                     // STL
    {0x188, "1",       "",       shared_write},                    // STS
    {0x188, "4",       "s",      shared_write},                    // STS
    {0x18e, "4",       "t1",     atomic},                          // RED
    {0x18f, "4",       "0",      fence},                           // CCTL.IVALL
    {0x192, "4",       "",       fence},                           // MEMBAR
    {0x1a6, "4",       "t1",     atomic},                          // REDG
    {0x1ab, "2",       "",       fence, fixed, false, 90},         // CGAERRBAR
    {0x1ab, "4",       "",       fence},                           // ERRBAR
    {0x1ae, "7",       "pt",     async_copy},                      // LDGSTS
    {0x1af, "4",       "",       async_commit, variable},          // LDGDEPBAR
    {0x1c2, "1",       "D",      none, variable, false, 80, 89},   // R2UR
    {0x1c3, "4",       "D",      none, variable},                  // S2UR
    {0x1c6, "1",       "",       cluster_barrier, fixed, false, 90},   // FENCE.VIEW.ASYNC
    {0x1c7, "46",      "",       cluster_barrier, fixed, false, 90},  // UCGABAR_ARV, _WAIT
});
// clang-format on

static_assert(std::ranges::is_sorted(kRows, {}, &Row::code));

const Row* find_row(const Opcode& opcode, int form) {
  const char digit = static_cast<char>('0' + form);
  for (const Row& row : std::ranges::equal_range(kRows, opcode.code, {}, &Row::code)) {
    // The same code may be another instruction on a later machine.
    const bool same_machine = row.first_sm <= opcode.last_sm && opcode.first_sm <= row.last_sm;
    if (same_machine && row.forms.find(digit) != std::string_view::npos) return &row;
  }
  return nullptr;
}

void add(Operands& out, bool written, File file, int first, int count = 1) {
  if (first >= file_size(file)) return;  // RZ, URZ, PT, UPT
  const Operand operand{file, static_cast<uint8_t>(first), static_cast<uint8_t>(count)};
  if (written)
    out.written_list[static_cast<size_t>(out.written_count++)] = operand;
  else
    out.read_list[static_cast<size_t>(out.read_count++)] = operand;
}

int field(Word word, int first, int count) {
  return static_cast<int>(bits(word, first, count));
}

void add_field(Operands& out, char letter, Word word, bool is_uniform_row) {
  const File predicates = is_uniform_row ? File::uniform_predicate : File::predicate;
  const bool has_uniform = bits(word, 91, 1) != 0;
  const bool is_immediate = form_of(word) == 4;  // in place of B
  switch (letter) {
    case 'P':
      for (int i = 0; i < kTruePredicate; ++i) add(out, false, File::predicate, i);
      return;
    case 'u':
      return add(out, true, predicates, field(word, 81, 3));
    case 'v':
      return add(out, true, predicates, field(word, 84, 3));
    case 'p':
      return add(out, false, predicates, field(word, 87, 3));
    case 'q':
      return add(out, false, predicates, field(word, 77, 3));
    case 'r':
      return add(out, false, predicates, field(word, 68, 3));
    case 'R':
      return add(out, false, bits(word, 67, 1) != 0 ? File::uniform_predicate : predicates,
                 field(word, 68, 3));
    case 'D':
      return add(out, true, File::uniform, field(word, 16, 6));
    case 'E':
      return add(out, true, File::uniform, field(word, 16, 6), 2);
    case 'S':
      return add(out, true, File::uniform, field(word, 16, 6), field(word, 73, 3) == 5 ? 2 : 1);
    case 'A':
      return add(out, false, File::uniform, field(word, 24, 6));
    case 'B':
      if (!is_immediate) add(out, false, File::uniform, field(word, 32, 6));
      return;
    case 'C':
      return add(out, false, File::uniform, field(word, 64, 6));
    case 'F':
      return add(out, false, File::uniform, field(word, 64, 6), 2);
    case 'm':
      if (has_uniform) add(out, false, File::uniform, field(word, 32, 6));
      return;
    case 's':
      if (has_uniform) add(out, false, File::uniform, field(word, 64, 6));
      return;
    case 'n':
      if (has_uniform) add(out, false, File::uniform, field(word, 32, 6), 2);
      return;
    case 't':
      if (has_uniform) add(out, false, File::uniform, field(word, 64, 6), 2);
      return;
    default:
      return;
  }
}

// Modifiers with operands or meanings that the table does not cover.
bool is_covered(const Instruction& instruction, const Row& row) {
  const Word word = instruction.word;
  const int form = form_of(word);
  const bool has_uniform = bits(word, 91, 1) != 0;
  const std::string_view fields = row.fields;
  const bool takes_uniform = row.uniform || fields.find_first_of("mnst") != std::string_view::npos;
  const bool in_form = has_operand_forms(*instruction.opcode) && (form == 6 || form == 7);
  if (row.effect == cluster_barrier) return true;  // which has no operand: bit 91 is another's
  if (has_uniform && !takes_uniform && !in_form) return false;  // c[][UR], cx[UR][]
  if (!has_uniform && in_form && !row.uniform) return false;
  switch (row.code) {
    case 0x005:  // CS2R of RZ: others may be clocks
      return bits(word, 72, 8) == 0xff;
    case 0x119:  // S2R, S2UR: clocks and timers change
    case 0x1c3:
      return bits(word, 72, 8) < 0x50 || bits(word, 72, 8) > 0x5f;
    case 0x11d:  // BAR.SYNC on all threads: no reduction, no predicate
      return bits(word, 77, 3) == 0 && bits(word, 87, 4) == 0;
    case 0x18f:  // CCTL.IVALL: others name an address
      return bits(word, 87, 4) == 4 && bits(word, 72, 1) == 0 && bits(word, 24, 8) == 0xff;
    case 0x144:  // CALL.REL.NOINC jumps; others come back
      return bits(word, 84, 3) == 4;
    case 0x181:  // a predicate written
      return bits(word, 81, 3) == kTruePredicate;
    default:
      return true;
  }
}

// Guards of these were never seen: which file they name is not known.
bool is_guard_known(const Instruction& instruction, const Row& row) {
  if (instruction.guard.predicate == kTruePredicate) return true;
  const bool writes_uniform = row.fields.find_first_of("DES") != std::string_view::npos;
  return !writes_uniform || (row.uniform && row.code != 0x0b9);
}

}  // namespace

bool Operands::reads_late() const {
  switch (effect) {
    case none:
    case constant_read:
      return variable_latency;
    case async_commit:
    case async_wait:
    case block_barrier:
    case cluster_barrier:
    case fence:
    case control:
      return false;
    default:
      return true;
  }
}

Operands operands_of(const Instruction& instruction) {
  Operands out;
  if (instruction.opcode == nullptr) return out;
  const int form = form_of(instruction.word);
  const Row* row = find_row(*instruction.opcode, form);
  if (row == nullptr) return out;
  const bool one_each = row->fields.find_first_of("01") != std::string_view::npos;
  out.known = (instruction.registers_known || one_each) && is_covered(instruction, *row) &&
              is_guard_known(instruction, *row);
  out.effect = row->effect;
  out.variable_latency = row->timing == variable;
  for (const RegisterUse& use : instruction.registers()) {
    const bool is_pair = use.slot == Slot::a && row->effect == atomic;
    add(out, use.written, File::general, use.first, use.count == 0 ? (is_pair ? 2 : 1) : use.count);
  }
  if (has_operand_forms(*instruction.opcode) && (form == 6 || form == 7) && !row->uniform) {
    const bool is_pair = instruction.opcode->width == Width::wide && form == 7;
    add(out, false, File::uniform, field(instruction.word, 32, 6), is_pair ? 2 : 1);
  }
  const bool from_bank = has_operand_forms(*instruction.opcode) && (form == 3 || form == 5);
  if (from_bank && out.effect == none) out.effect = constant_read;
  for (const char letter : row->fields) add_field(out, letter, instruction.word, row->uniform);
  add(out, false, row->uniform ? File::uniform_predicate : File::predicate,
      instruction.guard.predicate);
  return out;
}

const Operand* guard_of(const Instruction& instruction, const Operands& operands) {
  if (instruction.guard.always() || operands.reads().empty()) return nullptr;
  const Operand& last = operands.reads().back();  // where operands_of puts it
  return last.first == instruction.guard.predicate ? &last : nullptr;
}

Word with_register(const Instruction& instruction, Slot slot, int reg) {
  return with_bits(instruction.word, register_field(instruction, slot), 8,
                   static_cast<uint64_t>(reg));
}

}  // namespace tilec::sass
