#include "compiler/sass/liveness.h"

#include "compiler/sass/operands.h"

namespace tilec::sass {
namespace {

Registers registers_of(std::span<const Operand> operands) {
  Registers out;
  for (const Operand& operand : operands)
    if (operand.file == File::general)
      for (int i = 0; i < operand.count; ++i)
        out.set(size_t{operand.first} + static_cast<size_t>(i));
  return out;
}

// What a block reads before it writes it, and what it surely writes.
struct Summary {
  Registers reads, writes;
};

Summary summarise(std::span<const Instruction> instructions, const BasicBlock& block) {
  Summary summary;
  for (size_t i = block.begin; i < block.end; ++i) {
    const Operands operands = operands_of(instructions[i]);
    if (!operands.known) summary.reads |= ~summary.writes;
    summary.reads |= registers_of(operands.reads()) & ~summary.writes;
    if (operands.known && instructions[i].guard.always())
      summary.writes |= registers_of(operands.writes());
  }
  return summary;
}

}  // namespace

std::vector<Registers> live_at_tops(std::span<const Instruction> instructions, const Flow& flow) {
  std::vector<Summary> summaries;
  summaries.reserve(flow.blocks.size());
  for (const BasicBlock& block : flow.blocks) summaries.push_back(summarise(instructions, block));
  std::vector<Registers> live(flow.blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = flow.blocks.size(); b-- > 0;) {
      Registers below;
      for (const size_t successor : flow.blocks[b].successors) below |= live[successor];
      const Registers now = summaries[b].reads | (below & ~summaries[b].writes);
      changed |= now != live[b];
      live[b] = now;
    }
  }
  return live;
}

}  // namespace tilec::sass
