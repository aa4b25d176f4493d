// Rules `latency` and `wait`: at each word, what of earlier words is still under way.
//
// A walk over the whole kernel, to a fixed point, keeps for each register
//   writes of fixed latency, and how long ago the last of each kind issued at least
//   scoreboards that tell of a pending write, on some way to here
//   scoreboards that tell that a pending read is done
// and a second one compares each read and write with that. The code around the region is taken as
// the assembler's: only pairs are judged of which one stands in the region.
//
// Loads from shared memory come back in order, so the assembler lets one scoreboard tell of
// several: a load without one is told of by the next that has one. Operands that accesses to memory
// read late are likewise read in order.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "compiler/sass/latency.h"
#include "compiler/sass/verify_parts.h"

namespace tilec::sass::verify {
namespace {

constexpr uint8_t kUntold = 1 << 6;  // no scoreboard yet: a later instruction will tell

struct Write {
  int time = 0;
  uint32_t origin = 0;
  Pipe pipe = Pipe::alu;
  bool upper = false;
};

struct Place {
  std::array<Write, 3> fixed{};  // of different pipes
  uint8_t fixed_count = 0;
  uint8_t pending = 0;  // scoreboards of a write under way
  uint8_t reading = 0;  // scoreboards of a read under way, but for accesses to memory
  uint32_t pending_origin = 0;
  uint32_t reading_origin = 0;
  // Of accesses to memory that may not have read it yet, one a way to here: scoreboards, any of
  // which tells that it has.
  std::array<uint8_t, 4> accesses{};
  uint8_t access_count = 0;
  uint32_t accessed_origin = 0;
};

struct Moment {
  bool reached = false;
  int now = 0;  // cycles
  std::vector<Place> places;
  int access = -kFarApart;  // when the last access to memory, or commit, issued
  uint32_t access_origin = 0;
};

// Cycles from one access to memory, or commit, to the next. The assembler keeps them; a commit that
// came sooner missed the copy before it.
constexpr int kBetweenAccesses = 4;

// An access that never happens: the assembler places some.
bool is_idle(const Instruction& instruction) {
  return instruction.guard.predicate == kTruePredicate && instruction.guard.negated;
}

// Scoreboards that tell that the instruction has read its operands: a bit each.
int boards_of(const Control& control) {
  int mask = 0;
  for (const int board : {control.write_barrier, control.read_barrier})
    if (board != kNoBarrier) mask |= 1 << board;
  return mask;
}

bool is_access(const Operands& operands) {
  return operands.reads_late() && operands.effect != Effect::none &&
         operands.effect != Effect::constant_read;
}

class Walk {
 public:
  Walk(const Code& code, size_t begin, size_t end) : code_(code), begin_(begin), end_(end) {}

  std::optional<Finding> run() {
    find_blocks();
    settle();
    judging_ = true;
    for (size_t b = 0; b + 1 < starts_.size(); ++b)
      if (at_top_[b].reached) walk_block(b, at_top_[b]);
    return first_;
  }

 private:
  bool within(size_t word) const { return word >= begin_ && word < end_; }

  void find_blocks() {
    const size_t count = code_.at.size();
    std::vector<bool> is_start(count + 1, false);
    is_start[0] = is_start[count] = true;
    for (size_t i = 0; i < count; ++i) {
      const bool runs_on = code_.next[i].size() == 1 && code_.next[i][0] == i + 1;
      if (runs_on) continue;
      is_start[i + 1] = true;
      for (const size_t to : code_.next[i]) is_start[to] = true;
    }
    block_of_.assign(count, 0);
    for (size_t i = 0; i <= count; ++i)
      if (is_start[i]) starts_.push_back(i);
    for (size_t b = 0; b + 1 < starts_.size(); ++b) block_of_[starts_[b]] = b;
    at_top_.resize(starts_.size());
  }

  void settle() {
    std::deque<size_t> work{0};
    at_top_[0] = {true, 0, std::vector<Place>(kLocations)};
    while (!work.empty()) {
      const size_t block = work.front();
      work.pop_front();
      const Moment end = walk_block(block, at_top_[block]);
      for (const size_t to : code_.next[starts_[block + 1] - 1]) {
        const size_t next = block_of_[to];
        if (join(at_top_[next], end) && std::ranges::find(work, next) == work.end())
          work.push_back(next);
      }
    }
  }

  Moment walk_block(size_t block, Moment moment) {
    for (size_t i = starts_[block]; i < starts_[block + 1]; ++i) step(moment, i);
    return moment;
  }

  // Takes `from` into `into`; whether that changed it.
  bool join(Moment& into, const Moment& from) const {
    if (!into.reached) {
      into = from;
      return true;
    }
    bool changed = false;
    const int shift = into.now - from.now;
    if (into.now - (from.access + shift) < kFarApart && from.access + shift > into.access) {
      into.access = from.access + shift;
      into.access_origin = from.access_origin;
      changed = true;
    }
    for (size_t p = 0; p < kLocations; ++p) {
      Place& to = into.places[p];
      const Place& other = from.places[p];
      for (const Write& write : std::span(other.fixed).first(other.fixed_count)) {
        Write moved = write;
        moved.time += shift;
        changed |= into.now - moved.time < kFarApart && add_write(to, moved);
      }
      changed |= merge(to.pending, to.pending_origin, other.pending, other.pending_origin);
      changed |= merge(to.reading, to.reading_origin, other.reading, other.reading_origin);
      for (const uint8_t boards : std::span(other.accesses).first(other.access_count))
        if (add_access(to, boards)) {
          to.accessed_origin = other.accessed_origin;
          changed = true;
        }
    }
    return changed;
  }

  // Whether that says more than is known: fewer scoreboards tell of it.
  static bool add_access(Place& place, uint8_t boards) {
    for (uint8_t& known : std::span(place.accesses).first(place.access_count)) {
      if ((known & boards) == known) return false;
      if ((known & boards) != boards) continue;
      known = boards;
      return true;
    }
    if (place.access_count < place.accesses.size())
      place.accesses[place.access_count++] = boards;
    else
      place.accesses.back() &= boards;
    return true;
  }

  bool merge(uint8_t& mask, uint32_t& origin, uint8_t other, uint32_t other_origin) const {
    if (other == 0) return false;
    const bool is_new = (mask | other) != mask;
    if (mask == 0 || (!within(origin) && within(other_origin))) origin = other_origin;
    mask |= other;
    return is_new;
  }

  // Whether the place tells of it only now. A write in the region counts before one outside.
  bool add_write(Place& place, const Write& write) const {
    for (Write& known : std::span(place.fixed).first(place.fixed_count)) {
      if (known.pipe != write.pipe || known.upper != write.upper) continue;
      if (known.time >= write.time) return false;
      known = write;
      return true;
    }
    if (place.fixed_count == place.fixed.size()) {  // the oldest is the least to fear
      Write& oldest = *std::ranges::min_element(place.fixed, {}, &Write::time);
      if (oldest.time >= write.time) return false;
      oldest = write;
      return true;
    }
    place.fixed[place.fixed_count++] = write;
    return true;
  }

  void step(Moment& moment, size_t i) {
    const Instruction& instruction = code_.at[i];
    const Operands& operands = code_.operands[i];
    const Control& control = instruction.control;
    if (control.wait_mask != 0) {
      const auto left = static_cast<uint8_t>(~control.wait_mask);
      for (Place& place : moment.places) {
        place.pending &= left;
        place.reading &= left;
        uint8_t count = 0;
        for (uint8_t k = 0; k < place.access_count; ++k)
          if ((place.accesses[k] & control.wait_mask) == 0)
            place.accesses[count++] = place.accesses[k];
        place.access_count = count;
      }
    }
    if (operands.known) {
      const Pipe pipe = pipe_of(instruction, operands);
      if (judging_) judge(moment, i, pipe);
      if (instruction.guard.always()) tell(moment, operands, control);
      take(moment, i, pipe);
    }
    moment.now += std::max(1, control.stall);
  }

  // A scoreboard set by this instruction also tells of those before it that have none.
  static void tell(Moment& moment, const Operands& operands, const Control& control) {
    const int told = boards_of(control);
    if (is_access(operands) && told != 0)
      for (Place& place : moment.places)
        for (uint8_t& boards : std::span(place.accesses).first(place.access_count))
          boards |= static_cast<uint8_t>(told);
    if (control.write_barrier == kNoBarrier || operands.effect != Effect::shared_read) return;
    for (Place& place : moment.places)
      if ((place.pending & kUntold) != 0)
        place.pending =
            static_cast<uint8_t>((place.pending & ~kUntold) | 1 << control.write_barrier);
  }

  // Enters what instruction i leaves under way.
  void take(Moment& moment, size_t i, Pipe pipe) const {
    const Instruction& instruction = code_.at[i];
    const Operands& operands = code_.operands[i];
    const Control& control = instruction.control;
    const auto origin = static_cast<uint32_t>(i);
    if (is_spaced(i)) {
      moment.access = moment.now;
      moment.access_origin = origin;
    }
    if (operands.reads_late()) {
      const int board =
          control.read_barrier != kNoBarrier ? control.read_barrier : control.write_barrier;
      const auto mask = board == kNoBarrier ? kUntold : static_cast<uint8_t>(1 << board);
      for (const Operand& read : operands.reads()) {
        if (read.file != File::general) continue;
        for (int r = 0; r < read.count; ++r) {
          Place& place = moment.places[location(read.file, read.first + r)];
          if (is_access(operands)) {
            if (instruction.guard.always()) place.access_count = 0;
            add_access(place, static_cast<uint8_t>(boards_of(control)));
            place.accessed_origin = origin;
            continue;
          }
          place.reading |= mask;
          place.reading_origin = origin;
        }
      }
    }
    for (const Operand& write : operands.writes()) {
      for (int r = 0; r < write.count; ++r) {
        Place& place = moment.places[location(write.file, write.first + r)];
        if (operands.variable_latency) {
          place.pending = control.write_barrier == kNoBarrier
                              ? kUntold
                              : static_cast<uint8_t>(1 << control.write_barrier);
          place.pending_origin = origin;
          if (instruction.guard.always()) place.fixed_count = 0;
          continue;
        }
        if (instruction.guard.always()) place.fixed_count = 0;
        add_write(place, {moment.now, origin, pipe, pipe == Pipe::wide && r == 1});
      }
    }
  }

  bool is_spaced(size_t i) const {
    const Operands& operands = code_.operands[i];
    return (is_access(operands) || operands.effect == Effect::async_commit) &&
           !is_idle(code_.at[i]);
  }

  void judge_access(const Moment& moment, size_t i) {
    if (is_spaced(i) && (within(i) || within(moment.access_origin)) &&
        moment.now - moment.access < kBetweenAccesses)
      report(i, "latency",
             fmt::format("an access to memory {} cycles after that of word {}, {} are needed",
                         moment.now - moment.access, moment.access_origin, kBetweenAccesses));
    if (code_.operands[i].effect != Effect::block_barrier) return;
    for (const Place& place : moment.places)
      if (place.pending != 0 && (within(i) || within(place.pending_origin)) &&
          code_.operands[place.pending_origin].effect == Effect::shared_read)
        report(i, "wait",
               fmt::format("the load of word {} is under way at a barrier", place.pending_origin));
  }

  void judge(const Moment& moment, size_t i, Pipe pipe) {
    judge_access(moment, i);
    const Instruction& instruction = code_.at[i];
    const Operands& operands = code_.operands[i];
    const std::span<const Operand> reads = operands.reads();
    const bool guarded = instruction.guard.predicate != kTruePredicate;
    for (size_t k = 0; k < reads.size(); ++k) {
      const Operand& read = reads[k];
      const bool is_addend = pipe == Pipe::wide && read.file == File::general && read.count == 2 &&
                             read.first == instruction.read(Slot::c);
      for (int r = 0; r < read.count; ++r)
        judge_read(moment, i, read, r,
                   {pipe, guarded && k + 1 == reads.size(), is_addend && r == 1});
    }
    for (const Operand& write : operands.writes())
      for (int r = 0; r < write.count; ++r) judge_write(moment, i, write, r, pipe);
  }

  void judge_read(const Moment& moment, size_t i, const Operand& read, int r,
                  const Consumed& consumed) {
    const size_t at = location(read.file, read.first + r);
    const Place& place = moment.places[at];
    if (place.pending != 0 && (within(i) || within(place.pending_origin)))
      report(i, "wait", fmt::format("{} is read while {}", location_name(at), pending(place)));
    for (const Write& write : std::span(place.fixed).first(place.fixed_count)) {
      if (!within(i) && !within(write.origin)) continue;
      const int needed =
          latency({write.pipe, read.file, write.upper}, consumed, code_.sm).value_or(kFarApart);
      const int passed = moment.now - write.time;
      if (passed < needed)
        report(i, "latency",
               fmt::format("{} is read {} cycles after word {} wrote it, {} are needed",
                           location_name(at), passed, write.origin, needed));
    }
  }

  void judge_write(const Moment& moment, size_t i, const Operand& written, int r, Pipe pipe) {
    const size_t at = location(written.file, written.first + r);
    const Place& place = moment.places[at];
    if (place.pending != 0 && (within(i) || within(place.pending_origin)))
      report(i, "wait",
             fmt::format("{} is overwritten while {}", location_name(at), pending(place)));
    if (place.reading != 0 && (within(i) || within(place.reading_origin)))
      report(i, "wait",
             fmt::format("{} is overwritten while word {} may not have read it yet",
                         location_name(at), place.reading_origin));
    if (place.access_count != 0 && !is_access(code_.operands[i]) &&
        (within(i) || within(place.accessed_origin)))
      report(i, "wait",
             fmt::format("{} is overwritten while word {} may not have read it yet",
                         location_name(at), place.accessed_origin));
    for (const Write& write : std::span(place.fixed).first(place.fixed_count)) {
      const int needed = write_after_write(write.pipe, pipe, code_.sm);
      if ((within(i) || within(write.origin)) && moment.now - write.time < needed)
        report(i, "latency",
               fmt::format("{} is overwritten {} cycles after word {} wrote it, {} are needed",
                           location_name(at), moment.now - write.time, write.origin, needed));
    }
  }

  static std::string pending(const Place& place) {
    return fmt::format("word {} may not have written it yet", place.pending_origin);
  }

  void report(size_t word, std::string rule, std::string text) {
    if (first_ && first_->word <= word) return;
    first_ = Finding{word, std::move(rule), std::move(text)};
  }

  const Code& code_;
  size_t begin_, end_;
  std::vector<size_t> starts_;    // first words of blocks, and one behind the last
  std::vector<size_t> block_of_;  // by first word
  std::vector<Moment> at_top_;
  bool judging_ = false;
  std::optional<Finding> first_;
};

}  // namespace

std::optional<Finding> check_timing(const Both& both) {
  return Walk(both.after, both.edit.new_begin, both.edit.new_end).run();
}

}  // namespace tilec::sass::verify
