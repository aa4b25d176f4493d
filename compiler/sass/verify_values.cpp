// Rules `values`, `effects` and `trips`: one trip of both loops on terms.
//
// The old loop starts on symbols, one a register. The entry code of the region runs on them too:
// what it leaves in new register n is T(n). The new loop starts on those, and for each register
// that it or the code behind it reads before writing it,
//
//     after a trip, new n  ==  T(n) of what the old loop's registers hold after a trip
//
// must hold. By induction it then holds after every trip, the last among them.
//
// The order of effects is a term as well: each effect is an operation on the one before. So is the
// state of shared and global memory that a load reads: loads between the same two neighbours that
// change it see the same state.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/sass/verify_parts.h"
#include "compiler/sass/verify_terms.h"

namespace tilec::sass::verify {
namespace {

// Places of state besides registers.
constexpr size_t kShared = kLocations, kGlobal = kLocations + 1, kLocal = kLocations + 2,
                 kEffects = kLocations + 3, kPlaces = kLocations + 4;
constexpr const char* kPlaceNames[] = {"shared memory", "global memory", "local memory",
                                       "stores, copies, waits and barriers"};

using State = std::vector<Term>;

// What each effect changes, besides the order of effects. Where slots are apart, what a load reads
// from shared memory changes at barriers alone.
std::span<const size_t> changed_by(Effect effect, bool slots_apart) {
  static constexpr std::array<size_t, 1> kOnlyShared = {kShared}, kOnlyGlobal = {kGlobal},
                                         kOnlyLocal = {kLocal};
  static constexpr std::array<size_t, 3> kAll = {kShared, kGlobal, kLocal};
  switch (effect) {
    case Effect::async_copy:
    case Effect::shared_write:
      if (slots_apart) return {};
      return kOnlyShared;
    case Effect::global_write:
      return kOnlyGlobal;
    case Effect::local_write:
      return kOnlyLocal;
    case Effect::async_wait:
      if (slots_apart) return {};
      return kAll;
    case Effect::atomic:
    case Effect::block_barrier:
    case Effect::cluster_barrier:
    case Effect::fence:
      return kAll;
    default:
      return {};
  }
}

bool is_effect(Effect effect) {
  return effect == Effect::async_commit || !changed_by(effect, false).empty();
}

class Machine {
 public:
  Machine(Terms& terms, const Code& code, State state, bool slots_apart)
      : terms_(terms), code_(code), state_(std::move(state)), slots_apart_(slots_apart) {}

  void run(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) step(code_.at[i], code_.operands[i]);
  }

  // What a jump depends on.
  Term decision(size_t jump) {
    gather(code_.at[jump], code_.operands[jump]);
    operands_.push_back(guard_of(code_.at[jump], code_.operands[jump]));
    return terms_.operation(without_registers(code_.at[jump]), operands_);
  }

  const State& state() const { return state_; }

 private:
  Term general(int reg) { return reg == kZeroRegister ? terms_.zero() : state_[size_t(reg)]; }

  Term guard_of(const Instruction& instruction, const Operands& operands) {
    if (instruction.guard.predicate == kTruePredicate) return terms_.zero();
    const Operand& guard = operands.reads().back();
    return state_[location(guard.file, guard.first)];
  }

  // The terms that the instruction reads, into operands_.
  void gather(const Instruction& instruction, const Operands& operands) {
    operands_.clear();
    for (const RegisterUse& use : instruction.registers()) {
      if (use.written) continue;
      const int count = std::max(use.count, 1);
      for (int r = 0; r < count; ++r)
        operands_.push_back(use.first == kZeroRegister ? terms_.zero() : general(use.first + r));
    }
    if (is_commutative(instruction) && operands_[0] > operands_[1])
      std::swap(operands_[0], operands_[1]);
    std::span<const Operand> reads = operands.reads();
    if (instruction.guard.predicate != kTruePredicate) reads = reads.first(reads.size() - 1);
    for (const Operand& read : reads)
      if (read.file != File::general)
        for (int r = 0; r < read.count; ++r)
          operands_.push_back(state_[location(read.file, read.first + r)]);
  }

  // a * b of registers, neither negated: FFMA, FMUL. NaNs come out as one pattern.
  static bool is_commutative(const Instruction& instruction) {
    const uint16_t code = instruction.opcode->code;
    return (code == 0x023 || code == 0x020) && form_of(instruction.word) == 1 &&
           bits(instruction.word, 40, 24) == 0 && bits(instruction.word, 72, 4) == 0;
  }

  void step(const Instruction& instruction, const Operands& operands) {
    if (is_copy(instruction)) return copy(instruction);
    gather(instruction, operands);
    const Effect effect = operands.effect;
    if (effect == Effect::shared_read) operands_.push_back(state_[kShared]);
    if (effect == Effect::global_read) operands_.push_back(state_[kGlobal]);
    if (effect == Effect::local_read) operands_.push_back(state_[kLocal]);
    const Term guard = guard_of(instruction, operands);
    // A guard's register is told by its term.
    const Word key = with_bits(without_registers(instruction), 12, 4, kTruePredicate);
    // The assembler writes three loads into RZ, which never happen, between a load and an
    // asynchronous copy. Without them the copy may overtake the load: no load crosses them.
    const bool is_idle_load = effect == Effect::shared_read && operands.writes().empty();
    if (is_effect(effect) || is_idle_load) return apply(effect, instruction, key, guard);
    if (operands.writes().empty()) return;
    const Term value = terms_.operation(key, operands_);
    uint64_t index = 0;
    for (const Operand& write : operands.writes()) {
      for (int r = 0; r < write.count; ++r) {
        Term& place = state_[location(write.file, write.first + r)];
        const Term result = terms_.result(value, index++);
        place = instruction.guard.always()
                    ? result
                    : terms_.select(guard, instruction.guard.negated, result, place);
      }
    }
  }

  void copy(const Instruction& instruction) {
    const std::span<const RegisterUse> uses = instruction.registers();
    const RegisterUse& to = uses[0];
    if (to.first == kZeroRegister) return;
    const Term value = uses.size() == 1 ? terms_.zero() : general(uses.back().first);
    for (int r = 0; r < to.count; ++r) state_[size_t(to.first + r)] = value;
  }

  void apply(Effect effect, const Instruction& instruction, Word key, Term guard) {
    operands_.push_back(guard);
    operands_.push_back(instruction.guard.negated ? guard : terms_.zero());
    // DEPBAR names the scoreboard that the commit counts on.
    if (effect == Effect::async_commit)
      key = with_bits(key, 110, 3, static_cast<uint64_t>(instruction.control.write_barrier));
    operands_.push_back(state_[kEffects]);
    const Term now = terms_.operation(key, operands_);
    state_[kEffects] = now;
    for (const size_t place : changed_by(effect, slots_apart_)) state_[place] = now;
  }

  Terms& terms_;
  const Code& code_;
  State state_;
  bool slots_apart_;
  std::vector<Term> operands_;
};

std::string place_name(size_t place) {
  return place < kLocations ? location_name(place) : kPlaceNames[place - kLocations];
}

// Where `place` was last written in begin .. end - 1; begin if nowhere.
size_t last_write(const Code& code, size_t begin, size_t end, size_t place) {
  for (size_t i = end; i-- > begin;) {
    if (place >= kLocations) {
      if (is_effect(code.operands[i].effect)) return i;
      continue;
    }
    for (const Operand& write : code.operands[i].writes())
      for (int r = 0; r < write.count; ++r)
        if (location(write.file, write.first + r) == place) return i;
  }
  return begin;
}

}  // namespace

std::optional<Finding> check_values(const Both& both) {
  const LoopEdit& edit = both.edit;
  Terms terms;
  State symbols(kPlaces);
  for (size_t place = 0; place < kPlaces; ++place) symbols[place] = terms.symbol(place);

  Machine old_loop(terms, both.before, symbols, edit.slots_apart);
  const Tail old_tail = *find_tail(both.before, edit.old_begin, edit.old_end);
  old_loop.run(edit.old_begin, old_tail.decides);
  const Term old_decision = old_loop.decision(old_tail.decides);
  const State& old_after = old_loop.state();

  Machine entry(terms, both.after, symbols, edit.slots_apart);
  entry.run(edit.new_begin, edit.new_loop_begin);
  State start = entry.state();
  for (size_t place = kShared; place < kPlaces; ++place)
    if (start[place] != symbols[place])
      return Finding{last_write(both.after, edit.new_begin, edit.new_loop_begin, place), "effects",
                     "the code that enters the loop changes " + place_name(place)};

  // Registers of the new loop whose values on entry matter.
  const Locations live_out = live_at(both.before, edit.old_end);
  const Locations wanted = live_before(both.after, edit.new_loop_end, edit.new_end, live_out);
  const Locations matter = live_before(both.after, edit.new_loop_begin, edit.new_loop_end, wanted);
  for (size_t place = 0; place < kLocations; ++place)
    if (!matter[place]) start[place] = terms.undefined(place);

  Machine new_loop(terms, both.after, start, edit.slots_apart);
  const Tail new_tail = *find_tail(both.after, edit.new_loop_begin, edit.new_loop_end);
  new_loop.run(edit.new_loop_begin, new_tail.decides);
  if (old_tail.words != new_tail.words || new_loop.decision(new_tail.decides) != old_decision)
    return Finding{new_tail.decides, "trips", "the branch back depends on another value"};
  const State new_after = new_loop.state();

  for (size_t place = kPlaces; place-- > 0;) {
    if (place < kLocations && !matter[place]) continue;
    const Term expected = terms.replace_symbols(start[place], old_after);
    if (new_after[place] == expected) continue;
    return Finding{
        last_write(both.after, edit.new_loop_begin, new_tail.decides, place),
        place < kLocations ? "values" : "effects",
        place < kLocations
            ? fmt::format("after a trip {} does not hold what it held on entry, one trip "
                          "on",
                          place_name(place))
            : place_name(place) + " are not those of the old loop, in its order"};
  }

  Machine leave(terms, both.after, new_after, edit.slots_apart);
  leave.run(edit.new_loop_end, edit.new_end);
  for (size_t place = 0; place < kPlaces; ++place) {
    if (place < kLocations && !live_out[place]) continue;
    if (leave.state()[place] == old_after[place]) continue;
    return Finding{last_write(both.after, edit.new_loop_begin, edit.new_end, place), "values",
                   fmt::format("behind the loop {} does not hold what the old loop leaves in it",
                               place_name(place))};
  }
  return std::nullopt;
}

}  // namespace tilec::sass::verify
