#include "compiler/report/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "compiler/report/count.h"
#include "compiler/report/steps.h"
#include "compiler/sass/banks.h"
#include "compiler/sass/cubin.h"
#include "compiler/sass/elf.h"
#include "compiler/sass/flow.h"
#include "compiler/sass/listing.h"

namespace tilec {
namespace {

using sass::Instruction;

constexpr double kFreeCost = 1.0;    // of an instruction that waits for nothing
constexpr double kMostOfLoss = 0.5;  // what `costly` lines add up to, of all that is lost

// PTX lines, which the assembler keeps in a section of its own beside those of the tile IR.
std::vector<sass::LineRow> ptx_rows(std::span<const uint8_t> cubin) {
  const dsl::Result<sass::Elf> elf = sass::read_elf(cubin);
  if (!elf) return {};
  const sass::Section* section = elf->find(".nv_debug_line_sass");
  if (section == nullptr) return {};
  std::vector<sass::LineSequence> sequences = sass::read_line_table(section->bytes);
  return sequences.size() == 1 ? std::move(sequences[0].rows) : std::vector<sass::LineRow>();
}

void mark_loops(SassView& view, std::span<const Instruction> instructions) {
  const sass::Flow flow = sass::find_flow(instructions);
  const std::optional<size_t> steady = sass::steady_loop(flow, instructions);
  for (size_t l = 0; l < flow.loops.size(); ++l)
    for (const size_t i : sass::instructions_of(flow, flow.loops[l], instructions))
      if (view.lines[i].loop != InLoop::steady)
        view.lines[i].loop = l == steady ? InLoop::steady : InLoop::other;
}

void add_banks(SassView& view, std::span<const Instruction> instructions) {
  sass::ReuseCache cache;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const sass::ReuseCache before = cache;
    sass::BankUse ignored;
    static_cast<void>(sass::bank_cycles(instructions[i], cache, ignored));
    for (const sass::RegisterUse& use : instructions[i].registers()) {
      if (use.written || use.slot == sass::Slot::d || use.first == sass::kZeroRegister) continue;
      if (before.held[static_cast<size_t>(use.slot)] == use.first) continue;
      for (int r = 0; r < std::max(1, use.count); ++r)
        ++((use.first + r) % 2 == 0 ? view.lines[i].even_reads : view.lines[i].odd_reads);
    }
  }
}

void add_costs(SassView& view, const Prediction& prediction) {
  view.critical = prediction.critical;
  std::vector<std::pair<double, size_t>> lost;
  double all = 0;
  for (const StepCost& step : prediction.costs) {
    ViewLine& line = view.lines[step.index];
    line.cost = step.cycles;
    const double needed = line.kind == sass::Class::fma ? kFreeCost : 0;
    lost.emplace_back(step.cycles - needed, step.index);
    all += std::max(0.0, step.cycles - needed);
  }
  std::ranges::sort(lost, std::greater<>());
  double sum = 0;
  for (const auto& [cycles, index] : lost) {
    if (sum >= kMostOfLoss * all || cycles <= 0) break;
    view.lines[index].costly = true;
    sum += cycles;
  }
}

std::string control_text(const sass::Control& control) {
  std::string waits;
  for (int board = 0; board < 6; ++board)
    waits += (control.wait_mask >> board & 1) != 0 ? static_cast<char>('0' + board) : '-';
  std::string reuse;
  for (int slot = 0; slot < 3; ++slot)
    reuse += (control.reuse >> slot & 1) != 0 ? "abc"[slot] : '-';
  const auto board = [](int b) { return b == sass::kNoBarrier ? '-' : static_cast<char>('0' + b); };
  return fmt::format("{:02} {} B{} {} {} {}", control.stall, control.yield ? 'y' : '-', waits,
                     board(control.read_barrier), board(control.write_barrier), reuse);
}

std::string_view colour_of(const ViewLine& line) {
  if (line.costly) return "\x1b[1;31m";
  switch (line.kind) {
    case sass::Class::fma:
      return "";
    case sass::Class::fragment_load:
      return "\x1b[36m";
    case sass::Class::slice_copy:
      return "\x1b[34m";
    case sass::Class::barrier:
      return "\x1b[35m";
    default:
      return "\x1b[2m";
  }
}

std::string mark_of(InLoop loop) {
  return loop == InLoop::steady ? "┃" : loop == InLoop::other ? "│" : " ";
}

}  // namespace

dsl::Result<SassView> build_view(const Artifact& artifact, const Report& report,
                                 const sass::Disassembly* text) {
  const dsl::Result<sass::Cubin> cubin = sass::read_cubin(artifact.cubin);
  if (!cubin) return tl::unexpected(cubin.error());
  const sass::Kernel* kernel = cubin->find(artifact.spec.name);
  if (kernel == nullptr)
    return tl::unexpected(
        dsl::Error::internal(fmt::format("the cubin has no kernel {}", artifact.spec.name)));
  SassView view{.kernel = kernel->name, .sm = cubin->sm, .registers = kernel->registers};
  const std::vector<Instruction> instructions = sass::decode_all(kernel->words, cubin->sm);
  const std::vector<sass::LineRow> ptx = ptx_rows(artifact.cubin);
  const WorkOfThread work{.copies_slices = artifact.spec.copy != dsl::CopyMode::none};
  for (const Instruction& instruction : instructions)
    view.lines.push_back({.offset = instruction.offset,
                          .text = sass::own_text(instruction),
                          .kind = class_of(instruction, work),
                          .control = instruction.control,
                          .tile_line = sass::line_at(kernel->lines, instruction.offset),
                          .ptx_line = sass::line_at(ptx, instruction.offset)});
  if (const sass::TextKernel* lines = text == nullptr ? nullptr : text->find(kernel->name)) {
    view.has_text = true;
    for (const sass::TextLine& line : lines->lines)
      if (line.offset / sass::kWordBytes < view.lines.size())
        view.lines[line.offset / sass::kWordBytes].text = line.text;
  }
  mark_loops(view, instructions);
  add_banks(view, instructions);
  if (report.prediction) add_costs(view, *report.prediction);
  return view;
}

std::string view_text(const SassView& view, const Artifact& artifact, bool colour) {
  std::string out = fmt::format("// {} for sm_{}: {} instructions, {} registers\n", view.kernel,
                                view.sm, view.lines.size(), view.registers);
  if (!view.has_text)
    out += "// nvdisasm was not used: modifiers, immediates and constants are missing\n";
  if (!view.critical.empty())
    out += fmt::format("// the steady loop (┃) waits for: {}; ! marks what costs most\n",
                       view.critical);
  out +=
      "// offset  st y waits   rd wr reuse banks  cost   tile   ptx  instruction, op of the tile "
      "IR\n";
  const std::vector<std::string_view> tile = lines_of(artifact.tile);
  for (const ViewLine& line : view.lines) {
    std::string_view op;
    if (line.tile_line > 0 && static_cast<size_t>(line.tile_line) <= tile.size())
      op = tile[static_cast<size_t>(line.tile_line) - 1];
    op.remove_prefix(std::min(op.find_first_not_of(' '), op.size()));
    const std::string cost =
        line.cost ? fmt::format("{:5.2f}{}", *line.cost, line.costly ? '!' : ' ') : "      ";
    const auto number = [](int n) { return n == 0 ? std::string() : fmt::format("{}", n); };
    const std::string_view tint = colour ? colour_of(line) : "";
    out += fmt::format("{} {}{:05x}  {}  e{} o{} {} {:>5} {:>5}  {:<52} // {}{}\n",
                       mark_of(line.loop), tint, line.offset, control_text(line.control),
                       line.even_reads, line.odd_reads, cost, number(line.tile_line),
                       number(line.ptx_line), line.text, op, tint.empty() ? "" : "\x1b[0m");
  }
  return out;
}

}  // namespace tilec
