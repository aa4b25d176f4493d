#include "compiler/report/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilec {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kScoreboards = 6;
constexpr double kCollected = 2;  // cycles that a bank may be behind: operands wait in a queue
constexpr double kHeld = 0.75;    // of a bank's second turn, that the scheduler waits (fitted)
constexpr double kToMemory = 4;   // cycles from issue to the shared pipe

struct Warp {
  int block = 0;
  size_t at = 0;     // steps taken
  double ready = 0;  // the last instruction's stall is over, and its scoreboards are clear
  Loss waits_for = Loss::idle;  // what `ready` comes from
  bool done = false;
  std::array<double, kScoreboards> clear{};  // when each scoreboard is
  std::array<Loss, kScoreboards> set_by{};
  std::vector<double> groups;  // of copies: when each has arrived
  double copies_arrive = 0;    // the last of those not yet in a group
};

struct Held {
  int warp = -1;
  int first = -1;
};

struct Scheduler {
  std::vector<size_t> warps;  // oldest first
  std::array<double, kPipes> free{};
  std::array<double, 2> half_free{};  // of the f32 pipe, where it has two halves
  std::array<double, 2> bank_free{};
  std::array<Held, 3> held;   // the reuse cache
  std::vector<double> queue;  // when each waiting memory instruction leaves it
  size_t last = SIZE_MAX;     // the warp issued from last
  bool yields = false;
  double collecting = 0;  // until then an instruction that reads a bank twice keeps all others
  double accounted = 0;   // cycles before this one are charged
  double next = 0;        // nothing can issue earlier
};

struct Block {
  int arrived = 0;
  std::vector<size_t> waiting;
};

// When a warp could issue its next step, and what that waits for most.
struct Chance {
  double at = kNever;
  Loss waits_for = Loss::idle;
};

class Sm {
 public:
  Sm(const Trace& trace, const Target& target, int blocks, int warps, int units)
      : trace_(trace), target_(target), warps_a_block_(warps), units_(units) {
    steps_ =
        trace.before.size() + trace.unit.size() * static_cast<size_t>(units) + trace.after.size();
    schedulers_.resize(static_cast<size_t>(target.schedulers));
    blocks_.resize(static_cast<size_t>(blocks));
    for (int w = 0; w < blocks * warps; ++w) {
      Warp warp{.block = w / warps};
      schedulers_[static_cast<size_t>(w % target.schedulers)].warps.push_back(warps_.size());
      warps_.push_back(std::move(warp));
    }
    run_.unit_cost.resize(trace.unit.size());
    const Rates& rates = target.rates;
    dram_bytes_ = rates.dram_gb_per_s * 1e3 / rates.clock_mhz / rates.sms;
  }

  SmRun run() {
    size_t left = warps_.size();
    while (left > 0) {
      double now = kNever;
      for (const Scheduler& scheduler : schedulers_) now = std::min(now, scheduler.next);
      if (now == kNever) break;  // a barrier that some warps never reach
      for (Scheduler& scheduler : schedulers_)
        if (scheduler.next <= now) left -= step(scheduler, now);
    }
    run_.cycles = road_free_;
    for (const Scheduler& scheduler : schedulers_)
      run_.cycles = std::max(run_.cycles, scheduler.accounted);
    for (Scheduler& scheduler : schedulers_)
      run_.lost[Loss::idle] += run_.cycles - scheduler.accounted;
    return run_;
  }

 private:
  const Step& step_at(size_t at, size_t& in_unit) const {
    in_unit = SIZE_MAX;
    if (at < trace_.before.size()) return trace_.before[at];
    at -= trace_.before.size();
    const size_t looped = trace_.unit.size() * static_cast<size_t>(units_);
    if (at >= looped) return trace_.after[at - looped];
    in_unit = at % trace_.unit.size();
    return trace_.unit[in_unit];
  }

  bool halves() const { return target_.lanes_per_sm / target_.schedulers >= 32; }

  // Operands that `step` has to read from each bank.
  std::array<int, 2> reads_of(const Step& step, const Scheduler& scheduler, size_t warp) const {
    std::array<int, 2> reads{};
    for (int i = 0; i < step.register_count; ++i) {
      const sass::RegisterUse& use = step.registers[static_cast<size_t>(i)];
      if (use.first == sass::kZeroRegister) continue;
      const Held& held = scheduler.held[static_cast<size_t>(use.slot)];
      if (held.warp == static_cast<int>(warp) && held.first == use.first) continue;
      for (int r = 0; r < std::max(1, use.count); ++r) ++reads[(use.first + r) & 1];
    }
    return reads;
  }

  Chance chance_of(const Scheduler& scheduler, size_t which) const {
    const Warp& warp = warps_[which];
    if (warp.done || warp.ready == kNever) return {kNever, warp.waits_for};
    Chance chance{warp.ready, warp.waits_for};
    const auto wait = [&](double until, Loss why) {
      if (until > chance.at) chance = {until, why};
    };
    size_t in_unit = 0;
    const Step& step = step_at(warp.at, in_unit);
    if (step.pipe == Pipe::shared || step.pipe == Pipe::global) {
      if (scheduler.queue.size() >= static_cast<size_t>(target_.rates.queue))
        wait(scheduler.queue[scheduler.queue.size() - static_cast<size_t>(target_.rates.queue)],
             step.kind);
    } else if (step.pipe == Pipe::integer && halves()) {
      wait(scheduler.half_free[0], Loss::idle);
    } else if (step.pipe == Pipe::fma && halves()) {
      wait(std::min(scheduler.half_free[0], scheduler.half_free[1]), Loss::idle);
    } else if (step.pipe != Pipe::none) {
      wait(scheduler.free[static_cast<size_t>(shared_pipe(step.pipe))], Loss::idle);
    }
    const std::array<int, 2> reads = reads_of(step, scheduler, which);
    for (size_t bank = 0; bank < 2; ++bank)
      if (reads[bank] > 0) wait(scheduler.bank_free[bank] - kCollected, Loss::register_banks);
    return chance;
  }

  // IMAD runs on the f32 pipe where that has one half only.
  static Pipe shared_pipe(Pipe pipe) { return pipe == Pipe::integer ? Pipe::fma : pipe; }

  // Issues what can be issued at `now`, if anything; 1 if a warp came to its end.
  size_t step(Scheduler& scheduler, double now) {
    size_t best = SIZE_MAX;
    Chance first;
    for (const size_t which : scheduler.warps) {
      const Chance chance = chance_of(scheduler, which);
      if (chance.at < first.at) first = chance;
      if (chance.at > now) continue;
      const bool goes_on = which == scheduler.last && !scheduler.yields;
      const bool is_last_resort = which == scheduler.last && scheduler.yields;
      if (best == SIZE_MAX || goes_on || (best == scheduler.last && scheduler.yields)) {
        if (!(is_last_resort && best != SIZE_MAX)) best = which;
      }
      if (goes_on) break;
    }
    if (best == SIZE_MAX) {
      scheduler.next = first.at;
      return 0;
    }
    return issue(scheduler, best, now);
  }

  void charge(Scheduler& scheduler, size_t which, double now) {
    Warp& warp = warps_[which];
    size_t in_unit = 0;
    const Step& step = step_at(warp.at, in_unit);
    double cost = 0;
    const Chance why = chance_of(scheduler, which);
    if (now > scheduler.accounted) {
      const double banks = std::max(0.0, std::min(now, scheduler.collecting) - scheduler.accounted);
      run_.lost[Loss::register_banks] += banks;
      run_.lost[why.waits_for] += now - scheduler.accounted - banks;
      cost += now - scheduler.accounted;
      scheduler.accounted = now;
    }
    if (step.is_fma) {
      const double until = std::max(scheduler.accounted, now + std::max(1.0, step.occupancy));
      run_.useful += until - scheduler.accounted;
      cost += until - scheduler.accounted;
      scheduler.accounted = until;
    } else if (scheduler.accounted < now + 1) {  // else in the shadow of a multiply-add
      run_.lost[step.kind] += now + 1 - scheduler.accounted;
      cost += now + 1 - scheduler.accounted;
      scheduler.accounted = now + 1;
    }
    if (in_unit != SIZE_MAX) run_.unit_cost[in_unit] += cost;
    ++run_.issued;
  }

  void read_registers(Scheduler& scheduler, const Step& step, size_t which, double now) {
    const std::array<int, 2> reads = reads_of(step, scheduler, which);
    for (size_t bank = 0; bank < 2; ++bank)
      if (reads[bank] > 0)
        scheduler.bank_free[bank] = std::max(now, scheduler.bank_free[bank]) + reads[bank];
    run_.banks += std::max(reads[0], reads[1]);
    // All of three operands: most of a bank's second turn is not hidden, the scheduler waits for
    // it.
    const double turns = std::max(reads[0], reads[1]) / std::max(1.0, step.occupancy);
    const bool holds = step.is_fma && turns > 1 && reads[0] + reads[1] >= step.register_count;
    scheduler.collecting = holds && step.register_count == 3 ? now + 1 + (turns - 1) * kHeld : now;
    for (int i = 0; i < step.register_count; ++i) {
      const sass::RegisterUse& use = step.registers[static_cast<size_t>(i)];
      const auto slot = static_cast<size_t>(use.slot);
      const bool keeps = (step.control.reuse >> slot & 1) != 0 && use.first != sass::kZeroRegister;
      scheduler.held[slot] = keeps ? Held{static_cast<int>(which), use.first} : Held{};
    }
  }

  // When the data of a memory instruction is there; the queue keeps it until it is served.
  double serve(Scheduler& scheduler, const Step& step, double now, double& operands_read) {
    const double begin = std::max(now + kToMemory, shared_free_);
    shared_free_ = begin + step.occupancy;
    run_.shared += step.occupancy;
    double end = shared_free_;
    if (step.bytes > 0) {
      // Results go to DRAM in the end, and all SMs store at once: the road takes no more of them.
      const double taken = step.bytes / (step.stores ? std::min(target_.rates.l2_bytes, dram_bytes_)
                                                     : target_.rates.l2_bytes);
      road_free_ = std::max(begin, road_free_) + taken;
      run_.road += taken;
      end = std::max(end, road_free_);
    }
    operands_read = shared_free_;
    std::erase_if(scheduler.queue, [now](double leaves) { return leaves <= now; });
    scheduler.queue.push_back(begin);
    return end + step.latency;
  }

  void take_pipe(Scheduler& scheduler, const Step& step, Warp& warp, double now) {
    double written = now + step.latency;
    double read = now + 2;
    if (step.pipe == Pipe::shared || step.pipe == Pipe::global) {
      written = serve(scheduler, step, now, read);
      if (step.is_async) warp.copies_arrive = std::max(warp.copies_arrive, written);
    } else if ((step.pipe == Pipe::fma || step.pipe == Pipe::integer) && halves()) {
      // The integer half does IMAD too; f32 takes whichever half is free, for two cycles.
      const size_t half = step.pipe == Pipe::integer                         ? 0
                          : scheduler.half_free[1] <= scheduler.half_free[0] ? 1
                                                                             : 0;
      scheduler.half_free[half] = now + (step.pipe == Pipe::fma ? 2 * step.occupancy : 2);
    } else if (step.pipe != Pipe::none) {
      scheduler.free[static_cast<size_t>(shared_pipe(step.pipe))] = now + step.occupancy;
    }
    const sass::Control& control = step.control;
    if (step.ends_group) {
      warp.groups.push_back(warp.copies_arrive);
      written = warp.copies_arrive;
      warp.copies_arrive = 0;
      if (control.write_barrier < kScoreboards) return;  // DEPBAR counts it, by group
    }
    if (control.write_barrier < kScoreboards) set(warp, control.write_barrier, written, step.kind);
    if (control.read_barrier < kScoreboards) set(warp, control.read_barrier, read, step.kind);
  }

  static void set(Warp& warp, int scoreboard, double until, Loss why) {
    const auto s = static_cast<size_t>(scoreboard);
    if (until >= warp.clear[s]) warp.set_by[s] = why;
    warp.clear[s] = std::max(warp.clear[s], until);
  }

  size_t issue(Scheduler& scheduler, size_t which, double now) {
    Warp& warp = warps_[which];
    size_t in_unit = 0;
    const Step& step = step_at(warp.at, in_unit);
    charge(scheduler, which, now);
    read_registers(scheduler, step, which, now);
    take_pipe(scheduler, step, warp, now);
    scheduler.last = which;
    scheduler.yields = !step.control.yield;
    scheduler.next = std::max(now + 1, scheduler.collecting);
    warp.ready = now + std::max(1, step.control.stall);
    warp.waits_for = Loss::idle;
    if (step.waits_groups >= 0) wait_for_groups(warp, step.waits_groups);
    ++warp.at;
    if (warp.at == steps_) {
      warp.done = true;
      return 1;
    }
    wait_for_scoreboards(warp);
    if (step.syncs) arrive(which, now);
    return 0;
  }

  static void wait_for_groups(Warp& warp, int left) {
    while (warp.groups.size() > static_cast<size_t>(left)) {
      if (warp.groups.front() > warp.ready) {
        warp.ready = warp.groups.front();
        warp.waits_for = Loss::slice_copies;
      }
      warp.groups.erase(warp.groups.begin());
    }
  }

  void wait_for_scoreboards(Warp& warp) const {
    size_t in_unit = 0;
    const Step& next = step_at(warp.at, in_unit);
    for (size_t s = 0; s < kScoreboards; ++s) {
      if ((next.control.wait_mask >> s & 1) == 0 || warp.clear[s] <= warp.ready) continue;
      warp.ready = warp.clear[s];
      warp.waits_for = warp.set_by[s];
    }
  }

  void arrive(size_t which, double now) {
    Warp& warp = warps_[which];
    Block& block = blocks_[static_cast<size_t>(warp.block)];
    ++block.arrived;
    if (block.arrived < warps_a_block_) {
      block.waiting.push_back(which);
      held_back_.resize(warps_.size());
      held_back_[which] = warp.ready;
      warp.ready = kNever;
      warp.waits_for = Loss::barriers;
      return;
    }
    const double opens = now + target_.rates.barrier_latency;
    block.waiting.push_back(which);
    held_back_.resize(warps_.size());
    held_back_[which] = warp.ready;
    for (const size_t other : block.waiting) {
      Warp& freed = warps_[other];
      freed.ready = std::max(held_back_[other], opens);
      freed.waits_for = Loss::barriers;
      Scheduler& scheduler = schedulers_[other % schedulers_.size()];
      scheduler.next = std::min(scheduler.next, std::max(freed.ready, now + 1));
    }
    block.arrived = 0;
    block.waiting.clear();
  }

  const Trace& trace_;
  const Target& target_;
  int warps_a_block_;
  int units_;
  size_t steps_ = 0;
  std::vector<Warp> warps_;
  std::vector<Scheduler> schedulers_;
  std::vector<Block> blocks_;
  std::vector<double> held_back_;  // when warps at a barrier could have gone on
  double shared_free_ = 0;
  double road_free_ = 0;
  double dram_bytes_ = 0;  // a cycle, one SM's share
  SmRun run_;
};

}  // namespace

SmRun simulate_sm(const Trace& trace, const Target& target, int blocks, int warps, int units) {
  return Sm(trace, target, blocks, warps, units).run();
}

}  // namespace tilec
