// From words to instructions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/sass/control.h"
#include "compiler/sass/opcodes.h"
#include "compiler/sass/word.h"

namespace tilec::sass {

inline constexpr int kZeroRegister = 255;  // RZ: reads as 0, writes go nowhere
inline constexpr int kTruePredicate = 7;   // PT

/// The operand slots that the reuse flags name, and the destination.
enum class Slot : uint8_t { a, b, c, d };

/// Registers first .. first + count - 1, in one operand.
struct RegisterUse {
  Slot slot = Slot::d;
  bool written = false;
  int first = kZeroRegister;
  int count = 1;  // 0: at least one, how many is not decoded
  bool operator==(const RegisterUse&) const = default;
};

struct Guard {
  int predicate = kTruePredicate;
  bool negated = false;
  bool always() const { return predicate == kTruePredicate && !negated; }
  bool operator==(const Guard&) const = default;
};

struct Instruction {
  uint32_t offset = 0;  // bytes from the kernel's start
  Word word;
  const Opcode* opcode = nullptr;  // null: unknown
  Guard guard;
  Control control;
  bool registers_known = false;       // false: `uses` may lack some
  std::array<RegisterUse, 4> uses{};  // general registers, in order of the text
  int use_count = 0;
  std::optional<int64_t> target;  // of a direct branch: bytes from the kernel's start
  std::span<const RegisterUse> registers() const { return {uses.data(), size_t(use_count)}; }
  /// The register read in `slot`; RZ if there is none.
  int read(Slot slot) const;
};

/// One word at `offset` of a kernel for `sm` (90 for sm_90a).
Instruction decode(Word word, uint32_t offset, int sm);

std::vector<Instruction> decode_all(std::span<const Word> words, int sm);

/// The first of the 8 bits that hold the register of `slot`; -1 if it is none of `registers()`.
int register_field(const Instruction& instruction, Slot slot);

/// "FFMA", or "unknown 0x5c3" where the opcode is not in the table.
std::string name_of(const Instruction& instruction);

}  // namespace tilec::sass
