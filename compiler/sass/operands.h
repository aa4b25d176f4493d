// Everything that an instruction reads and writes: general and uniform registers, predicates of
// both kinds, and what it does to memory. decode.h tells the general registers alone; whoever moves
// instructions needs all of it.
//
// One table (operands.cpp) says for each opcode which fields hold which operands. An opcode, a form
// or a modifier that is not in it leaves `known` false: nothing may be moved past such an
// instruction. The constants RZ, URZ, PT and UPT are no operands.
//
// Fields of predicates and uniform registers, as found by comparing nvdisasm's text with the bits
// of every instruction of the examples on sm_80, sm_86, sm_89 and sm_90a (tests/sass and
// tests/examples hold the comparison):
//
//   bits      field
//   12..15    guard, bit 15 negates; a uniform predicate where the operation is uniform
//   81..83    first predicate written: ISETP, FSETP, PLOP3, LOP3, the carry of IADD3, LEA,
//   IMAD.WIDE 84..86    second predicate written 87..90    predicate read, bit 90 negates: SEL,
//   ISETP, BRA, LDGSTS, the carry of IADD3.X, LEA.X 77..80    second predicate read: IADD3.X, PLOP3
//   68..71    third predicate read: ISETP.EX, PLOP3 (of PLOP3 uniform where bit 67 is set)
//   32..37    uniform register in place of b (form 6) or c (form 7); with bit 91, the one added to
//             the address of LDS, or the pair that describes the memory to LDG
//   64..69    with bit 91, the same of STS, and of STG and LDGSTS
//
// Up to sm_89 nvdisasm does not print the descriptor of a global access. The field is used all the
// same: each kernel loads the pair from the constant bank before its first access.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "compiler/sass/decode.h"

namespace tilec::sass {

enum class File : uint8_t { general, uniform, predicate, uniform_predicate };

/// How many registers a file has, without its constant (RZ, URZ, PT, UPT).
constexpr int file_size(File file) {
  return file == File::general ? 255 : file == File::uniform ? 63 : 7;
}

/// Registers first .. first + count - 1 of a file.
struct Operand {
  File file = File::general;
  uint8_t first = 0;
  uint8_t count = 1;
  bool operator==(const Operand&) const = default;
};

/// What an instruction does besides writing registers.
enum class Effect : uint8_t {
  none,
  constant_read,  // LDC, ULDC, operands c[][]
  shared_read,
  shared_write,
  global_read,
  global_write,
  local_read,
  local_write,
  atomic,           // reads and writes global memory
  async_copy,       // LDGSTS: global to shared memory, done later
  async_commit,     // LDGDEPBAR: a scoreboard counts the copies so far
  async_wait,       // DEPBAR: until that scoreboard has counted down
  block_barrier,    // BAR.SYNC
  cluster_barrier,  // UCGABAR_ARV, UCGABAR_WAIT, and FENCE.VIEW before them
  fence,            // MEMBAR, ERRBAR, CGAERRBAR, CCTL.IVALL
  control,          // BRA, CALL.REL.NOINC, EXIT, and the convergence barriers BSSY and BSYNC
};

struct Operands {
  bool known = false;  // false: the lists may lack some, the effect may be another
  Effect effect = Effect::none;
  /// Results come after a time that no stall count covers: a scoreboard tells of them. The operands
  /// of such an instruction, and of every access to memory, are read some time after it issues.
  bool variable_latency = false;
  std::array<Operand, 10> read_list{};
  std::array<Operand, 4> written_list{};
  int read_count = 0;
  int written_count = 0;
  std::span<const Operand> reads() const { return {read_list.data(), size_t(read_count)}; }
  std::span<const Operand> writes() const { return {written_list.data(), size_t(written_count)}; }
  /// Whether operands may be read after the next instruction issues: a read barrier, not distance,
  /// makes it safe to overwrite them.
  bool reads_late() const;
};

/// The predicate that guards an instruction, from the file that its kind takes; null: always run.
const Operand* guard_of(const Instruction& instruction, const Operands& operands);

Operands operands_of(const Instruction& instruction);

/// The word with the general register of `slot` replaced; all other bits stay. The slot must be
/// among `instruction.registers()`. A register that starts a pair or quad is not checked here.
Word with_register(const Instruction& instruction, Slot slot, int reg);

}  // namespace tilec::sass
