// Reads the fragments of each step while the step before it multiplies, round the loop too.
//   in:  the products of a slice are written out; each step reads its fragments and uses them
//   out: in loops over slices that overlap copies, fragments alternate between two sets of
//        registers. Step k + 1's are read before step k's product, those of the next slice before
//        the last product of this one, once that slice has landed; those of the first before the
//        loop. Copies of later slices start behind the first reads, an operand a step.
// Without it every trip begins with a barrier, then waits for shared memory before its first
// product. It costs a second set of registers.
#include <algorithm>

#include "compiler/passes/make_ops.h"
#include "compiler/passes/passes_list.h"

namespace tilec::passes {
namespace {

using ir::OpKind;

struct Step {
  std::vector<ir::Op> fragments;
  ir::Op product;
};

// The body of a loop over slices, by what its ops are for.
struct Trip {
  ir::Block fetches;   // load, async
  ir::Block arrivals;  // wait, put: they make the next slice land
  bool commits = false;
  std::vector<Step> steps;
};

// False where the body is of another shape.
bool take_apart(const ir::Block& body, Trip& out) {
  for (const ir::Op& op : body) {
    const bool opens_step = out.steps.empty() || out.steps.back().product.kind == OpKind::outer;
    switch (op.kind) {
      case OpKind::load:
      case OpKind::async:
        out.fetches.push_back(op);
        break;
      case OpKind::wait:
      case OpKind::put:
        out.arrivals.push_back(op);
        break;
      case OpKind::commit:
        out.commits = true;
        break;
      case OpKind::fragment:
        if (opens_step) out.steps.emplace_back();
        out.steps.back().fragments.push_back(op);
        break;
      case OpKind::outer:
        if (opens_step) return false;
        out.steps.back().product = op;
        break;
      default:
        return false;
    }
  }
  const size_t count = out.steps.size();
  return count >= 2 && count % 2 == 0 && !out.fetches.empty() && !out.arrivals.empty() &&
         out.steps.back().product.kind == OpKind::outer;
}

class Leader {
 public:
  explicit Leader(const ir::Kernel& kernel) : out_(kernel) {}

  ir::Kernel run() {
    for (ir::Op& op : out_.ops)
      if (op.kind == OpKind::branch) lead_in(op.body);
    return std::move(out_);
  }

 private:
  // `path`: copies of the first slices, then the loop.
  void lead_in(ir::Block& path) {
    const auto loop = std::ranges::find(path, OpKind::loop, &ir::Op::kind);
    Trip trip;
    if (loop == path.end() || loop->lower.kind != ir::BoundKind::number ||
        !take_apart(loop->body, trip))
      return;
    add_registers(trip.steps.front());
    ir::Block first;
    for (const ir::Op& arrival : trip.arrivals)
      if (arrival.kind == OpKind::wait) first.push_back(arrival);
    for (ir::Op fragment : reads(trip.steps.front(), 0)) {
      fragment.from_index = {"", 0};
      first.push_back(fragment);
    }
    loop->body = rotate(*loop, trip);
    path.insert(loop, first.begin(), first.end());
  }

  void add_registers(const Step& step) {
    for (const ir::Op& fragment : step.fragments) {
      ir::Storage odd = out_.at(fragment.to);
      odd.name += "_odd";
      odd_of_.emplace_back(fragment.to, static_cast<ir::Id>(out_.storage.size()));
      out_.storage.push_back(std::move(odd));
    }
  }

  // The registers of `id` for step `k`.
  ir::Id registers(ir::Id id, size_t k) const {
    for (const auto& [even, odd] : odd_of_)
      if (even == id && k % 2 == 1) return odd;
    return id;
  }

  ir::Block reads(const Step& step, size_t k) const {
    ir::Block out = step.fragments;
    for (ir::Op& fragment : out) fragment.to = registers(fragment.to, k);
    return out;
  }

  ir::Block rotate(const ir::Op& loop, const Trip& trip) const {
    const size_t last = trip.steps.size() - 1;
    ir::Block body;
    size_t fetched = 0;
    const auto fetch = [&](size_t count) {
      for (; fetched < std::min(count, trip.fetches.size()); ++fetched)
        body.push_back(trip.fetches[fetched]);
      if (fetched == trip.fetches.size() && trip.commits && !committed(body))
        body.push_back(make_commit());
    };
    for (size_t k = 0; k <= last; ++k) {
      if (k < last) {
        for (const ir::Op& fragment : reads(trip.steps[k + 1], k + 1)) body.push_back(fragment);
        fetch(k + 1 == last ? trip.fetches.size() : k + 1);
      } else {
        for (const ir::Op& arrival : trip.arrivals) body.push_back(arrival);
        for (ir::Op fragment : reads(trip.steps.front(), 0)) {
          fragment.from_index.offset += loop.count;
          fragment.when = less(fragment.from_index, loop.upper);
          body.push_back(fragment);
        }
      }
      ir::Op product = trip.steps[k].product;
      product.from = registers(product.from, k);
      product.from_n = registers(product.from_n, k);
      body.push_back(product);
    }
    return body;
  }

  static bool committed(const ir::Block& body) {
    return std::ranges::find(body, OpKind::commit, &ir::Op::kind) != body.end();
  }

  ir::Kernel out_;
  std::vector<std::pair<ir::Id, ir::Id>> odd_of_;
};

}  // namespace

ir::Kernel lead_fragments(const ir::Kernel& kernel) {
  return Leader(kernel).run();
}

}  // namespace tilec::passes
