#include "compiler/ir/rehearse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/ir/text.h"

namespace tilec::ir {
namespace {

constexpr int kUnspecified = -1;
constexpr int kMaxSteps = 4'000'000;  // ops of one rehearsal; real kernels take thousands

struct Case {
  int slices = 0;
  int full = 0;
  bool whole = false;
  bool beta_is_zero = false;
  bool in_parts = false;
};

// What one slot of a ring, or one set of registers, holds.
struct Held {
  int slice = kUnspecified;
  int k = kUnspecified;    // fragments
  bool under_way = false;  // an async copy into it has not been waited for
  bool unseen = false;     // written since the last barrier
  bool read = false;       // read since the last barrier
};

// What the blocks' exchanges hold; the blocks of a cluster all do the same.
struct Exchange {
  bool whole = false;   // all products of each block's share of K
  bool unseen = false;  // since the last barrier of the cluster
  bool read = false;    // by other blocks, since then
};

struct Group {
  std::vector<std::pair<Id, int>> slots;
};

class Rehearsal {
 public:
  Rehearsal(const Kernel& kernel, const Case& run) : kernel_(kernel), case_(run) {
    for (const Storage& s : kernel.storage)
      held_.emplace_back(static_cast<size_t>(s.space == Space::shared ? s.stages : 1));
  }

  std::string run() {
    std::string bad = block(kernel_.ops);
    // A tile that one block has all of leaves nothing to add up.
    const int wanted = kernel_.streams() && sums(kernel_) && !case_.in_parts ? 0 : 1;
    if (bad.empty() && kernel_.synchronised && exchange_.read)
      bad = "R9: a block ends while others may still read its exchange";
    if (bad.empty() && stores_ != wanted)
      bad = fmt::format("R7: C is stored {} times, and not {}", stores_, wanted);
    if (bad.empty()) return bad;
    return fmt::format("{} ({} slices, {} of them full, {} block{}, beta {} 0)", bad, case_.slices,
                       case_.full, case_.whole ? "whole" : "edge",
                       case_.in_parts ? ", in parts" : "", case_.beta_is_zero ? "=" : "!=");
  }

 private:
  int value(const Index& index) const {
    return (index.variable.empty() ? 0 : variables_.at(index.variable)) + index.offset;
  }

  int value(const Bound& bound) const {
    switch (bound.kind) {
      case BoundKind::full:
        return case_.full;
      case BoundKind::slices:
        return case_.slices;
      case BoundKind::number:
        return bound.number;
    }
    return 0;
  }

  bool holds(const Condition& condition) const {
    switch (condition.kind) {
      case ConditionKind::none:
        return true;
      case ConditionKind::whole:
        return case_.whole;
      case ConditionKind::beta_is_zero:
        return case_.beta_is_zero;
      case ConditionKind::in_parts:
        return case_.in_parts;
      case ConditionKind::less:
        return value(condition.left) < value(condition.right);
    }
    return false;
  }

  int slot_number(Id id, const Index& index) const { return value(index) % kernel_.at(id).stages; }
  Held& slot(Id id, const Index& index) {
    return held_[static_cast<size_t>(id)][static_cast<size_t>(slot_number(id, index))];
  }
  Held& registers(Id id) { return held_[static_cast<size_t>(id)][0]; }

  std::string complain(const char* rule, const Op& op, const std::string& why) const {
    return fmt::format("{}: `{}`: {}", rule, to_text(kernel_, op), why);
  }

  std::string block(const Block& ops) {
    for (const Op& op : ops) {
      std::string bad = step(op);
      if (!bad.empty()) return bad;
    }
    return "";
  }

  // The slice that a global access brings; complains if it may not be touched.
  std::string fetch(const Op& op, int& slice) const {
    slice = kUnspecified;
    if (!holds(op.when)) return "";
    slice = value(op.from_index);
    if (!op.guard && slice >= case_.full)
      return complain("R5", op, fmt::format("slice {} is touched without a guard", slice));
    return "";
  }

  std::string write_slot(const Op& op, int slice, bool async) {
    Held& held = slot(op.to, op.to_index);
    const bool strict = kernel_.synchronised;
    if (strict && (held.read || held.unseen || held.under_way)) {
      const char* why = held.read     ? "others may still read the slot"
                        : held.unseen ? "the slot was written since the last barrier"
                                      : "a copy into the slot is under way";
      return complain("R9", op, why);
    }
    if (strict && (exchange_.unseen || exchange_.read))
      return complain("R9", op, "others may still read the exchange in its place");
    exchange_.whole = false;
    held = {.slice = slice, .under_way = strict && async, .unseen = strict && !async};
    if (async) open_.slots.emplace_back(op.to, slot_number(op.to, op.to_index));
    return "";
  }

  std::string read_fragment(const Op& op) {
    Held& to = registers(op.to);
    to = {.k = value(op.k)};
    if (kernel_.at(op.from).space == Space::global) return fetch(op, to.slice);
    if (!holds(op.when)) return "";
    Held& from = slot(op.from, op.from_index);
    if (from.under_way) return complain("R8", op, "the copy into the slot was not waited for");
    if (from.unseen) return complain("R8", op, "the slot was written since the last barrier");
    from.read = kernel_.synchronised;
    to.slice = from.slice;
    return "";
  }

  std::string multiply(const Op& op) {
    const Held& m = registers(op.from);
    const Held& n = registers(op.from_n);
    const int slice = products_ / kernel_.tile_k;
    const int k = products_ % kernel_.tile_k;
    if (summed_) return complain("R6", op, "the accumulators hold a sum of parts");
    if (!zeroed_) return complain("R6", op, "the accumulators were not set to zero");
    if (m.slice != slice || m.k != k || n.slice != slice || n.k != k)
      return complain(
          "R6", op,
          fmt::format("next is slice {} at {}; the fragments hold {} at {} and {} at {}", slice, k,
                      m.slice, m.k, n.slice, n.k));
    ++products_;
    return "";
  }

  // Of a tile in parts no block knows C but the one that has summed them up.
  std::string store(const Op& op) {
    const bool as_part = kernel_.at(op.to).stretches;
    if (kernel_.streams() && as_part != (case_.in_parts && !summed_))
      return complain("R7", op, as_part ? "C stays a part" : "a part is stored as C");
    std::string bad = all_products(op);
    if (bad.empty()) bad = touches_c(op);
    if (!bad.empty()) return bad;
    ++stores_;
    return "";
  }

  std::string all_products(const Op& op) const {
    const int wanted = case_.slices * kernel_.tile_k;
    if (summed_ || (products_ == wanted && zeroed_)) return "";
    return complain("R6", op,
                    fmt::format("{} of {} products are in the accumulators", products_, wanted));
  }

  // A fault of what an op that stores C reads or touches.
  std::string touches_c(const Op& op) const {
    if (!op.guard && !case_.whole && !kernel_.at(op.to).stretches)
      return complain("R5", op, "an edge block without a guard");
    if (kernel_.synchronised && case_.beta_is_zero && !op.guard &&
        dsl::reads_c(op.epilogue) == dsl::ReadsC::unless_beta_zero)
      return complain("R7", op, "C is read although beta is 0");
    return "";
  }

  // Rings lie where the exchange does.
  std::string share(const Op& op) {
    if (std::string bad = all_products(op); !bad.empty()) return bad;
    for (size_t id = 0; id < held_.size(); ++id) {
      if (kernel_.storage[id].space != Space::shared) continue;
      for (Held& held : held_[id]) {
        if (held.read || held.unseen || held.under_way)
          return complain(
              "R9", op, fmt::format("`{}` in its place is still in use", kernel_.storage[id].name));
        held = {};
      }
    }
    if (exchange_.unseen || exchange_.read)
      return complain("R9", op, "others may still read the exchange");
    exchange_ = {.whole = true, .unseen = kernel_.synchronised};
    return "";
  }

  std::string reduce(const Op& op) {
    if (exchange_.unseen) return complain("R8", op, "shared since the last `cluster_barrier`");
    if (!exchange_.whole) return complain("R6", op, "the exchange does not hold all products");
    if (std::string bad = touches_c(op); !bad.empty()) return bad;
    exchange_.read = kernel_.synchronised;
    ++stores_;
    return "";
  }

  std::string sum(const Op& op) {
    if (!op.guard && !case_.whole && !kernel_.at(op.from).stretches)
      return complain("R5", op, "an edge block without a guard");
    if (products_ > 0) return complain("R6", op, "the accumulators hold products already");
    summed_ = true;
    return "";
  }

  void wait(int most) {
    while (static_cast<int>(groups_.size()) > most) {
      for (const auto& [id, number] : groups_.front().slots) {
        Held& held = held_[static_cast<size_t>(id)][static_cast<size_t>(number)];
        held.unseen = held.under_way;
        held.under_way = false;
      }
      groups_.erase(groups_.begin());
    }
  }

  void barrier() {
    for (std::vector<Held>& slots : held_)
      for (Held& held : slots) held.unseen = held.read = false;
  }

  std::string loop(const Op& op) {
    std::string bad;
    for (int i = value(op.lower); i < value(op.upper) && bad.empty(); i += op.count) {
      variables_[op.variable] = i;
      bad = block(op.body);
    }
    variables_.erase(op.variable);
    return bad;
  }

  std::string step(const Op& op) {
    if (++steps_ > kMaxSteps) return complain("R4", op, "too many ops to rehearse");
    int slice = kUnspecified;
    std::string bad;
    switch (op.kind) {
      case OpKind::zero:
        zeroed_ = true;
        summed_ = false;
        products_ = 0;
        return "";
      case OpKind::load:
        bad = fetch(op, slice);
        registers(op.to) = {.slice = slice};
        return bad;
      case OpKind::put:
        return write_slot(op, registers(op.from).slice, false);
      case OpKind::copy:
      case OpKind::async:
        bad = fetch(op, slice);
        return bad.empty() ? write_slot(op, slice, op.kind == OpKind::async) : bad;
      case OpKind::commit:
        groups_.push_back(std::move(open_));
        open_ = {};
        return "";
      case OpKind::wait:
        wait(op.count);
        return "";
      case OpKind::barrier:
        barrier();
        return "";
      case OpKind::fragment:
        return read_fragment(op);
      case OpKind::outer:
        return multiply(op);
      case OpKind::sum:
        return sum(op);
      case OpKind::store:
        return store(op);
      case OpKind::share:
        return share(op);
      case OpKind::reduce:
        return reduce(op);
      case OpKind::cluster_barrier:
        barrier();
        exchange_.unseen = exchange_.read = false;
        return "";
      case OpKind::depart:
        exchange_.read = false;
        return "";
      case OpKind::loop:
        return loop(op);
      case OpKind::branch:
        return block(holds(op.when) ? op.body : op.otherwise);
    }
    return bad;
  }

  const Kernel& kernel_;
  const Case case_;
  std::map<std::string, int> variables_;
  std::vector<std::vector<Held>> held_;  // by storage, by slot
  std::vector<Group> groups_;            // committed and not waited for, oldest first
  Exchange exchange_;
  Group open_;  // copies since the last commit
  int steps_ = 0;
  bool zeroed_ = false;
  bool summed_ = false;  // the accumulators hold the sum of all parts
  int products_ = 0;     // outer products in the accumulators
  int stores_ = 0;
};

// The same cases, of blocks that have only a part of their tile.
void add_parts(std::vector<Case>& all) {
  const size_t count = all.size();
  for (size_t i = 0; i < count; ++i) {
    all.push_back(all[i]);
    all.back().in_parts = true;
  }
}

std::vector<Case> cases(const Kernel& kernel) {
  int stages = 1;
  for (const Storage& s : kernel.storage) stages = std::max(stages, s.stages);
  const std::set<int> counts = {0,          1,          2,          stages - 1,    stages,
                                stages + 1, stages + 2, 2 * stages, 2 * stages + 1};
  std::vector<Case> out;
  for (int slices : counts) {
    for (bool zero : {false, true}) {
      out.push_back({slices, slices, true, zero});
      if (kernel.exact) continue;
      out.push_back({slices, std::max(0, slices - 1), true, zero});
      out.push_back({slices, 0, false, zero});
      out.push_back({slices, slices, false, zero});
    }
  }
  if (kernel.streams()) add_parts(out);
  return out;
}

}  // namespace

std::string rehearse(const Kernel& kernel) {
  for (const Case& run : cases(kernel)) {
    std::string bad = Rehearsal(kernel, run).run();
    if (!bad.empty()) return bad;
  }
  return "";
}

}  // namespace tilec::ir
