#include "compiler/sass/listing.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/sass/flow.h"

namespace tilec::sass {
namespace {

std::string barrier_name(int barrier) {
  return barrier == kNoBarrier ? "-" : fmt::format("{}", barrier);
}

std::string control_text(const Control& control) {
  std::string waits;
  for (int barrier = 0; barrier < 6; ++barrier)
    waits += (control.wait_mask >> barrier & 1) != 0 ? static_cast<char>('0' + barrier) : '-';
  return fmt::format("B{} R{} W{} {} S{:02}", waits, barrier_name(control.read_barrier),
                     barrier_name(control.write_barrier), control.yield ? 'Y' : '-', control.stall);
}

std::string operand_text(const Instruction& instruction, const RegisterUse& use) {
  std::string out = use.first == kZeroRegister ? std::string("RZ") : fmt::format("R{}", use.first);
  if (use.slot != Slot::d && (instruction.control.reuse >> static_cast<int>(use.slot) & 1) != 0)
    out += ".reuse";
  return out;
}

// The one modifier that we know: how wide the data of loads and stores is.
std::string_view width_text(const Instruction& instruction) {
  if (instruction.opcode == nullptr || instruction.opcode->slots.starts_with('d')) return "";
  if (instruction.opcode->width != Width::local && instruction.opcode->width != Width::global)
    return "";
  for (const RegisterUse& use : instruction.registers())
    if (use.slot != Slot::a && use.count > 1) return use.count == 4 ? ".128" : ".64";
  return "";
}

// For each instruction: the mark of the loop that it stands in.
std::vector<std::string_view> loop_marks(std::span<const Instruction> instructions) {
  std::vector<std::string_view> marks(instructions.size(), " ");
  const Flow flow = find_flow(instructions);
  const std::optional<size_t> steady = steady_loop(flow, instructions);
  for (size_t l = 0; l < flow.loops.size(); ++l)
    for (const size_t i : instructions_of(flow, flow.loops[l], instructions))
      if (l == steady || marks[i] == " ") marks[i] = l == steady ? "┃" : "│";
  return marks;
}

}  // namespace

std::string own_text(const Instruction& instruction) {
  std::string out;
  if (!instruction.guard.always())
    out = fmt::format("@{}P{} ", instruction.guard.negated ? "!" : "",
                      instruction.guard.predicate == kTruePredicate
                          ? std::string("T")
                          : fmt::format("{}", instruction.guard.predicate));
  out += name_of(instruction);
  out += width_text(instruction);
  std::string_view separator = " ";
  for (const RegisterUse& use : instruction.registers()) {
    out += fmt::format("{}{}", separator, operand_text(instruction, use));
    separator = ", ";
  }
  if (instruction.target) out += fmt::format("{}{:#x}", separator, *instruction.target);
  return out;
}

std::string list_kernel(const Kernel& kernel, int sm, const TextKernel* text) {
  const std::vector<Instruction> instructions = decode_all(kernel.words, sm);
  const std::vector<std::string_view> marks = loop_marks(instructions);
  std::string out = fmt::format("// {} for sm_{}: {} instructions, {} registers\n", kernel.name, sm,
                                instructions.size(), kernel.registers);
  if (text == nullptr)
    out += "// nvdisasm was not found: modifiers, immediates and constants are missing\n";
  size_t next = 0;  // of the text's lines, which are in order
  size_t label = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    std::string words = own_text(instruction);
    if (text != nullptr) {
      while (label < text->labels.size() && text->labels[label].offset <= instruction.offset) {
        if (text->labels[label].name.starts_with(".L"))
          out += fmt::format("{}:\n", text->labels[label].name);
        ++label;
      }
      while (next < text->lines.size() && text->lines[next].offset < instruction.offset) ++next;
      if (next < text->lines.size() && text->lines[next].offset == instruction.offset)
        words = text->lines[next].text;
    }
    const int line = line_at(kernel.lines, instruction.offset);
    out += fmt::format("{} {:04x}  {}  {:>4}  {}\n", marks[i], instruction.offset,
                       control_text(instruction.control),
                       line == 0 ? std::string() : fmt::format("{}", line), words);
  }
  return out;
}

std::string list_instructions(std::span<const Instruction> instructions) {
  std::string out;
  for (const Instruction& instruction : instructions)
    out += fmt::format("{:04x}  {}  {}\n", instruction.offset, control_text(instruction.control),
                       own_text(instruction));
  return out;
}

dsl::Result<std::string> list_cubin(std::span<const uint8_t> cubin) {
  const dsl::Result<Cubin> read = read_cubin(cubin);
  if (!read) return tl::unexpected(read.error());
  std::optional<Disassembly> text;
  std::string out;
  if (const std::optional<std::string> tool = find_nvdisasm()) {
    dsl::Result<Disassembly> result = disassemble(cubin, *tool);
    if (result) {
      text = std::move(*result);
    } else {
      out += fmt::format("// {}\n", result.error().diagnostics.front().message);
    }
  }
  for (const Kernel& kernel : read->kernels)
    out += list_kernel(kernel, read->sm, text ? text->find(kernel.name) : nullptr);
  return out;
}

}  // namespace tilec::sass
