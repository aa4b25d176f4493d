#include "compiler/sass/banks.h"

#include <algorithm>

namespace tilec::sass {

int bank_cycles(const Instruction& instruction, ReuseCache& cache, BankUse& use) {
  std::array<int, 2> reads{};  // even bank, odd bank
  for (const RegisterUse& operand : instruction.registers()) {
    if (operand.written || operand.slot == Slot::d) continue;
    const auto slot = static_cast<size_t>(operand.slot);
    const bool reused = operand.first == cache.held[slot];
    const bool keeps = (instruction.control.reuse >> slot & 1) != 0;
    if (operand.first != kZeroRegister && reused) ++use.operands_reused;
    if (operand.first != kZeroRegister && !reused) {
      ++reads[static_cast<size_t>(operand.first & 1)];
      ++use.operands_read;
    }
    cache.held[slot] = keeps && operand.first != kZeroRegister ? operand.first : -1;
  }
  return std::max({1, reads[0], reads[1]});
}

BankUse bank_use(std::span<const Instruction* const> body) {
  ReuseCache cache;
  BankUse last_trip;
  for (int trip = 0; trip < 2; ++trip) {  // the first fills the cache
    last_trip = {};
    for (const Instruction* instruction : body) {
      BankUse ignored;
      const bool is_fma = classify(*instruction) == Class::fma;
      const int cycles = bank_cycles(*instruction, cache, is_fma ? last_trip : ignored);
      if (!is_fma) continue;
      ++last_trip.fmas;
      last_trip.cycles += cycles;
    }
  }
  return last_trip;
}

}  // namespace tilec::sass
