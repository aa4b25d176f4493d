#include "compiler/sass/loop/set_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "compiler/sass/latency.h"

namespace tilec::sass {
namespace {

constexpr int kScoreboards = 6;
constexpr int kMaxStall = 11;  // with the yield flag set, nvdisasm knows no longer ones
// A scoreboard is seen to be set this many cycles after the instruction that sets it issued.
constexpr int kScoreboardDelay = 2;

bool sets_copy_scoreboard(const LoopOp& op) {
  return op.operands.effect == Effect::async_commit;
}

// The scoreboard that DEPBAR.LE watches stands in bits 44..46.
int watched_scoreboard(const LoopOp& op) {
  return static_cast<int>(bits(op.instruction.word, 44, 3));
}

// Every register of every file as one number.
size_t place_of(File file, int reg) {
  return static_cast<size_t>(file) * 256 + static_cast<size_t>(reg);
}
constexpr size_t kPlaces = 4 * 256;

template <class Visit>
void each_place(std::span<const Operand> operands, Visit visit) {
  for (const Operand& operand : operands)
    for (int i = 0; i < operand.count; ++i)
      visit(place_of(operand.file, operand.first + i), operand.file);
}

Pipe pipe(const LoopOp& op) {
  return pipe_of(op.instruction, op.operands);
}

// An instruction that ends later than it issues, with the consumers that have to wait for it.
struct Pending {
  bool results = false;   // someone needs its results, or writes over them
  bool operands = false;  // someone writes over its operands
};

class Controller {
 public:
  Controller(const Body& body, std::span<const int> parity)
      : out_(body), parity_(parity), controls_(body.ops.size()), pending_(body.ops.size()) {}

  OrWhyNot<Body> run() {
    for (size_t i = 0; i < out_.ops.size(); ++i) controls_[i] = at_rest(out_.ops[i]);
    find_pending();
    if (const std::string why_not = assign_scoreboards(); !why_not.empty()) return WhyNot(why_not);
    set_waits();
    keep_operands();
    for (int trip = 0; trip < 2; ++trip)
      if (!set_stalls()) return WhyNot("a stall would be longer than 11 cycles");
    for (size_t i = 0; i < out_.ops.size(); ++i)
      out_.ops[i] =
          with_word(out_.ops[i], with_control(out_.ops[i].instruction.word, controls_[i]), out_.sm);
    return out_;
  }

 private:
  size_t count() const { return out_.ops.size(); }
  const LoopOp& op(size_t at) const { return out_.ops[at % count()]; }

  // What an instruction keeps of its own: the stalls of those that do more than compute, and the
  // scoreboards that count copies.
  static Control at_rest(const LoopOp& op) {
    const Control& was = op.instruction.control;
    Control control{.stall = 1};
    switch (op.operands.effect) {
      case Effect::async_commit:
        control.write_barrier = was.write_barrier;
        break;
      case Effect::async_wait:
      case Effect::block_barrier:
      case Effect::control:
      case Effect::fence:
        control.stall = std::max(was.stall, 1);
        control.yield = was.yield;
        break;
      default:
        break;
    }
    return control;
  }

  // Walks two trips; calls `need(producer, consumer, results)` whenever `consumer` may not issue
  // before the results, or the operands, of `producer` are through.
  template <class Need>
  void each_need(Need need) const {
    std::vector<std::optional<size_t>> writer(kPlaces);
    std::vector<std::vector<size_t>> readers(kPlaces);
    std::vector<size_t> loads;  // from shared memory, since the last barrier
    for (size_t at = 0; at < 2 * count(); ++at) {
      const Operands& operands = op(at).operands;
      // Others may write over what was read as soon as they are past the barrier.
      if (operands.effect == Effect::block_barrier) {
        for (const size_t load : loads) need(load, at, true);
        loads.clear();
      }
      if (is_shared_load(op(at))) loads.push_back(at);
      each_place(operands.reads(), [&](size_t place, File) {
        if (writer[place]) need(*writer[place], at, true);
      });
      each_place(operands.writes(), [&](size_t place, File) {
        if (writer[place]) need(*writer[place], at, true);
        for (const size_t reader : readers[place]) need(reader, at, false);
        readers[place].clear();
        writer[place].reset();
        if (operands.variable_latency) writer[place] = at;
      });
      if (operands.reads_late())
        each_place(operands.reads(), [&](size_t place, File) {
          // Predicates are read as the instruction issues.
          if (place < place_of(File::predicate, 0)) readers[place].push_back(at);
        });
    }
  }

  void find_pending() {
    each_need([&](size_t producer, size_t consumer, bool results) {
      if (producer == consumer) return;
      Pending& pending = pending_[producer % count()];
      (results ? pending.results : pending.operands) = true;
    });
  }

  std::string assign_scoreboards() {
    const int taken = copy_scoreboards(out_);
    std::vector<int> free;
    for (int board = 0; board < kScoreboards; ++board)
      if ((taken >> board & 1) == 0) free.push_back(board);
    if (free.size() < 4) return "too few scoreboards are left by the asynchronous copies";
    size_t turn = 0;
    for (size_t i = 0; i < count(); ++i) {
      if (sets_copy_scoreboard(op(i))) continue;
      if (parity_[i] >= 0) {
        controls_[i].write_barrier = free[static_cast<size_t>(parity_[i])];
        continue;
      }
      const auto next = [&] { return free[2 + turn++ % (free.size() - 2)]; };
      if (pending_[i].results) controls_[i].write_barrier = next();
      if (pending_[i].operands && !pending_[i].results) controls_[i].read_barrier = next();
    }
    return "";
  }

  int scoreboard_of(size_t producer) const {
    const Control& control = controls_[producer % count()];
    return control.write_barrier != kNoBarrier ? control.write_barrier : control.read_barrier;
  }

  // The first to need a scoreboard waits for it; for those behind it is clear, unless it was set
  // again in between.
  void set_waits() {
    std::array<std::optional<size_t>, kScoreboards> cleared;
    each_need([&](size_t producer, size_t consumer, bool) {
      if (producer == consumer) return;
      const int board = scoreboard_of(producer);
      if (board == kNoBarrier) return;
      std::optional<size_t>& last = cleared[static_cast<size_t>(board)];
      if (last && *last > producer) return;
      controls_[consumer % count()].wait_mask |= 1 << board;
      last = consumer;
    });
  }

  // Sets the reuse flags of multiply-adds.
  void keep_operands() {
    for (size_t i = 0; i + 1 < count(); ++i) {
      if (!is_plain_fma(op(i))) continue;
      for (const Slot slot : {Slot::a, Slot::b}) {
        size_t next = i + 1;
        while (next + 1 < count() && !reads_slot(op(next), slot)) ++next;
        if (is_plain_fma(op(next)) &&
            op(next).instruction.read(slot) == op(i).instruction.read(slot))
          controls_[i].reuse |= 1 << static_cast<int>(slot);
      }
    }
  }

  // Cycles from `producer` to `consumer`, whichever halves of pairs are meant.
  int read_after_write(const LoopOp& producer, const LoopOp& consumer, File file,
                       size_t place) const {
    const Operand* guard = guard_of(consumer.instruction, consumer.operands);
    const bool guards =
        guard != nullptr && guard->file == file && place == place_of(file, guard->first);
    const bool upper_too = pipe(producer) == Pipe::wide;
    const bool addend_too = pipe(consumer) == Pipe::wide;
    int cycles = 0;
    for (int upper = 0; upper <= int{upper_too}; ++upper)
      for (int addend = 0; addend <= int{addend_too}; ++addend)
        cycles = std::max(cycles, latency({pipe(producer), file, upper != 0},
                                          {pipe(consumer), guards, addend != 0}, out_.sm)
                                      .value_or(kFarApart));
    return cycles;
  }

  static bool reads_slot(const LoopOp& op, Slot slot) {
    return op.instruction.read(slot) != kZeroRegister || is_plain_fma(op);
  }

  // Raises stalls until every fixed latency fits, over two trips.
  bool set_stalls() {
    struct Written {
      int64_t time = INT64_MIN;
      size_t by = 0;
    };
    std::vector<Written> written(kPlaces);
    std::vector<Written> read(kPlaces);  // in the uniform datapath
    std::array<int64_t, kScoreboards> set_at;
    set_at.fill(INT64_MIN / 2);
    Written memory;   // the last instruction that has to do with memory
    Written uniform;  // the last one of the uniform datapath
    int64_t now = 0;
    for (size_t at = 0; at < 2 * count(); ++at) {
      const Operands& operands = op(at).operands;
      int64_t earliest = now;
      for (const Written& before : {memory, uniform})
        if (before.time != INT64_MIN)
          earliest = std::max(earliest, before.time + issue_distance_to(before.by, at));
      const auto wait_for = [&](size_t place, File file, bool reads) {
        if (!reads && overtakes(pipe(op(at))) && read[place].time != INT64_MIN)
          earliest = std::max(earliest, read[place].time + kOvertakeDistance);
        const Written& last = written[place];
        if (last.time == INT64_MIN) return;
        const int cycles = reads ? read_after_write(op(last.by), op(at), file, place)
                                 : write_after_write(pipe(op(last.by)), pipe(op(at)), out_.sm);
        earliest = std::max(earliest, last.time + cycles);
      };
      each_place(operands.reads(), [&](size_t p, File file) { wait_for(p, file, true); });
      each_place(operands.writes(), [&](size_t p, File file) { wait_for(p, file, false); });
      const Control& control = controls_[at % count()];
      for (int board = 0; board < kScoreboards; ++board)
        if ((control.wait_mask >> board & 1) != 0)
          earliest = std::max(earliest, set_at[static_cast<size_t>(board)] + kScoreboardDelay);
      if (earliest > now) {
        if (at == 0 || !stall_more(at - 1, static_cast<int>(earliest - now))) return false;
        now = earliest;
      }
      each_place(operands.writes(), [&](size_t place, File) {
        written[place] = {operands.variable_latency ? INT64_MIN : now, at};
      });
      if (goes_to_memory(op(at).instruction, operands) ||
          operands.effect == Effect::block_barrier || operands.effect == Effect::async_wait)
        memory = {now, at};
      if (is_uniform(pipe(op(at)))) {
        uniform = {now, at};
        each_place(operands.reads(), [&](size_t place, File) { read[place] = uniform; });
      }
      for (const int board : {control.write_barrier, control.read_barrier})
        if (board != kNoBarrier) set_at[static_cast<size_t>(board)] = now;
      now += control.stall;
    }
    return true;
  }

  int issue_distance_to(size_t first, size_t second) const {
    return issue_distance(op(first).instruction, op(first).operands, op(second).instruction,
                          op(second).operands);
  }

  // Adds `cycles` before the instruction behind `at`, here or further up.
  bool stall_more(size_t at, int cycles) {
    for (size_t i = at % count();; --i) {
      const int more = std::min(cycles, kMaxStall - controls_[i].stall);
      controls_[i].stall += more;
      cycles -= more;
      if (cycles == 0) return true;
      if (i == 0) return false;
    }
  }

  Body out_;
  std::span<const int> parity_;
  std::vector<Control> controls_;
  std::vector<Pending> pending_;
};

}  // namespace

int copy_scoreboards(const Body& body) {
  int mask = 0;
  for (const LoopOp& op : body.ops) {
    if (sets_copy_scoreboard(op) && op.instruction.control.write_barrier != kNoBarrier)
      mask |= 1 << op.instruction.control.write_barrier;
    if (op.operands.effect == Effect::async_wait) mask |= 1 << watched_scoreboard(op);
  }
  return mask;
}

OrWhyNot<Body> set_control(const Body& body, std::span<const int> parity_of_load) {
  return Controller(body, parity_of_load).run();
}

}  // namespace tilec::sass
