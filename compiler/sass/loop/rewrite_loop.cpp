#include "compiler/sass/loop/rewrite_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/sass/latency.h"
#include "compiler/sass/loop/enter_leave.h"
#include "compiler/sass/loop/set_control.h"
#include "compiler/sass/retarget.h"

namespace tilec::sass {
namespace {

// Multiply-adds until a copy of 16 bytes has read the registers of its address. Measured on an
// H200.
constexpr int kReadDistance = 40;
constexpr size_t kStackPointer = 1;  // R1 by the ABI, whether or not the kernel has a stack

bool is_fragment_load(const Products& products, size_t op) {
  return std::ranges::any_of(
      products.steps, [&](const Step& step) { return std::ranges::binary_search(step.loads, op); });
}

Registers general_of(std::span<const Operand> operands) {
  Registers out;
  for (const Operand& operand : operands)
    if (operand.file == File::general)
      for (int r = 0; r < operand.count; ++r)
        out.set(size_t{operand.first} + static_cast<size_t>(r));
  return out;
}

Registers written_by(const LoopOp& op) {
  return general_of(op.operands.writes());
}

Registers touched_by(const LoopOp& op) {
  return general_of(op.operands.reads()) | general_of(op.operands.writes());
}

// Registers whose values are still needed, at the loop's top and behind it.
struct Needed {
  Registers top, behind;
};

Needed find_needed(std::span<const Instruction> all, const Body& body) {
  const Flow flow = find_flow(all);
  const std::vector<Registers> live = live_at_tops(all, flow);
  Needed needed;
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    if (flow.blocks[b].begin == body.begin) needed.top = live[b];
    if (flow.blocks[b].begin == body.end) needed.behind = live[b];
  }
  return needed;
}

Registers find_free(const Needed& needed, const Body& body, const Products& products, int most) {
  Registers used = needed.top | needed.behind;
  // What is in these at the loop's top and end is moved elsewhere while it runs.
  for (const int reg : products.accumulators) used.reset(static_cast<size_t>(reg));
  if (products.steps[0].carried)
    for (const size_t load : products.steps[0].loads) used &= ~written_by(body.ops[load]);
  used.set(kStackPointer);
  for (size_t i = 0; i < body.ops.size(); ++i) {
    if (is_plain_fma(body.ops[i])) continue;
    used |= is_fragment_load(products, i) ? general_of(body.ops[i].operands.reads())
                                          : touched_by(body.ops[i]);
  }
  Registers free;
  for (int reg = 0; reg < most; ++reg)
    if (!used[static_cast<size_t>(reg)]) free.set(static_cast<size_t>(reg));
  return free;
}

// Registers that hold nothing at the loop's top, and that nothing in it touches.
Registers find_spare(const Needed& needed, const Body& body, int most) {
  Registers used = needed.top | needed.behind;
  used.set(kStackPointer);
  for (const LoopOp& op : body.ops) used |= touched_by(op);
  Registers spare;
  for (int reg = 0; reg < most; ++reg)
    if (!used[static_cast<size_t>(reg)]) spare.set(static_cast<size_t>(reg));
  return spare;
}

// A register that the code behind the loop reads and that only instructions on new registers wrote,
// unless it is moved back on the way out: why the loop stays as it is.
std::string find_stranded(const Needed& needed, const Body& body, const Products& products,
                          const Placement& placement) {
  Registers wanted = needed.behind;
  for (const Rename& rename : placement.renames) wanted.reset(static_cast<size_t>(rename.from));
  for (size_t i = 0; i < body.ops.size(); ++i) {
    if (!is_plain_fma(body.ops[i]) && !is_fragment_load(products, i)) continue;
    const Registers stranded = wanted & written_by(body.ops[i]);
    for (size_t reg = 0; reg < stranded.size(); ++reg)
      if (stranded[reg]) return fmt::format("R{}, a fragment, is read behind the loop too", reg);
  }
  return "";
}

// The lowest free register that no move reads or writes; -1 if there is none.
int find_unmoved(Registers free, std::span<const Rename> renames) {
  for (const Rename& rename : renames) {
    free.reset(static_cast<size_t>(rename.from));
    free.reset(static_cast<size_t>(rename.to));
  }
  for (int reg = 0; reg < kZeroRegister; ++reg)
    if (free[static_cast<size_t>(reg)]) return reg;
  return -1;
}

Body reorder(const Body& body, std::span<const size_t> order) {
  Body out{.sm = body.sm, .begin = body.begin, .end = body.end, .jumps = body.jumps, .ops = {}};
  for (const size_t op : order) out.ops.push_back(body.ops[op]);
  return out;
}

std::vector<int> parities(const Products& products, std::span<const size_t> order) {
  std::vector<int> of_op(order.size(), -1);
  for (size_t s = 0; s < products.steps.size(); ++s)
    for (const size_t load : products.steps[s].loads) of_op[load] = static_cast<int>(s % 2);
  std::vector<int> out;
  for (const size_t op : order) out.push_back(of_op[op]);
  return out;
}

Rewritten put_together(const Kernel& kernel, const Body& body, std::span<const Word> enter,
                       std::span<const Word> leave) {
  Rewritten out;
  Code& code = out.code;
  const auto add = [&](Word word, size_t origin) {
    code.words.push_back(word);
    code.origins.push_back(origin);
  };
  for (size_t i = 0; i < body.begin; ++i) add(kernel.words[i], i);
  out.edit = {.old_begin = body.begin, .old_end = body.end, .new_begin = code.words.size()};
  for (const Word word : enter) add(word, body.begin);
  out.edit.new_loop_begin = code.words.size();
  for (const LoopOp& op : body.ops) add(op.instruction.word, op.origin);
  out.edit.new_loop_end = code.words.size();
  for (const Word word : leave) add(word, body.end - 1);
  out.edit.new_end = code.words.size();
  for (size_t i = body.end; i < kernel.words.size(); ++i) add(kernel.words[i], i);
  return out;
}

// Branches keep what they lead to: instructions outside by their place, the loop by its top.
std::string mend_branches(const Kernel& kernel, const Body& body, Rewritten& out) {
  const LoopEdit& edit = out.edit;
  const size_t grown = edit.new_end - edit.old_end;
  for (size_t i = 0; i < out.code.words.size(); ++i) {
    const bool in_loop = i + body.jumps >= edit.new_loop_end && i < edit.new_loop_end;
    if (i >= edit.new_begin && i < edit.new_end && !in_loop) continue;
    const size_t origin = out.code.origins[i];
    const Instruction old =
        decode(kernel.words[origin], static_cast<uint32_t>(origin * kWordBytes), body.sm);
    if (!old.target) continue;
    const auto index = static_cast<size_t>(*old.target) / kWordBytes;
    size_t target = index;
    if (in_loop) {
      target = i + 1 == edit.new_loop_end ? edit.new_loop_begin : edit.new_loop_end;
    } else if (index > edit.old_begin && index < edit.old_end) {
      return "a branch leads into the loop";
    } else if (index >= edit.old_end) {
      target = index + grown;
    }
    const auto word = with_target(out.code.words[i], static_cast<uint32_t>(i * kWordBytes),
                                  static_cast<int64_t>(target * kWordBytes), body.sm);
    if (!word) return "a branch cannot be led elsewhere";
    out.code.words[i] = *word;
  }
  return "";
}

int register_overhead(const Kernel& kernel, std::span<const Instruction> all) {
  int highest = 0;
  for (const Instruction& instruction : all)
    for (const RegisterUse& use : instruction.registers())
      if (use.first != kZeroRegister) highest = std::max(highest, use.first + use.count - 1);
  return std::max(0, kernel.registers - highest - 1);
}

}  // namespace

OrWhyNot<Rewritten> rewrite_loop(const Kernel& kernel, int sm, const RewriteOptions& options,
                                 const AfterPass& after) {
  const auto note = [&](const char* pass, const Body& body) {
    if (after) after(pass, body);
  };
  const std::vector<Body> bodies = find_bodies(kernel, sm);
  if (bodies.empty()) return WhyNot("no loop of one block whose instructions are all known");
  const std::vector<Instruction> all = decode_all(kernel.words, sm);
  const Needed needed = find_needed(all, bodies.front());
  const int overhead = register_overhead(kernel, all);
  const int most = options.max_registers - overhead;
  const Paired paired =
      pair_pointers(bodies.front(), needed.behind, find_spare(needed, bodies.front(), most));
  const Body& body = paired.body;
  note("pair_pointers", body);

  const OrWhyNot<Products> products = find_products(body);
  if (!products) return WhyNot(products.error());
  // From here on the loop is outer products and the rest, and we know which load feeds which.

  const Registers free = find_free(needed, body, *products, most);
  const OrWhyNot<Placement> placement = place_registers(body, *products, free);
  if (!placement) return WhyNot(placement.error());
  if (const std::string why_not = find_stranded(needed, body, *products, *placement);
      !why_not.empty())
    return WhyNot(why_not);
  const Body placed = apply_placement(body, *products, *placement);
  note("place_registers", placed);

  OrderRules rules = options.order;
  if (!paired.renames.empty()) rules.read = kReadDistance;
  const auto order = order_loop(body, *products, rules);
  if (!order) return WhyNot(order.error());
  const Body ordered = reorder(placed, *order);
  note("order_loop", ordered);

  const OrWhyNot<Body> controlled = set_control(ordered, parities(*products, *order));
  if (!controlled) return WhyNot(controlled.error());
  note("set_control", *controlled);
  // The loop is what it will be; what is left is the way in and out.

  const int waits = 0x3f & ~copy_scoreboards(body);
  std::vector<Rename> renames = placement->renames;
  renames.insert(renames.end(), paired.renames.begin(), paired.renames.end());
  const int spare = find_unmoved(free, renames);
  // What stands before the loop did not expect its results to be read at once.
  const auto enter = move_registers(renames, spare, waits, kFarApart);
  const auto leave = move_registers(inverse(renames), spare, waits, 0);
  if (!enter || !leave) return WhyNot(enter ? leave.error() : enter.error());
  Rewritten out = put_together(kernel, *controlled, *enter, *leave);
  out.edit.slots_apart = options.order.slots_apart;
  if (const std::string why_not = mend_branches(kernel, body, out); !why_not.empty())
    return WhyNot(why_not);
  int highest = std::max(placement->highest, spare);
  for (const Rename& rename : renames) highest = std::max(highest, rename.to);
  out.code.registers = std::max(kernel.registers, highest + 1 + overhead);
  return out;
}

}  // namespace tilec::sass
