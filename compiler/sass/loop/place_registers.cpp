#include "compiler/sass/loop/place_registers.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilec::sass {
namespace {

int width_of(const LoopOp& load) {
  for (const RegisterUse& use : load.instruction.registers())
    if (use.written) return use.count;
  return 1;
}

class Allocator {
 public:
  explicit Allocator(const Registers& free) : free_(free) {}

  /// The lowest aligned group of `width` registers of `among`, single ones of `parity`; -1 if none.
  int take_group(int width, int parity, const Registers& among) {
    const int first = width == 1 ? parity : 0;
    const int stride = width == 1 ? 2 : width;
    for (int base = first; base + width <= kZeroRegister; base += stride) {
      bool fits = true;
      for (int i = 0; i < width; ++i) fits &= is_free(base + i) && among[size_t(base) + size_t(i)];
      if (!fits) continue;
      for (int i = 0; i < width; ++i) take(base + i);
      return base;
    }
    return -1;
  }
  bool is_free(int reg) const { return free_[static_cast<size_t>(reg)]; }
  void take(int reg) {
    free_.reset(static_cast<size_t>(reg));
    highest_ = std::max(highest_, reg);
  }
  int highest() const { return highest_; }

 private:
  Registers free_;
  int highest_ = 0;
};

// The loads that bring the first step's elements, in order, each once.
std::vector<size_t> pieces(const std::vector<FragmentElement>& elements) {
  std::vector<size_t> loads;
  for (const FragmentElement& element : elements)
    if (loads.empty() || loads.back() != element.load) loads.push_back(element.load);
  return loads;
}

bool place_fragments(const Body& body, const std::vector<FragmentElement> Step::* side,
                     const Products& products, const Registers& preferred, Allocator& registers,
                     Placement& out) {
  const size_t buffers = std::min<size_t>(products.steps.size(), 2);
  for (size_t buffer = 0; buffer < buffers; ++buffer) {
    const std::vector<size_t> first = pieces(products.steps[buffer].*side);
    for (size_t p = 0; p < first.size(); ++p) {
      const int width = width_of(body.ops[first[p]]);
      const int parity = static_cast<int>(p % 2);
      int base = registers.take_group(width, parity, preferred);
      if (base < 0) base = registers.take_group(width, parity, ~Registers{});
      if (base < 0) return false;
      for (size_t s = buffer; s < products.steps.size(); s += 2)
        out.fragments[pieces(products.steps[s].*side)[p]] = base;
    }
  }
  return true;
}

int register_of(const FragmentElement& element, const Placement& placement) {
  return placement.fragments.at(element.load) + element.element;
}

bool place_accumulators(const Products& products, Allocator& registers, Placement& out) {
  const size_t count = products.accumulators.size();
  out.accumulators.assign(count, -1);
  const auto bank = [&](size_t i) {
    return 1 - register_of(products.steps[0].columns[i % products.columns], out) % 2;
  };
  for (size_t i = 0; i < count; ++i) {  // those that lie well stay
    const int old = products.accumulators[i];
    if (old % 2 != bank(i) || !registers.is_free(old)) continue;
    registers.take(old);
    out.accumulators[i] = old;
  }
  for (size_t i = 0; i < count; ++i) {
    int& reg = out.accumulators[i];
    if (reg < 0) reg = registers.take_group(1, bank(i), ~Registers{});
    if (reg < 0) reg = registers.take_group(1, 1 - bank(i), ~Registers{});
    if (reg < 0) return false;
  }
  return true;
}

}  // namespace

OrWhyNot<Placement> place_registers(const Body& body, const Products& products, Registers free) {
  Allocator registers(free);
  Registers preferred = free;
  for (const int reg : products.accumulators) preferred.reset(static_cast<size_t>(reg));
  Placement out;
  if (!place_fragments(body, &Step::rows, products, preferred, registers, out) ||
      !place_fragments(body, &Step::columns, products, preferred, registers, out) ||
      !place_accumulators(products, registers, out))
    return WhyNot(
        fmt::format("{} registers are free, too few for {} accumulators and the fragments of two "
                    "steps in two banks",
                    free.count(), products.accumulators.size()));
  for (size_t i = 0; i < out.accumulators.size(); ++i)
    out.renames.push_back({products.accumulators[i], out.accumulators[i]});
  if (products.steps[0].carried)
    for (const size_t load : products.steps[0].loads)
      for (int i = 0; i < width_of(body.ops[load]); ++i)
        out.renames.push_back({result_of(body.ops[load]) + i, out.fragments.at(load) + i});
  out.highest = registers.highest();
  return out;
}

Body apply_placement(const Body& body, const Products& products, const Placement& placement) {
  Body out = body;
  const auto set = [&](LoopOp& op, Slot slot, int reg) {
    op = with_operand(op, slot, reg, body.sm);
  };
  for (const auto& [load, base] : placement.fragments) set(out.ops[load], Slot::d, base);
  for (const Step& step : products.steps) {
    for (size_t i = 0; i < step.fmas.size(); ++i) {
      LoopOp& fma = out.ops[step.fmas[i]];
      set(fma, Slot::d, placement.accumulators[i]);
      set(fma, Slot::c, placement.accumulators[i]);
      set(fma, Slot::a, register_of(step.columns[i % products.columns], placement));
      set(fma, Slot::b, register_of(step.rows[i / products.columns], placement));
    }
  }
  return out;
}

}  // namespace tilec::sass
