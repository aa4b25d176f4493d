#include "compiler/report/count.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilec {
namespace {

using sass::Class;
using sass::Instruction;

// Low 9 bits of LD and LDG.
constexpr uint16_t kLoadGeneric = 0x180, kLoadGlobal = 0x181;

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first);
}

std::vector<LineCount> count_lines(std::span<const Instruction> instructions,
                                   std::span<const size_t> body, const WorkOfThread& work,
                                   std::span<const sass::LineRow> lines, std::string_view tile) {
  if (lines.empty()) return {};
  const std::vector<std::string> texts = split_lines(tile);
  std::map<int, LineCount> counts;
  for (const size_t i : body) {
    const int line = sass::line_at(lines, instructions[i].offset);
    LineCount& count = counts[line];
    count.line = line;
    ++count.instructions;
    const Class kind = class_of(instructions[i], work);
    ++count.by_class[kind];
    if (kind == Class::fma) ++count.fma;
  }
  std::vector<LineCount> out;
  for (auto& [line, count] : counts) {
    if (line > 0 && static_cast<size_t>(line) <= texts.size())
      count.text = trimmed(texts[static_cast<size_t>(line) - 1]);
    out.push_back(std::move(count));
  }
  return out;
}

// "fragment fa = sa[i] at 3" without the k that it is at.
std::string_view op_of(std::string_view line) {
  return line.substr(0, line.find(" at "));
}

std::vector<OpCount> group_lines(std::span<const LineCount> lines) {
  std::map<std::string_view, OpCount> counts;
  for (const LineCount& line : lines) {
    OpCount& count = counts[op_of(line.text)];
    ++count.lines;
    count.instructions += line.instructions;
    count.fma += line.fma;
    for (size_t c = 0; c < sass::kClasses; ++c) count.by_class.of[c] += line.by_class.of[c];
  }
  std::vector<OpCount> out;
  for (auto& [text, count] : counts) {
    count.text = text;
    out.push_back(std::move(count));
  }
  std::ranges::sort(out, {}, [](const OpCount& op) {
    return std::pair(-op.instructions, std::string_view(op.text));
  });
  return out;
}

}  // namespace

Class class_of(const Instruction& instruction, const WorkOfThread& work) {
  const Class kind = sass::classify(instruction);
  if (work.copies_slices || instruction.opcode == nullptr) return kind;
  const uint16_t code = instruction.opcode->code;
  return code == kLoadGeneric || code == kLoadGlobal ? Class::fragment_load : kind;
}

KernelCounts count_kernel(std::span<const Instruction> instructions, const WorkOfThread& work) {
  KernelCounts counts;
  for (const Instruction& instruction : instructions) {
    const Class kind = class_of(instruction, work);
    if (kind == Class::nop) continue;
    ++counts.instructions;
    ++counts.by_class[kind];
    if (kind == Class::fma) ++counts.fma;
    if (kind == Class::unknown) {
      std::string name = sass::name_of(instruction);
      if (std::ranges::find(counts.unknown, name) == counts.unknown.end())
        counts.unknown.push_back(std::move(name));
    }
  }
  return counts;
}

std::vector<GapRow> itemise_gap(const sass::ClassCounts& by_class, double ideal, double expected) {
  std::vector<GapRow> rows;
  const double total = by_class.total();
  for (size_t c = 0; c < sass::kClasses; ++c) {
    const auto kind = static_cast<Class>(c);
    if (kind == Class::fma || kind == Class::nop) continue;
    const bool asked_for = kind == Class::fragment_load;
    if (by_class[kind] == 0 && !asked_for) continue;
    const double extra = by_class[kind] - (asked_for ? expected : 0.0);
    rows.push_back({.kind = kind,
                    .instructions = by_class[kind],
                    .expected = asked_for ? static_cast<int>(std::lround(expected)) : 0,
                    .points = total == 0 ? 0.0 : 100 * ideal * extra / total});
  }
  std::ranges::sort(rows, {}, [](const GapRow& row) { return std::pair(-row.points, row.kind); });
  return rows;
}

std::optional<SteadyLoop> count_steady_loop(std::span<const Instruction> instructions,
                                            const sass::Flow& flow, const WorkOfThread& work,
                                            std::span<const sass::LineRow> lines,
                                            std::string_view tile) {
  const std::optional<size_t> which = sass::steady_loop(flow, instructions);
  if (!which) return std::nullopt;
  const std::vector<size_t> body = sass::instructions_of(flow, flow.loops[*which], instructions);
  SteadyLoop loop;
  loop.begin = instructions[body.front()].offset;
  loop.end = instructions[body.back()].offset + sass::kWordBytes;
  std::vector<const Instruction*> run;
  for (const size_t i : body) {
    run.push_back(&instructions[i]);
    ++loop.by_class[class_of(instructions[i], work)];
    loop.multiply_adds += sass::multiply_adds(instructions[i]);
  }
  loop.instructions = static_cast<int>(body.size());
  loop.fma = loop.by_class[Class::fma];
  loop.fragment_loads = loop.by_class[Class::fragment_load];
  loop.fma_share = static_cast<double>(loop.fma) / loop.instructions;
  loop.fma_per_instruction = static_cast<double>(loop.multiply_adds) / loop.instructions;
  loop.slices_per_trip =
      static_cast<double>(loop.multiply_adds) / (double(work.fma_per_k) * work.tile_k);
  // The spec's share is per multiply-add; packed FMAs do two for one load of theirs.
  loop.fragment_loads_expected = loop.multiply_adds * (1 / work.ideal_share - 1);
  loop.ideal_share = loop.fma / (loop.fma + loop.fragment_loads_expected);
  loop.gap_points = 100 * (loop.ideal_share - loop.fma_share);
  loop.gap = itemise_gap(loop.by_class, loop.ideal_share, loop.fragment_loads_expected);
  loop.lines = count_lines(instructions, body, work, lines, tile);
  loop.ops = group_lines(loop.lines);
  loop.register_file = sass::bank_use(run);
  return loop;
}

}  // namespace tilec
