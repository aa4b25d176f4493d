#include "compiler/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilec {
namespace {

using sass::Class;

constexpr int kBarWidth = 32;  // columns of a bar that stands for 100 %
constexpr int kTitleWidth = 20;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string counted(int64_t count, std::string_view one, std::string_view many) {
  return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", count, many);
}

// A bar for `share` of 1, in eighths of a column.
std::string bar(double share) {
  static constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += kEighths[eighths % 8];
  return out.empty() && share > 0 ? std::string(kEighths[1]) : out;
}

// At most `width` columns of `text`, cut at a character, with an ellipsis.
std::string fitted(std::string_view text, size_t width) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (++columns > width) return fmt::format("{}…", text.substr(0, i == 0 ? 0 : i - 1));
  }
  return std::string(text);
}

std::string headline(const Report& report) {
  if (!report.code)
    return fmt::format(
        "{} for {}: no assembler was found, so there is no code to count; {} of its "
        "instructions would ideally be multiply-adds.\n",
        report.kernel, report.target, percent(report.ideal_share));
  if (!report.steady)
    return fmt::format("{} for {}: {}, and no loop that multiplies.\n", report.kernel,
                       report.target,
                       counted(report.code->instructions, "instruction", "instructions"));
  const SteadyLoop& loop = *report.steady;
  const std::string share = fmt::format(
      "{} for {}: {} of the steady loop's instructions are "
      "multiply-adds",
      report.kernel, report.target, percent(loop.fma_share));
  // Fragment loads that were merged can make a loop better than the spec asked for.
  if (loop.fma_share > loop.ideal_share)
    return fmt::format("{}, more than the {} that its loads would allow as the spec has them.\n",
                       share, percent(loop.ideal_share));
  return fmt::format("{}; {} would be ideal.\n", share, percent(loop.ideal_share));
}

std::string slices(double per_trip) {
  if (per_trip >= 1)
    return fmt::format("{:g} {} a trip", per_trip, per_trip == 1 ? "slice" : "slices");
  return fmt::format("1/{:g} of a slice a trip", 1 / per_trip);
}

std::string loop_section(const SteadyLoop& loop) {
  std::string out = fmt::format("\nSteady loop: {}, bytes {:#x} to {:#x}, {}\n\n",
                                counted(loop.instructions, "instruction", "instructions"),
                                loop.begin, loop.end, slices(loop.slices_per_trip));
  std::vector<size_t> order(sass::kClasses);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t c) { return std::pair(-loop.by_class.of[c], c); });
  for (const size_t c : order) {
    const int count = loop.by_class.of[c];
    if (count == 0) continue;
    const double share = static_cast<double>(count) / loop.instructions;
    out += fmt::format("  {:<{}} {:>6} {:>8}  {}\n", sass::class_title(static_cast<Class>(c)),
                       kTitleWidth, count, percent(share), bar(share));
  }
  return out;
}

std::string gap_section(const SteadyLoop& loop) {
  std::vector<double> points;
  points.reserve(loop.gap.size());
  for (const GapRow& row : loop.gap) points.push_back(row.points);
  const double ideal = std::round(1000 * loop.ideal_share) / 10;
  const double actual = std::round(1000 * loop.fma_share) / 10;
  points = rounded_parts(points, ideal - actual);
  std::string out = "\nFrom ideal to actual, in points\n\n";
  out += fmt::format("  {:<{}} {:>15.1f}\n", "ideal share", kTitleWidth, ideal);
  for (size_t i = 0; i < loop.gap.size(); ++i) {
    const GapRow& row = loop.gap[i];
    if (points[i] == 0 && row.instructions == row.expected) continue;
    std::string note = counted(row.instructions, "instruction", "instructions");
    if (row.expected > 0) note += fmt::format(" where the spec asks for {}", row.expected);
    out += fmt::format("  {:<{}} {:>+15.1f}   {}\n", sass::class_title(row.kind), kTitleWidth,
                       points[i] == 0 ? 0.0 : -points[i], note);
  }
  out += fmt::format("  {:<{}} {:>15.1f}\n", "actual share", kTitleWidth, actual);
  return out;
}

std::string occupancy_section(const Report& report) {
  const Occupancy& occupancy = report.occupancy;
  const auto row = [](std::string_view title, std::string_view amount, int blocks) {
    return fmt::format("  {:<{}} {:>15}   allow {}\n", title, kTitleWidth, amount,
                       counted(blocks, "block", "blocks"));
  };
  std::string out = fmt::format("\nOccupancy: {} an SM, {} of {} warps, limited by {}{}\n\n",
                                counted(occupancy.blocks_per_sm, "block", "blocks"),
                                occupancy.warps_per_sm, occupancy.warps_possible, occupancy.limit,
                                report.code ? "" : " (registers estimated)");
  out += row("registers", report.code ? fmt::format("{} a thread", report.registers) : "estimated",
             occupancy.by_registers);
  out += row("shared memory", fmt::format("{} bytes", report.shared_bytes), occupancy.by_shared);
  out += row("threads", fmt::format("{} a block", report.threads), occupancy.by_threads);
  out += row("blocks", "", occupancy.by_blocks);
  return out;
}

std::string assembler_line(const Report& report) {
  const std::string tool =
      fmt::format("{}{}{}", report.assembler.tool.empty() ? "the assembler" : report.assembler.tool,
                  report.assembler.version.empty() ? "" : " ", report.assembler.version);
  const std::string spills = report.spills() == 0
                                 ? "no spills"
                                 : fmt::format("{} bytes of spill stores, {} of spill loads",
                                               report.spill_store_bytes, report.spill_load_bytes);
  return fmt::format(
      "\nAssembler: {}: {} registers, {}, {}\n", tool, report.registers, spills,
      report.stack_bytes == 0 ? "no stack" : fmt::format("{} bytes of stack", report.stack_bytes));
}

std::string check_line(const KernelCounts& code) {
  if (code.mismatches == 0) return "Decoding agrees with nvdisasm on every instruction\n";
  return fmt::format("Decoding disagrees with nvdisasm on {}, counted as unknown\n",
                     counted(code.mismatches, "instruction", "instructions"));
}

std::string predictions(const Report& report) {
  std::string out = "\nPredicted\n\n";
  const auto row = [&](std::string_view title, const std::string& what) {
    out += fmt::format("  {:<{}} {}\n", title, kTitleWidth, what);
  };
  if (report.steady) {
    const sass::BankUse& use = report.steady->register_file;
    row("register file", fmt::format("{:.2f} cycles an FMA; {} operands read, {} reused",
                                     use.cycles_per_fma(), use.operands_read, use.operands_reused));
  }
  row("shared memory",
      report.shared_conflicts == 0
          ? "no bank conflicts"
          : fmt::format("{} a block and slice",
                        counted(report.shared_conflicts, "extra wavefront", "extra wavefronts")));
  if (report.executed) {
    const Executed& executed = *report.executed;
    row(fmt::format("{}x{}x{}", executed.shape.m, executed.shape.n, executed.shape.k),
        fmt::format("{}; {:g} trips, {:.0f} instructions a thread, {} multiply-adds",
                    counted(executed.blocks, "block", "blocks"), executed.trips,
                    executed.instructions, percent(executed.fma_share)));
  }
  return out;
}

std::string ops_section(const SteadyLoop& loop, const TextStyle& style) {
  if (loop.ops.empty()) return "";
  const size_t shown = std::min(loop.ops.size(), style.most_ops);
  const size_t room = static_cast<size_t>(std::max(20, style.width - 30));
  std::string out = "\nBy op of the tile IR, in the steady loop\n\n  instructions     FMA\n";
  int rest = 0;
  for (size_t i = 0; i < loop.ops.size(); ++i) {
    const OpCount& op = loop.ops[i];
    if (i >= shown) {
      rest += op.instructions;
      continue;
    }
    const std::string text = op.text.empty() ? "(no line)" : fitted(op.text, room);
    out += fmt::format("  {:>12} {:>7}  {}{}\n", op.instructions, op.fma, text,
                       op.lines > 1 ? fmt::format("  ({} lines)", op.lines) : "");
  }
  if (rest > 0) out += fmt::format("  {:>12}          in {} more\n", rest, loop.ops.size() - shown);
  return out;
}

std::string unknown_line(const KernelCounts& code) {
  if (code.unknown.empty()) return "";
  return fmt::format("\nUnknown: {} counted as unknown: {}\n",
                     counted(code.by_class[Class::unknown], "instruction", "instructions"),
                     fmt::join(code.unknown, ", "));
}

// The clause that moves a class of instructions, from what such instructions are for.
struct AdviceRow {
  Class kind;
  const char* text;
};
constexpr AdviceRow kAdvice[] = {
    {Class::fragment_load,
     "a larger `thread` tile, or a wider `vector shared`, loads less for each"},
    {Class::slice_copy, "a larger `tile`, a wider `vector global` or `copy async` copies in fewer"},
    {Class::address, "a deeper slice (`tile MxNxK`) spreads them over more multiply-adds"},
    {Class::barrier, "a deeper slice (`tile MxNxK`) waits less often"},
    {Class::move, "another order of `stages`, or a smaller `thread` tile, may leave fewer"},
    {Class::control, "a deeper slice (`tile MxNxK`) branches less often"},
};
constexpr double kWorthSaying = 1.5;           // points of the gap
constexpr double kConflictsWorthSaying = 0.1;  // cycles an FMA

}  // namespace

std::vector<double> rounded_parts(const std::vector<double>& values, double sum) {
  const auto target = static_cast<int64_t>(std::lround(sum * 10));
  std::vector<int64_t> tenths;
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t total = 0;
  for (const double value : values) {
    tenths.push_back(static_cast<int64_t>(std::floor(value * 10)));
    total += tenths.back();
  }
  std::ranges::sort(order, {}, [&](size_t i) {
    return std::pair(std::floor(values[i] * 10) - values[i] * 10, i);
  });
  // Sum and parts were rounded apart, so the first may need one more than there are remainders.
  for (size_t i = 0; total < target && !order.empty(); i = (i + 1) % order.size(), ++total)
    ++tenths[order[i]];
  for (size_t i = order.size(); total > target && !order.empty(); --total) {
    i = i == 0 ? order.size() - 1 : i - 1;
    --tenths[order[i]];
  }
  std::vector<double> out;
  out.reserve(tenths.size());
  for (const int64_t tenth : tenths) out.push_back(static_cast<double>(tenth) / 10);
  return out;
}

std::vector<std::string> advice(const Report& report) {
  std::vector<std::string> out;
  if (report.spills() > 0)
    out.push_back(
        fmt::format("{} bytes are spilled: a smaller `thread` tile, or fewer `blocks_per_sm`, "
                    "leaves more registers",
                    report.spills()));
  if (report.steady) {
    for (const GapRow& row : report.steady->gap) {
      if (row.points < kWorthSaying) continue;
      for (const AdviceRow& known : kAdvice)
        if (known.kind == row.kind)
          out.push_back(fmt::format("{} take {:.1f} points: {}", sass::class_title(row.kind),
                                    row.points, known.text));
    }
    const double conflicts = report.steady->register_file.conflicts_per_fma();
    if (conflicts >= kConflictsWorthSaying)
      out.push_back(
          fmt::format("register banks are predicted to cost {:.2f} cycles an FMA: the "
                      "assembler's choice of registers and order",
                      conflicts));
  }
  if (report.shared_conflicts > 0)
    out.push_back(fmt::format(
        "shared memory is predicted to need {} a block and slice: another `shared` layout may need "
        "none",
        counted(report.shared_conflicts, "extra wavefront", "extra wavefronts")));
  if (report.code && report.occupancy.next_registers > 0)
    out.push_back(
        fmt::format("with {} registers or fewer one more block would fit an SM: "
                    "`blocks_per_sm {}`",
                    report.occupancy.next_registers, report.occupancy.blocks_per_sm + 1));
  if (report.code && !report.steady)
    out.push_back("no loop holds multiply-adds, so no share of a steady loop can be given");
  return out;
}

std::string to_text(const Report& report, const TextStyle& style) {
  std::string out = headline(report);
  out += fmt::format("  {}\n", report.spec);
  if (report.steady) {
    out += loop_section(*report.steady);
    out += gap_section(*report.steady);
  }
  out += occupancy_section(report);
  if (report.code) {
    out += assembler_line(report);
    out += fmt::format("Kernel: {}, {} multiply-adds\n",
                       counted(report.code->instructions, "instruction", "instructions"),
                       report.code->fma);
    if (report.code->checked) out += check_line(*report.code);
    if (report.back_end) out += back_end_text(*report.back_end, report.target);
  }
  out += predictions(report);
  if (report.prediction) out += prediction_text(*report.prediction);
  if (report.steady) out += ops_section(*report.steady, style);
  if (report.code) out += unknown_line(*report.code);
  const std::vector<std::string> lines = advice(report);
  if (!lines.empty()) out += "\nWhat would move it\n\n";
  for (const std::string& line : lines) out += fmt::format("  - {}\n", line);
  return out;
}

}  // namespace tilec
