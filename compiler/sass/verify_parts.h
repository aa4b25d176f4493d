// The parts of verify_edit: one rule or a few each, a file each. Nothing else includes this.
#pragma once

#include <bitset>
#include <optional>
#include <vector>

#include "compiler/sass/operands.h"
#include "compiler/sass/verify_edit.h"

namespace tilec::sass::verify {

/// Every register of every file has a number of its own.
inline constexpr size_t kLocations = 256 + 64 + 8 + 8;
using Locations = std::bitset<kLocations>;

constexpr size_t location(File file, int number) {
  constexpr size_t kBase[] = {0, 256, 320, 328};
  return kBase[static_cast<size_t>(file)] + static_cast<size_t>(number);
}

/// "R12", "UR4", "P0", "UP1".
std::string location_name(size_t location);

/// A kernel's words, decoded, with the ways between them.
struct Code {
  int sm = 0;
  std::vector<Instruction> at;
  std::vector<Operands> operands;
  /// Words that may follow word i. A call or return whose end we do not know has `lost`.
  std::vector<std::vector<size_t>> next;
  std::vector<bool> lost;
};

Code read_code(std::span<const Word> words, int sm);

/// Whether the instruction is a direct jump: BRA, CALL.REL.NOINC.
bool is_jump(const Instruction& instruction);

/// The word without what may differ between two copies of an instruction: general registers,
/// control fields, the target of a jump.
Word without_registers(const Instruction& instruction);

/// Copies between general registers, and zeros into them: what proofs see through.
bool is_copy(const Instruction& instruction);

struct Both {
  const Code& before;
  const Code& after;
  const LoopEdit& edit;
};

/// The jump that leaves a loop, or back to its first word where that is the same; how many words
/// the way out and back takes (1: @P BRA first; 2: @P BRA out, BRA first).
struct Tail {
  size_t decides = 0;
  size_t words = 0;
};
std::optional<Tail> find_tail(const Code& code, size_t begin, size_t end);

/// Registers whose values at word `at` the code from there on reads.
Locations live_at(const Code& code, size_t at);

/// Registers whose values at word `begin` matter: read from begin on before they are written, by
/// the straight code begin .. end - 1 or by what follows it, which wants `wanted`.
Locations live_before(const Code& code, size_t begin, size_t end, Locations wanted);

std::optional<Finding> check_shape(const Both& both);
std::optional<Finding> check_layout(const Both& both);
std::optional<Finding> check_values(const Both& both);
std::optional<Finding> check_words(const Both& both);
std::optional<Finding> check_timing(const Both& both);
std::optional<Finding> check_control(const Both& both);
std::optional<Finding> check_memory(const Both& both);

}  // namespace tilec::sass::verify
