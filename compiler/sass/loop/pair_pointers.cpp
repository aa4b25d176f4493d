#include "compiler/sass/loop/pair_pointers.h"

#include <algorithm>
#include <optional>

namespace tilec::sass {
namespace {

constexpr uint16_t kMov = 0x002;

bool covers(const RegisterUse& use, int reg) {
  return use.first != kZeroRegister && use.first <= reg && reg < use.first + std::max(use.count, 1);
}

bool touches(const LoopOp& op, int reg, bool written) {
  return std::ranges::any_of(op.instruction.registers(), [&](const RegisterUse& use) {
    return use.written == written && covers(use, reg);
  });
}

// Copies of 4 and 8 bytes go through the first-level cache and read their addresses late: what
// changes one waits longer than a move takes.
bool waits_long(const LoopOp& op) {
  constexpr uint64_t kSixteenBytes = 6;
  return op.operands.effect == Effect::async_copy &&
         bits(op.instruction.word, 73, 3) != kSixteenBytes;
}

// Whether `op` is MOV d, s of all lanes, one register to another.
bool is_move(const LoopOp& op) {
  const Instruction& it = op.instruction;
  return it.opcode->code == kMov && it.guard.always() && op.operands.known &&
         it.read(Slot::b) != kZeroRegister && it.registers().size() == 2 &&
         bits(it.word, 9, 3) == 1 && bits(it.word, 72, 9) == 0xf;
}

class Pairer {
 public:
  Pairer(const Body& body, const Registers& behind, const Registers& spare)
      : out_{.body = body, .renames = {}},
        behind_(behind),
        spare_(spare),
        gone_(body.ops.size(), false) {}

  Paired run() {
    while (pair_one()) {
    }
    std::vector<LoopOp> kept;
    for (size_t i = 0; i < ops().size(); ++i)
      if (!gone_[i]) kept.push_back(ops()[i]);
    out_.body.ops = std::move(kept);
    return std::move(out_);
  }

 private:
  std::vector<LoopOp>& ops() { return out_.body.ops; }

  // The ops that read what `def` writes to `reg`; none where that is read in the next trip, behind
  // the loop, or where a guarded write mixes two values.
  std::optional<std::vector<size_t>> readers(size_t def, int reg) {
    std::vector<size_t> found;
    const size_t count = ops().size();
    for (size_t step = 1; step <= count; ++step) {
      const size_t at = (def + step) % count;
      if (gone_[at]) continue;
      const LoopOp& op = ops()[at];
      if (at != def && touches(op, reg, false)) {
        if (at < def) return std::nullopt;
        found.push_back(at);
      }
      if (!touches(op, reg, true)) continue;
      if (!op.instruction.guard.always()) return std::nullopt;
      // Written anew in the same trip, or first thing in the next; then no one behind reads it
      // either, unless this was the last write of the trip.
      if (at <= def && behind_[static_cast<size_t>(reg)]) return std::nullopt;
      return found;
    }
    return std::nullopt;
  }

  // A pair that two moves make for accesses.
  struct Pair {
    size_t low, high;  // the moves
    std::vector<size_t> reads;
  };

  std::optional<Pair> find_pair(size_t low) {
    const int to = result_of(ops()[low]);
    const auto reads = readers(low, to);
    if (to % 2 != 0 || !reads || reads->empty()) return std::nullopt;
    for (size_t high = 0; high < ops().size(); ++high) {
      if (gone_[high] || !is_move(ops()[high]) || result_of(ops()[high]) != to + 1) continue;
      if (readers(high, to + 1) != reads) continue;
      const bool whole = std::ranges::all_of(*reads, [&](size_t at) {
        return at > low && at > high &&
               std::ranges::all_of(ops()[at].instruction.registers(), [&](const RegisterUse& use) {
                 return use.written || (!covers(use, to) && !covers(use, to + 1)) ||
                        (use.first == to && use.count == 2);
               });
      });
      if (whole) return Pair{low, high, *reads};
    }
    return std::nullopt;
  }

  // Whether the loop uses `reg` by itself alone and changes it behind `last` only, seen from
  // `from`.
  bool may_move(int reg, size_t from, size_t last) {
    for (size_t i = 0; i < ops().size(); ++i) {
      if (gone_[i]) continue;
      for (const RegisterUse& use : ops()[i].instruction.registers()) {
        if (!covers(use, reg)) continue;
        if (use.count != 1 || (use.written && from < i && i <= last)) return false;
      }
    }
    return std::ranges::none_of(out_.renames, [&](const Rename& r) { return r.from == reg; });
  }

  bool pair_one() {
    for (size_t i = 0; i + out_.body.jumps < ops().size(); ++i) {
      if (gone_[i] || !is_move(ops()[i])) continue;
      const auto pair = find_pair(i);
      if (!pair) continue;
      const int low = ops()[pair->low].instruction.read(Slot::b);
      const int high = ops()[pair->high].instruction.read(Slot::b);
      const size_t last = pair->reads.back();
      if (low == high || !may_move(low, pair->low, last) || !may_move(high, pair->high, last))
        continue;
      const int now = take_pair();
      if (now < 0) return false;
      gone_[pair->low] = gone_[pair->high] = true;
      const int old = result_of(ops()[pair->low]);
      for (const size_t at : pair->reads) rename(at, old, now, false);
      for (size_t at = 0; at < ops().size(); ++at) {
        if (gone_[at]) continue;
        for (const bool written : {false, true}) {
          rename(at, low, now, written);
          rename(at, high, now + 1, written);
        }
      }
      out_.renames.push_back({low, now});
      out_.renames.push_back({high, now + 1});
      return true;
    }
    return false;
  }

  void rename(size_t at, int old, int now, bool written) {
    const std::vector<RegisterUse> uses(ops()[at].instruction.registers().begin(),
                                        ops()[at].instruction.registers().end());
    for (const RegisterUse& use : uses)
      if (use.written == written && use.first == old)
        ops()[at] = with_operand(ops()[at], use.slot, now, out_.body.sm);
  }

  // An even register and the next, both spare; -1 if there are none.
  int take_pair() {
    for (size_t reg = 0; reg + 1 < kZeroRegister; reg += 2) {
      if (!spare_[reg] || !spare_[reg + 1]) continue;
      spare_.reset(reg);
      spare_.reset(reg + 1);
      return static_cast<int>(reg);
    }
    return -1;
  }

  Paired out_;
  Registers behind_;
  Registers spare_;
  std::vector<bool> gone_;
};

}  // namespace

Paired pair_pointers(const Body& body, const Registers& behind, const Registers& spare) {
  if (std::ranges::any_of(body.ops, waits_long)) return {.body = body, .renames = {}};
  return Pairer(body, behind, spare).run();
}

}  // namespace tilec::sass
