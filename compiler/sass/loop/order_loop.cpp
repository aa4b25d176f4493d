#include "compiler/sass/loop/order_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "compiler/sass/latency.h"

namespace tilec::sass {
namespace {

// Multiply-adds that cover the latencies of arithmetic, and of a guard (latency.h).
constexpr double kResultDistance = 6;
constexpr double kGuardDistance = 14;
constexpr double kNever = std::numeric_limits<double>::infinity();

// An instruction that is no multiply-add, and when it should issue.
struct Item {
  size_t op = 0;
  bool load = false;          // of a fragment
  double wanted = 0;          // before which multiply-add, counted from the loop's first
  double earliest = 0;        // a load's registers are in use before
  size_t step = 0;            // of a load: the one that it feeds
  std::vector<size_t> after;  // items that have to issue first
  int group = -1;             // of copies that no load may stand between
  bool done = false;
};

std::vector<size_t> serpentine(const Products& products) {
  std::vector<size_t> fmas;
  for (const Step& step : products.steps)
    for (size_t row = 0; row < products.rows; ++row)
      for (size_t i = 0; i < products.columns; ++i)
        fmas.push_back(
            step.fmas[row * products.columns + (row % 2 == 0 ? i : products.columns - 1 - i)]);
  return fmas;
}

bool overlap(std::span<const Operand> a, std::span<const Operand> b) {
  for (const Operand& x : a)
    for (const Operand& y : b)
      if (x.file == y.file && x.first < y.first + y.count && y.first < x.first + x.count)
        return true;
  return false;
}

// Loads may not pass it: it changes memory that they may read, or waits for somebody who does.
bool bars_loads(const LoopOp& op, bool slots_apart) {
  switch (op.operands.effect) {
    case Effect::none:
    case Effect::constant_read:
    case Effect::shared_read:
    case Effect::global_read:
    case Effect::local_read:
    case Effect::async_commit:
      return false;
    case Effect::shared_write:
    case Effect::async_copy:
    case Effect::async_wait:
      return !slots_apart;
    default:
      return true;
  }
}

bool touches_memory(const LoopOp& op) {
  return op.operands.effect != Effect::none && op.operands.effect != Effect::constant_read;
}

// Whether two instructions, `first` and then `second` in the code, have to stay in that order.
bool ordered(const LoopOp& first, const LoopOp& second) {
  return (touches_memory(first) && touches_memory(second)) ||
         overlap(first.operands.writes(), second.operands.reads()) ||
         overlap(first.operands.reads(), second.operands.writes()) ||
         overlap(first.operands.writes(), second.operands.writes());
}

// The same of a fragment load and another instruction, either first. The fragment's registers are
// new ones: only what the load reads matters.
bool ordered_with_load(const LoopOp& load, const LoopOp& other, bool slots_apart) {
  return bars_loads(other, slots_apart) || overlap(load.operands.reads(), other.operands.writes());
}

// Waits and barriers are for the loads behind them, and come as late as they may.
bool is_late(const LoopOp& op) {
  return op.operands.effect == Effect::async_wait || op.operands.effect == Effect::block_barrier;
}

class Weaver {
 public:
  Weaver(const Body& body, const Products& products, const OrderRules& rules)
      : body_(body), products_(products), rules_(rules), fmas_(serpentine(products)) {
    list_items();
    order_items();
    group_copies();
    want_loads();
    const double step = static_cast<double>(products.rows * products.columns);
    for (unit_ = step; !want_others() && unit_ > 1;) unit_ = std::floor(unit_ / 2);
  }

  OrWhyNot<std::vector<size_t>> weave() {
    const size_t per_step = products_.rows * products_.columns;
    for (size_t at = 0; at < fmas_.size(); ++at) {
      if (at % per_step == 0 && !finish_loads(at / per_step, static_cast<double>(at)))
        return WhyNot("a load cannot be issued before its step");
      while (issue_next(static_cast<double>(at), static_cast<double>(at))) {
      }
      order_.push_back(fmas_[at]);
    }
    while (issue_next(kNever, kNever)) {
    }
    for (size_t op = body_.ops.size() - body_.jumps; op < body_.ops.size(); ++op)
      order_.push_back(op);
    if (order_.size() != body_.ops.size()) return WhyNot("no order keeps all dependences");
    return order_;
  }

 private:
  void list_items() {
    std::vector<bool> is_fma(body_.ops.size(), false);
    for (const size_t fma : fmas_) is_fma[fma] = true;
    std::vector<size_t> step_of(body_.ops.size(), SIZE_MAX);
    for (size_t s = 0; s < products_.steps.size(); ++s)
      for (const size_t load : products_.steps[s].loads) step_of[load] = s;
    for (size_t op = 0; op + body_.jumps < body_.ops.size(); ++op)
      if (!is_fma[op])
        items_.push_back({.op = op, .load = step_of[op] != SIZE_MAX, .step = step_of[op]});
  }

  void order_items() {
    for (size_t i = 0; i < items_.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (stay_ordered(items_[j], items_[i])) items_[i].after.push_back(j);
  }

  bool stay_ordered(const Item& first, const Item& second) const {
    const LoopOp& a = body_.ops[first.op];
    const LoopOp& b = body_.ops[second.op];
    if (first.load && second.load) return false;
    if (first.load) return ordered_with_load(a, b, rules_.slots_apart);
    if (second.load) return ordered_with_load(b, a, rules_.slots_apart);
    return ordered(a, b);
  }

  // The assembler issues three loads that never happen between a load from shared memory and the
  // next asynchronous copy (cubins for sm_90 record SW_WAR, a workaround in software). What happens
  // without them was not measured by itself; they stay where they are. So a run of copies that
  // begins with such loads is a group, and no load may stand within it.
  void group_copies() {
    int group = -1;
    bool open = false, copied = false;
    for (size_t i = 0; i < items_.size(); ++i) {
      const LoopOp& op = op_of(i);
      if (items_[i].load || !touches_memory(op)) continue;
      const bool starts = is_never(op.instruction.guard);
      const bool copies = op.operands.effect == Effect::async_copy;
      if (starts && (!open || copied)) {
        ++group;
        open = true;
        copied = false;
      } else if (!starts && !copies) {
        open = false;
      }
      copied |= copies;
      if (open) items_[i].group = group;
    }
  }

  static bool is_never(const Guard& guard) {
    return guard.predicate == kTruePredicate && guard.negated;
  }

  // Where the loads of a step should stand: the last `arrival` before the step.
  void want_loads() {
    const auto per_step = static_cast<double>(products_.rows * products_.columns);
    for (size_t s = 0; s < products_.steps.size(); ++s) {
      const Step& step = products_.steps[s];
      const bool at_once = s == 0 && !step.carried;
      const double use = per_step * static_cast<double>(s == 0 ? products_.steps.size() : s);
      const double gap =
          std::min<double>(rules_.gap, (per_step - 2) / static_cast<double>(step.loads.size() + 1));
      for (size_t i = 0; i < step.loads.size(); ++i) {
        Item& item = item_of(step.loads[i]);
        const auto behind = static_cast<double>(step.loads.size() - 1 - i);
        item.earliest = at_once ? 0 : use - per_step;
        item.wanted =
            at_once ? 0
                    : cheap_place(static_cast<size_t>(&item - items_.data()),
                                  std::max(item.earliest + 1, use - rules_.arrival - gap * behind));
      }
    }
  }

  Item& item_of(size_t op) { return *std::ranges::find(items_, op, &Item::op); }

  // Between which loads the others have to stay: low and high bounds, passed on along dependences.
  void bound_others(std::vector<double>& low, std::vector<double>& high) const {
    low.assign(items_.size(), 0);
    high.assign(items_.size(), static_cast<double>(fmas_.size()));
    for (size_t i = 0; i < items_.size(); ++i)
      for (const size_t before : items_[i].after)
        low[i] = std::max(low[i], (items_[before].load ? items_[before].wanted : low[before]) +
                                      distance(before, i));
    for (size_t i = items_.size(); i-- > 0;)
      for (const size_t before : items_[i].after)
        high[before] = std::min(
            high[before], (items_[i].load ? items_[i].wanted : high[i]) - distance(before, i));
  }

  // Others with the same bounds are spread evenly between these, each then moved on to where it
  // costs least. False where a barrier comes too late for the loads behind it.
  bool want_others() {
    std::vector<double> low, high;
    bound_others(low, high);
    std::map<std::pair<double, double>, std::vector<size_t>> runs;
    for (size_t i = 0; i < items_.size(); ++i)
      if (!items_[i].load) runs[{low[i], high[i]}].push_back(i);
    for (const auto& [bounds, run] : runs) {
      const auto& [from, to] = bounds;
      const double gap = std::min<double>(
          rules_.spread, std::max(0.0, to - from) / static_cast<double>(run.size() + 1));
      for (size_t n = 0; n < run.size(); ++n)
        items_[run[n]].wanted = from + gap * static_cast<double>(n + 1);
    }
    bool in_time = true;
    // Twice: a group waits for places that are found behind its first member.
    for (size_t n = 0; n < 2 * items_.size(); ++n) {
      const size_t i = n % items_.size();
      if (i == 0) in_time = true;
      if (items_[i].load) continue;
      double& wanted = items_[i].wanted;
      double ready = low[i];
      for (const size_t before : items_[i].after)
        if (!items_[before].load) ready = std::max(ready, behind(before, i));
      if (is_late(op_of(i))) {
        in_time &= ready <= high[i];
        wanted = std::max(ready, high[i]);
      } else if (items_[i].group >= 0) {
        want_group(i, ready);
      } else {
        wanted = std::max(ready, std::min(cheap_place(i, std::max(wanted, ready)), high[i]));
      }
    }
    return in_time;
  }

  // The whole group goes where no load stands, behind the last load of a step, once what each of
  // its copies needs is there.
  void want_group(size_t item, double ready) {
    std::vector<size_t> members;
    for (size_t i = 0; i < items_.size(); ++i)
      if (items_[i].group == items_[item].group) members.push_back(i);
    if (members.front() != item) return;
    for (const size_t member : members)
      for (const size_t before : items_[member].after)
        if (!items_[before].load && items_[before].group != items_[item].group)
          ready = std::max(ready, behind(before, member));
    const auto step = static_cast<double>(products_.rows * products_.columns);
    const double last_load = step - rules_.arrival + 2;  // of a step, from the start before it
    const double start = std::max(0.0, std::ceil((ready - last_load) / step)) * step + last_load;
    const auto loads = static_cast<double>(products_.steps.front().loads.size());
    const double room = std::max(0.0, step - rules_.gap * (loads - 1) - 4);
    const double gap = std::min(8.0, room / static_cast<double>(members.size()));
    for (size_t n = 0; n < members.size(); ++n)
      items_[members[n]].wanted = start + std::floor(gap * static_cast<double>(n));
  }

  const LoopOp& op_of(size_t item) const { return body_.ops[items_[item].op]; }

  // The first place for `item` behind `before`: far enough not to wait.
  double behind(size_t before, size_t item) const {
    return items_[before].wanted + distance(before, item);
  }

  // Multiply-adds from `first` to `second` that cover what the second needs of the first.
  double distance(size_t first, size_t second) const {
    const LoopOp& a = op_of(first);
    const LoopOp& b = op_of(second);
    const int apart = issue_distance(a.instruction, a.operands, b.instruction, b.operands);
    const double memory = apart > 1 ? apart : 0;
    if (!overlap(a.operands.writes(), b.operands.reads()))
      return a.operands.reads_late() && overlap(a.operands.reads(), b.operands.writes())
                 ? std::max<double>(memory, rules_.read)
                 : memory;
    const Operand* guard = guard_of(b.instruction, b.operands);
    const bool guards = guard != nullptr && overlap(a.operands.writes(), std::span(guard, 1));
    return std::max(memory, guards ? kGuardDistance : kResultDistance);
  }

  // Where the reuse cache loses least, at `wanted` or behind. Within a row the row's element is
  // kept in slot b, at its turn the column's in slot a, between steps nothing.
  double cheap_place(size_t item, double wanted) const {
    const bool a = op_of(item).instruction.read(Slot::a) != kZeroRegister;
    const bool b = op_of(item).instruction.read(Slot::b) != kZeroRegister;
    const auto row = static_cast<double>(products_.columns);
    const auto step = row * static_cast<double>(products_.rows);
    const double at = std::ceil(wanted);
    if (a && b) return std::ceil(at / unit_) * unit_;
    if (b) return std::ceil(at / row) * row;
    return a && std::fmod(at, row) == 0 && std::fmod(at, step) != 0 ? at + 1 : at;
  }

  bool ready(const Item& item, double now) const {
    return !item.done && item.earliest <= now && (open_group_ < 0 || !item.load) &&
           std::ranges::all_of(item.after, [&](size_t before) { return items_[before].done; });
  }

  // Issues the ready item that is wanted first, if it is wanted by `due`.
  bool issue_next(double now, double due) {
    Item* best = nullptr;
    for (Item& item : items_)
      if (item.wanted <= due && (best == nullptr || item.wanted < best->wanted) && ready(item, now))
        best = &item;
    if (best == nullptr) return false;
    best->done = true;
    order_.push_back(best->op);
    if (best->group >= 0) {
      const bool more = std::ranges::any_of(
          items_, [&](const Item& item) { return item.group == best->group && !item.done; });
      open_group_ = more ? best->group : -1;
    }
    return true;
  }

  // Issues what is ready until all loads of `step` are out.
  bool finish_loads(size_t step, double now) {
    if (products_.steps[step].carried) return true;
    const auto missing = [&](const Item& item) {
      return item.load && item.step == step && !item.done;
    };
    while (std::ranges::any_of(items_, missing))
      if (!issue_next(now, kNever)) return false;
    return true;
  }

  const Body& body_;
  const Products& products_;
  const OrderRules& rules_;
  std::vector<size_t> fmas_;
  std::vector<Item> items_;
  std::vector<size_t> order_;
  double unit_ = 1;      // places without cost for an instruction that reads slots a and b
  int open_group_ = -1;  // a group of copies that has begun and not ended
};

}  // namespace

OrWhyNot<std::vector<size_t>> order_loop(const Body& body, const Products& products,
                                         const OrderRules& rules) {
  if (products.steps.front().carried && products.steps.size() % 2 != 0)
    return WhyNot("an odd number of steps, with fragments carried round the loop");
  return Weaver(body, products, rules).weave();
}

}  // namespace tilec::sass
