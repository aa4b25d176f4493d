#include "dsl/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/banks.h"
#include "dsl/draw.h"
#include "dsl/format.h"

namespace tilec::dsl {
namespace {

// Devices to count waves on where none is at hand.
struct Device {
  std::string_view target;
  std::string_view name;
  int sms;
};
constexpr Device kDevices[] = {
    {"sm_80", "A100", 108},   {"sm_86", "GeForce RTX 3090", 82},
    {"sm_89", "L4", 58},      {"sm_90a", "H200", 132},
    {"sm_100a", "B200", 148}, {"sm_120a", "GeForce RTX 5090", 170},
};

std::string text(const Extent& extent) {
  return fmt::format("{}x{}", extent.m, extent.n);
}

std::string plural(int64_t count, std::string_view noun) {
  std::string_view ending = count == 1 ? "" : noun.ends_with("s") ? "es" : "s";
  return fmt::format("{} {}{}", count, noun, ending);
}

std::string row(std::string_view label, const std::string& value) {
  return fmt::format("  {:<16}{}\n", label, value);
}

std::string more(const std::string& value) {
  return row("", value);
}

std::string threads(const Spec& spec, const Derived& derived) {
  std::string grid = spec.warp ? fmt::format("{} of {}", text(derived.warp_grid), text(*spec.warp))
                               : fmt::format("one grid of {} over the tile", text(spec.lane_grid));
  std::string out = row("threads", fmt::format("{} a block, {}: {}", derived.threads,
                                               plural(derived.warps, "warp"), grid));
  std::string_view walks = spec.lanes == LaneOrder::columns ? "n"
                           : spec.lanes == LaneOrder::rows  ? "m"
                                                            : "n and m by turns";
  out += row("lanes", fmt::format("{} {}; neighbours walk along {}", text(spec.lane_grid),
                                  spec.warp ? "a warp" : "threads a block", walks));
  auto axis = [](const FragmentAxis& a, char name) {
    if (a.piece == a.count) return fmt::format("{} {} in one piece", a.count, name);
    return fmt::format("{} {} in {} pieces of {}, {} apart", a.count, name, a.count / a.piece,
                       a.piece, a.stride);
  };
  return out + row("thread's tile", axis(derived.m, 'm') + "; " + axis(derived.n, 'n'));
}

std::string registers(const Spec& spec, const Derived& derived, const Limits& limits) {
  int allowed = registers_allowed(spec, derived.threads, limits);
  std::string out =
      row("registers", fmt::format("{} expected a thread ({}, {} for fragments, the rest "
                                   "for copies and addresses); at most {}",
                                   derived.registers_expected,
                                   plural(int64_t{spec.thread.m} * spec.thread.n, "accumulator"),
                                   spec.thread.m + spec.thread.n, allowed));
  if (derived.registers_expected > allowed) {
    out += more("more than a thread can have: the assembler will probably spill");
  }
  return out;
}

std::string shared(const Spec& spec, const Derived& derived, const Limits& limits) {
  if (derived.shared_bytes == 0) return row("shared memory", "none");
  const std::string slices = fmt::format("{} x ({} of A + {} of B)", plural(spec.stages, "stage"),
                                         derived.shared_bytes_a, derived.shared_bytes_b);
  if (spec.cluster == 1)
    return row("shared memory", fmt::format("{} bytes = {}; at most {}", derived.shared_bytes,
                                            slices, limits.shared_bytes_per_block));
  return row(
      "shared memory",
      fmt::format("{} bytes = the larger of {} and {} of a part; at most {}", derived.shared_bytes,
                  slices, derived.shared_bytes_parts, limits.shared_bytes_per_block));
}

std::string blocks(const Spec& spec, const Derived& derived, const Limits& limits) {
  Residency fit = residency(derived, spec, limits);
  std::vector<std::string_view> by;
  int least = fit.blocks();
  if (fit.by_threads == least) by.push_back("threads");
  if (fit.by_registers == least) by.push_back("the registers expected");
  if (fit.by_shared == least) by.push_back("shared memory");
  if (fit.by_limit == least) by.push_back("the limit of blocks");
  double occupancy = 100.0 * least * derived.warps * 32 / limits.threads_per_sm;
  std::string out =
      row("blocks per SM", fmt::format("{}, limited by {}; {:.0f} % of the SM's threads", least,
                                       fmt::join(by, " and "), occupancy));
  return out + more(fmt::format("threads allow {}, registers {}, shared memory {}, the SM {}",
                                fit.by_threads, fit.by_registers, fit.by_shared, fit.by_limit));
}

std::string waves(const Spec& spec, const Derived& derived, const Limits& limits,
                  const GemmShape& shape, int sms) {
  std::string label = fmt::format("at {}x{}x{}", shape.m, shape.n, shape.k);
  Result<int64_t> grid = grid_blocks(spec, shape);
  if (!grid) return fmt::format("  {}: refused: {}\n", label, grid.error().diagnostics[0].message);
  std::string on = plural(sms, "SM");
  for (const Device& device : kDevices) {
    if (sms == 0 && device.target == limits.target) {
      sms = device.sms;
      on = fmt::format("the {} SMs of one {}", device.sms, device.name);
    }
  }
  int64_t blocks = *grid * spec.split_k;
  std::string out = fmt::format("  {}: {}, {} of K each\n", label, plural(blocks, "block"),
                                plural(slices_a_block(spec, shape), "slice"));
  if (spec.cluster > 1) {
    out += more(fmt::format("{} share a tile: a cluster, which adds up their parts",
                            plural(spec.cluster, "block")));
  } else if (spec.split_k > 1) {
    out += more(fmt::format("{} share a tile; workspace {} bytes, added up by a second kernel",
                            plural(spec.split_k, "block"), workspace_bytes(spec, shape)));
  }
  int64_t at_once = int64_t{sms} * derived.blocks_per_sm;
  if (const Stream stream = stream_of(spec, shape, at_once); stream.tiles > 0) {
    out += more(fmt::format("{} shared out to {}; workspace {} bytes, added up by a second kernel",
                            plural(stream.tiles, "tile"), plural(stream.blocks, "block"),
                            stream_workspace_bytes(spec, stream)));
  }
  if (at_once > 0) {
    out += more(fmt::format("{:.2f} waves on {}",
                            static_cast<double>(blocks) / static_cast<double>(at_once), on));
  }
  return out;
}

std::string mix(const Spec& spec, const Derived& derived) {
  int fmas = spec.thread.m * spec.thread.n;
  int loads_a = spec.thread.m / derived.fragment_vector_a;
  int loads_b = spec.thread.n / derived.fragment_vector_b;
  std::string out = row(
      "ideal mix", fmt::format("a thread and k: {}, {} + {} {} loads of {} and {} elements", fmas,
                               loads_a, loads_b, spec.copy == CopyMode::none ? "global" : "shared",
                               derived.fragment_vector_a, derived.fragment_vector_b));
  return out + more(fmt::format("ideal share {} / {} = {:.1f} %", fmas, fmas + loads_a + loads_b,
                                100 * derived.ideal_share));
}

std::string copy_line(const Derived& derived, bool operand_a) {
  const CopyMap& copy = operand_a ? derived.copy_a : derived.copy_b;
  int per_row = copy.columns / copy.vector;
  std::string map =
      fmt::format("{} rows of {} in global memory, {} an access, {}", copy.rows, copy.columns,
                  plural(copy.vector, "element"), plural(copy.passes, "pass"));
  std::string out = row(operand_a ? "copy of A" : "copy of B", map);
  return out + more(fmt::format("thread t takes row t / {}, columns from t % {} * {}", per_row,
                                per_row, copy.vector));
}

std::string layout_line(const Spec& spec, const Derived& derived, bool operand_a) {
  SliceMap map = slice_map(spec, operand_a);
  const SharedLayout& layout = operand_a ? spec.shared_a : spec.shared_b;
  char x = operand_a ? 'm' : 'n';
  std::string out = fmt::format("{}: {} rows ({}) of {} elements ({})",
                                layout.transposed ? "transposed" : "plain", map.rows,
                                map.rows_are_k ? 'k' : x, map.row_length, map.rows_are_k ? x : 'k');
  if (layout.padding > 0) out += fmt::format(" + {} of padding", layout.padding);
  if (layout.swizzled) out += fmt::format(", vectors of {} swizzled", map.group);
  std::string lines = row(operand_a ? "shared A" : "shared B", out);
  Traffic stores = copy_stores(spec, derived, operand_a);
  Traffic loads = fragment_loads(spec, derived, operand_a);
  auto traffic = [](const Traffic& t) {
    double least =
        t.accesses == 0 ? 0 : static_cast<double>(t.least) / static_cast<double>(t.accesses);
    return fmt::format("{:.2f} (free of conflicts: {:.2f})", t.per_access(), least);
  };
  return lines +
         more("predicted wavefronts a store " + traffic(stores) + ", a load " + traffic(loads));
}

}  // namespace

std::string explain(const Spec& spec, const Derived& derived, const Limits& limits,
                    std::optional<GemmShape> shape, int sms) {
  std::string out = format_lines(spec) + "\n\n";
  out += threads(spec, derived);
  out += registers(spec, derived, limits);
  out += shared(spec, derived, limits);
  out += blocks(spec, derived, limits);
  if (shape) out += waves(spec, derived, limits, *shape, sms);
  out += mix(spec, derived);
  if (spec.copy != CopyMode::none) {
    for (bool operand_a : {true, false}) out += copy_line(derived, operand_a);
    for (bool operand_a : {true, false}) out += layout_line(spec, derived, operand_a);
  }
  out += "\n" + draw_lanes(spec);
  if (spec.copy != CopyMode::none) {
    for (bool operand_a : {true, false}) out += "\n" + draw_slice(spec, operand_a);
  }
  return out;
}

}  // namespace tilec::dsl
