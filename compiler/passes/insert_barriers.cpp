// Adds a `barrier` before each op that would race on shared memory with an op since the last one.
//   in:  every shared access names its ring and its slot; copies have their waits
//   out: the kernel is `synchronised`: between two accesses of one slot by different threads, at
//        least one of them a write, there is a barrier, after the wait if the write is async; a
//        barrier of the cluster before its blocks read what the others shared, and `depart` behind
// Runs last; nothing later may reorder accesses.
//
// Slots are told apart by their offset from the loop variable: in trip i, slots i and i + 1 of a
// ring of 3 differ. What trip i leaves pending is seen by trip i + 1 with its offsets one less.
#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "compiler/passes/make_ops.h"
#include "compiler/passes/passes_list.h"

namespace tilec::passes {
namespace {

const char* const kAnywhere = "?";  // variable of a slot that may be any

struct Access {
  ir::Id ring = -1;
  std::string variable;  // empty: a number; kAnywhere: unknown
  int offset = 0;
  bool operator<(const Access& o) const {
    return std::tie(ring, variable, offset) < std::tie(o.ring, o.variable, o.offset);
  }
};
using Accesses = std::set<Access>;

bool may_meet(const ir::Kernel& kernel, const Access& a, const Access& b) {
  if (a.ring != b.ring) return false;
  if (a.variable != b.variable || a.variable == kAnywhere) return true;
  return (a.offset - b.offset) % kernel.at(a.ring).stages == 0;
}

bool meets_any(const ir::Kernel& kernel, const Access& a, const Accesses& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const Access& b) { return may_meet(kernel, a, b); });
}

struct State {
  Accesses reads;   // since the last barrier
  Accesses writes;  // since the last barrier: puts, and async copies that were waited for
  Accesses open;    // async copies since the last commit
  std::vector<Accesses> groups;  // committed and not waited for, newest first
  bool shared = false;           // since the last barrier of the cluster
  bool reduced = false;          // others' exchanges were read since then
};

template <class F>
State each_access(const State& state, F change) {
  const auto apply = [&](const Accesses& accesses) {
    Accesses out;
    for (const Access& a : accesses) out.insert(change(a));
    return out;
  };
  State out{apply(state.reads), apply(state.writes), apply(state.open), {},
            state.shared,       state.reduced};
  for (const Accesses& group : state.groups) out.groups.push_back(apply(group));
  return out;
}

State join(State a, const State& b) {
  a.reads.insert(b.reads.begin(), b.reads.end());
  a.writes.insert(b.writes.begin(), b.writes.end());
  a.open.insert(b.open.begin(), b.open.end());
  a.shared = a.shared || b.shared;
  a.reduced = a.reduced || b.reduced;
  a.groups.resize(std::max(a.groups.size(), b.groups.size()));
  for (size_t i = 0; i < b.groups.size(); ++i)
    a.groups[i].insert(b.groups[i].begin(), b.groups[i].end());
  return a;
}

bool reduces(const ir::Op& op) {
  return op.kind == ir::OpKind::reduce || std::ranges::any_of(op.body, reduces) ||
         std::ranges::any_of(op.otherwise, reduces);
}

class Inserter {
 public:
  explicit Inserter(const ir::Kernel& kernel) : kernel_(kernel) {}

  ir::Block block(const ir::Block& ops, State& state) const {
    ir::Block out;
    for (const ir::Op& op : ops) {
      // Before a branch, not in each of its arms.
      if (state.shared && reduces(op)) cluster_barrier(state, out);
      if (op.kind == ir::OpKind::loop) {
        ir::Op looped = loop(op, state, out);
        out.push_back(std::move(looped));
      } else if (op.kind == ir::OpKind::branch) {
        out.push_back(branch(op, state));
      } else {
        if (races(op, state)) {
          out.push_back(make_barrier());
          state.reads.clear();
          state.writes.clear();
        }
        record(op, state);
        out.push_back(op);
      }
    }
    return out;
  }

  static void cluster_barrier(State& state, ir::Block& out) {
    out.push_back(make_cluster_barrier());
    state.reads.clear();
    state.writes.clear();
    state.shared = state.reduced = false;
  }

 private:
  bool is_ring(ir::Id id) const { return id >= 0 && kernel_.at(id).space == ir::Space::shared; }
  static Access access(ir::Id ring, const ir::Index& at) { return {ring, at.variable, at.offset}; }

  bool races(const ir::Op& op, const State& state) const {
    if (op.kind == ir::OpKind::fragment && is_ring(op.from))
      return meets_any(kernel_, access(op.from, op.from_index), state.writes);
    if (op.kind == ir::OpKind::put || op.kind == ir::OpKind::async) {
      const Access written = access(op.to, op.to_index);
      return meets_any(kernel_, written, state.reads) || meets_any(kernel_, written, state.writes);
    }
    // The exchange lies where the rings do.
    if (op.kind == ir::OpKind::share) return !state.reads.empty() || !state.writes.empty();
    return false;
  }

  void record(const ir::Op& op, State& state) const {
    switch (op.kind) {
      case ir::OpKind::fragment:
        if (is_ring(op.from)) state.reads.insert(access(op.from, op.from_index));
        break;
      case ir::OpKind::share:
        state.shared = true;
        break;
      case ir::OpKind::reduce:
        state.reduced = true;
        break;
      case ir::OpKind::put:
        state.writes.insert(access(op.to, op.to_index));
        break;
      case ir::OpKind::async:
        state.open.insert(access(op.to, op.to_index));
        break;
      case ir::OpKind::commit:
        state.groups.insert(state.groups.begin(), std::move(state.open));
        state.open.clear();
        break;
      case ir::OpKind::wait:
        while (state.groups.size() > static_cast<size_t>(op.count)) {
          state.writes.insert(state.groups.back().begin(), state.groups.back().end());
          state.groups.pop_back();
        }
        break;
      default:
        break;
    }
  }

  // Trip i + 1 follows trip i, so the body starts with what came before the loop and with its own
  // accesses pending. A few rounds reach the fixed point: barriers empty the sets.
  State repeat(const ir::Op& op, State start, ir::Op& out) const {
    State end;
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      end = start;
      out.body = block(op.body, end);
      start = join(start, each_access(end, [&](Access a) {
                     if (a.variable == op.variable) a.offset -= op.count;
                     return a;
                   }));
    }
    return end;
  }

  // A barrier that only the first trip needs stands before the loop, not in it.
  ir::Op loop(const ir::Op& op, State& state, ir::Block& before) const {
    const bool from_zero = op.lower.kind == ir::BoundKind::number && op.lower.number == 0;
    State entry = each_access(state, [&](Access a) {
      if (a.variable.empty() && from_zero) a.variable = op.variable;  // there i = 0
      return a;
    });
    ir::Op out = op;
    State end = repeat(op, entry, out);
    State settled = entry;
    settled.reads.clear();
    settled.writes.clear();
    ir::Op without = op;
    const State settled_end = repeat(op, settled, without);
    if (without.body != out.body) {
      before.push_back(make_barrier());
      entry = settled;
      end = settled_end;
      out = without;
    }
    state = each_access(join(entry, end), [&](Access a) {
      if (a.variable == op.variable) a.variable = kAnywhere;
      return a;
    });
    return out;
  }

  ir::Op branch(const ir::Op& op, State& state) const {
    ir::Op out = op;
    State otherwise = state;
    out.body = block(op.body, state);
    out.otherwise = block(op.otherwise, otherwise);
    state = join(std::move(state), otherwise);
    return out;
  }

  const ir::Kernel& kernel_;
};

}  // namespace

ir::Kernel insert_barriers(const ir::Kernel& kernel) {
  ir::Kernel out = kernel;
  State state;
  out.ops = Inserter(kernel).block(kernel.ops, state);
  if (state.reduced) out.ops.push_back(make_depart());
  out.synchronised = true;
  return out;
}

}  // namespace tilec::passes
