#include "compiler/sass/loop/body.h"

#include <algorithm>

#include "compiler/sass/flow.h"

namespace tilec::sass {
namespace {

constexpr uint16_t kFfma = 0x223;  // low 12 bits, all operands registers
// Bits of an FFMA apart from guard, registers and control fields: modifiers.
Word modifiers_of(Word word) {
  word = with_bits(word, 12, 4, 0);
  word = with_bits(word, 16, 24, 0);
  word = with_bits(word, 64, 8, 0);
  return with_bits(word, 105, 21, 0);
}

bool leads_out(const LoopOp& op, size_t end) {
  return op.instruction.target == static_cast<int64_t>(end * kWordBytes);
}

int count_fmas(const Body& body) {
  return static_cast<int>(std::ranges::count_if(body.ops, is_plain_fma));
}

}  // namespace

std::vector<Body> find_bodies(const Kernel& kernel, int sm) {
  const std::vector<Instruction> all = decode_all(kernel.words, sm);
  const Flow flow = find_flow(all);
  std::vector<Body> bodies;
  if (!flow.complete) return bodies;
  // Only the steady loop, or one within it: another is not where the time goes.
  const std::optional<size_t> steady = steady_loop(flow, all);
  for (const Loop& loop : flow.loops) {
    if (!steady || !flow.loops[*steady].contains(loop.header)) continue;
    if (loop.blocks.size() != 1) continue;
    const BasicBlock& block = flow.blocks[loop.header];
    // From above by falling in, and from its own end.
    if (block.predecessors.size() != 2 || block.begin == 0) continue;
    Body body{.sm = sm, .begin = block.begin, .end = block.end};
    bool known = true;
    for (size_t i = block.begin; i < block.end; ++i) {
      body.ops.push_back({all[i], operands_of(all[i]), i});
      known &= body.ops.back().operands.known &&
               body.ops.back().operands.effect != Effect::cluster_barrier;
    }
    if (body.ops.size() > 1 && leads_out(body.ops[body.ops.size() - 2], block.end)) body.jumps = 2;
    if (known && count_fmas(body) > 0) bodies.push_back(std::move(body));
  }
  std::ranges::sort(bodies, std::greater{}, count_fmas);
  return bodies;
}

LoopOp with_word(const LoopOp& op, Word word, int sm) {
  const Instruction decoded = decode(word, op.instruction.offset, sm);
  return {decoded, operands_of(decoded), op.origin};
}

LoopOp with_operand(const LoopOp& op, Slot slot, int reg, int sm) {
  return with_word(op, with_register(op.instruction, slot, reg), sm);
}

int result_of(const LoopOp& op) {
  for (const RegisterUse& use : op.instruction.registers())
    if (use.written) return use.first;
  return kZeroRegister;
}

bool is_plain_fma(const LoopOp& op) {
  const Instruction& fma = op.instruction;
  if (bits(fma.word, 0, 12) != kFfma || !fma.guard.always()) return false;
  return modifiers_of(fma.word) == modifiers_of(Word{.lo = kFfma, .hi = 0}) &&
         result_of(op) != kZeroRegister && fma.read(Slot::a) != kZeroRegister &&
         fma.read(Slot::b) != kZeroRegister && fma.read(Slot::c) != kZeroRegister;
}

bool is_shared_load(const LoopOp& op) {
  return op.operands.effect == Effect::shared_read && op.instruction.guard.always() &&
         result_of(op) != kZeroRegister;
}

}  // namespace tilec::sass
