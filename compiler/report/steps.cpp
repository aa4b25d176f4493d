#include "compiler/report/steps.h"

#include <algorithm>
#include <cmath>

#include "dsl/banks.h"

namespace tilec {
namespace {

using sass::Class;
using sass::Instruction;
using sass::Slot;

constexpr int kLanes = 32;
constexpr double kCopyCycles = 1;   // of an asynchronous copy, beside reading and writing it
constexpr int kBypasses = 4;        // registers' worth: 16-byte copies do not pass the L1 cache
constexpr double kLineBytes = 128;  // of the first-level cache; one tag is looked up a cycle
// Low 9 bits of the opcodes that need a closer look.
constexpr uint16_t kImad = 0x024, kImadWide = 0x025, kImadHigh = 0x027, kDepbar = 0x11a,
                   kLd = 0x180, kUcgabar = 0x1c7, kBar = 0x11d, kShfl = 0x189, kLdgsts = 0x1ae,
                   kLdgdepbar = 0x1af, kFfma2 = 0x049, kLdc = 0x182, kS2r = 0x119;
constexpr int kWaitForm = 6;  // UCGABAR_WAIT; the others only arrive

// What is known of a kernel's accesses from its spec.
struct Accesses {
  double a_load = 1, b_load = 1;    // wavefronts of a fragment load of the spec's own width
  double a_store = 1, b_store = 1;  // of the copy's stores
  int a_width = 1, b_width = 1;     // elements of such a load
  double sector_bytes = 4;          // bytes moved for a lane's element of a direct load
  bool copies = true;
};

// Wavefronts of the 128-bit loads of one warp's fragment of an operand. Such a load goes in
// quarters of the warp; two quarters of a half go as one where each lane has the address of the
// lane beside it, or of the one after that. That rule gives the wavefronts that hardware counters
// show in the ladder (3.0 and 5.0 on average), and the throughput of lane grids of 8x4, where B's
// quarters cannot be joined. Narrower loads go in halves, as dsl/banks.h has them.
double quarter_wavefronts(const dsl::Spec& spec, const dsl::Derived& derived, bool operand_a) {
  constexpr int kQuarter = 8;
  std::array<int64_t, kLanes> all{};
  for (int lane = 0; lane < kLanes; ++lane) {
    const int thread = lane % std::max(1, derived.threads);
    const int x = dsl::thread_element(spec, derived, operand_a, thread, 0);
    all[static_cast<size_t>(lane)] = dsl::shared_offset(spec, operand_a, 0, x);
  }
  const auto shares = [&](int begin, int apart) {
    for (int l = begin; l < begin + 2 * kQuarter; ++l)
      if (all[static_cast<size_t>(l)] != all[static_cast<size_t>(l ^ apart)]) return false;
    return true;
  };
  double sum = 0;
  for (int half = 0; half < kLanes; half += 2 * kQuarter) {
    const int step = shares(half, 1) || shares(half, 2) ? 2 * kQuarter : kQuarter;
    for (int begin = half; begin < half + 2 * kQuarter; begin += step) {
      std::array<int64_t, kLanes> part;
      part.fill(dsl::kInactive);
      std::copy_n(all.begin() + begin, step, part.begin() + begin);
      sum += dsl::wavefronts(part, 4);
    }
  }
  return sum;
}

// Wavefronts of 64-bit loads: halves of the warp, and both halves as one by the same rule. That
// rule was not counted but inferred, from the speed of two kernels of 8-byte loads.
double half_wavefronts(const dsl::Spec& spec, const dsl::Derived& derived, bool operand_a,
                       double halves) {
  std::array<int64_t, kLanes> all{};
  for (int lane = 0; lane < kLanes; ++lane) {
    const int thread = lane % std::max(1, derived.threads);
    const int x = dsl::thread_element(spec, derived, operand_a, thread, 0);
    all[static_cast<size_t>(lane)] = dsl::shared_offset(spec, operand_a, 0, x);
  }
  for (const size_t apart : {size_t{1}, size_t{2}}) {
    std::array<int64_t, kLanes> distinct;
    distinct.fill(dsl::kInactive);
    size_t count = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (all[lane] != all[lane ^ apart]) break;
      if ((lane & apart) == 0) distinct[count++] = all[lane];
    }
    if (count == kLanes / 2) return dsl::wavefronts(distinct, 2);
  }
  return halves;
}

double load_wavefronts(const dsl::Spec& spec, const dsl::Derived& derived, bool operand_a) {
  constexpr int kSamples = 64;
  const dsl::Traffic traffic = dsl::fragment_loads(spec, derived, operand_a, kSamples);
  const double halves = traffic.accesses == 0 ? 1.0 : traffic.per_access();
  const int vector = operand_a ? derived.fragment_vector_a : derived.fragment_vector_b;
  if (vector == 2) return half_wavefronts(spec, derived, operand_a, halves);
  return vector == 4 ? std::max(halves, quarter_wavefronts(spec, derived, operand_a)) : halves;
}

double per_access(const dsl::Traffic& traffic) {
  return traffic.accesses == 0 ? 1.0 : traffic.per_access();
}

Accesses accesses_of(const Artifact& artifact) {
  constexpr int kSamples = 64;
  const dsl::Spec& spec = artifact.spec;
  const dsl::Derived& derived = artifact.derived;
  Accesses out{.copies = spec.copy != dsl::CopyMode::none};
  if (!out.copies) return out;
  out.a_load = load_wavefronts(spec, derived, true);
  out.b_load = load_wavefronts(spec, derived, false);
  out.a_store = per_access(dsl::copy_stores(spec, derived, true, kSamples));
  out.b_store = per_access(dsl::copy_stores(spec, derived, false, kSamples));
  out.a_width = derived.fragment_vector_a;
  out.b_width = derived.fragment_vector_b;
  return out;
}

int data_registers(const Instruction& instruction) {
  for (const sass::RegisterUse& use : instruction.registers())
    if (use.slot != Slot::a && use.count > 0) return use.count;
  return 1;
}

Pipe pipe_of(const Instruction& instruction, Class kind) {
  if (instruction.opcode == nullptr) return Pipe::none;
  const std::string_view name = instruction.opcode->name;
  const uint16_t code = instruction.opcode->code;
  if (name.starts_with('U') && code < 0x100) return Pipe::none;  // the uniform datapath
  if (name.starts_with("LDS") || name.starts_with("STS") || name.starts_with("ATOMS") ||
      code == kShfl)
    return Pipe::shared;
  if (kind == Class::spill || kind == Class::store || code == kLdgsts ||
      (code >= 0x180 && code <= 0x186 && code != kLdc))
    return Pipe::global;
  if (code == kImad || code == kImadWide || code == kImadHigh) return Pipe::integer;
  if (name.starts_with("DFMA") || name.starts_with("DADD") || name.starts_with("DMUL") ||
      name.starts_with("DSETP"))
    return Pipe::fp64;
  if (name.starts_with("FFMA") || name.starts_with("FADD") || name.starts_with("FMUL") ||
      name.starts_with("HFMA2") || name.starts_with("HADD2") || name.starts_with("HMUL2"))
    return Pipe::fma;
  if (code >= 0x100 && code < 0x118) return Pipe::special;
  if (code < 0x100) return Pipe::alu;
  return Pipe::none;
}

Loss loss_of(Class kind) {
  switch (kind) {
    case Class::fragment_load:
      return Loss::fragment_loads;
    case Class::slice_copy:
      return Loss::slice_copies;
    case Class::address:
      return Loss::addresses;
    case Class::barrier:
      return Loss::barriers;
    default:
      return Loss::other;
  }
}

// Scheduler cycles that the pipe is taken by one warp.
double pipe_cycles(Pipe pipe, const Instruction& instruction, const Target& target) {
  const double schedulers = target.schedulers;
  const auto cycles = [&](double lanes_per_sm) { return kLanes * schedulers / lanes_per_sm; };
  switch (pipe) {
    case Pipe::fma:
      return cycles(target.lanes_per_sm) * (instruction.opcode->code == kFfma2 ? 2 : 1);
    case Pipe::integer:
    case Pipe::alu:
      return cycles(target.rates.integer_lanes);
    case Pipe::fp64:
      return cycles(target.rates.double_lanes);
    case Pipe::special:
      return cycles(target.rates.special_lanes);
    default:
      return 0;
  }
}

// SM cycles of shared memory that a warp's access takes.
double shared_cycles(const Instruction& instruction, const Accesses& accesses,
                     std::string_view line) {
  const std::string_view name = instruction.opcode->name;
  const int registers = data_registers(instruction);
  if (name.starts_with("LDS")) {
    const bool is_b = line.find("= sb[") != std::string_view::npos;
    const bool known = is_b || line.find("= sa[") != std::string_view::npos;
    const double spec = is_b ? accesses.b_load : accesses.a_load;
    const int width = is_b ? accesses.b_width : accesses.a_width;
    const double wavefronts = known ? spec : (accesses.a_load + accesses.b_load) / 2;
    return std::max(1.0, wavefronts * std::max(1.0, registers / (known ? width : 4.0) / 2));
  }
  if (name.starts_with("STS")) {
    const bool is_b = line.find("put sb[") != std::string_view::npos;
    return std::max<double>(registers, is_b ? accesses.b_store : accesses.a_store);
  }
  return 1;
}

// Lines of the first-level cache that one warp's load of a slice touches: a row of the slice, as it
// lies in global memory, is contiguous, and the next one is far away.
double lines_of_copy(const dsl::Spec& spec, bool operand_a, double bytes) {
  const int outer = operand_a ? spec.tile.m : spec.tile.n;
  const bool rows_are_k = operand_a ? spec.layout.a_transposed : !spec.layout.b_transposed;
  const double row_bytes = 4.0 * (rows_are_k ? outer : spec.tile_k);
  return bytes / std::min(row_bytes, kLineBytes);
}

void fill_memory(Step& step, const Instruction& instruction, Class kind, const Accesses& accesses,
                 const PredictionInput& input, std::string_view line) {
  const Rates& rates = input.target.rates;
  const dsl::Spec& spec = input.artifact.spec;
  if (step.pipe == Pipe::shared) {
    step.occupancy = shared_cycles(instruction, accesses, line);
    step.latency = rates.shared_latency;
    return;
  }
  const uint16_t code = instruction.opcode->code;
  int registers = data_registers(instruction);
  if (code == kLdgsts) {
    registers = 1 << std::max(0, static_cast<int>(sass::bits(instruction.word, 73, 3)) - 4);
    const bool is_b = line.find("sb[") != std::string_view::npos;
    step.is_async = true;
    step.bytes = 4.0 * kLanes * registers;
    step.occupancy = kCopyCycles + (registers < kBypasses ? registers : 0) +
                     std::max<double>(registers, is_b ? accesses.b_store : accesses.a_store);
    step.latency = rates.memory_latency;
    return;
  }
  step.bytes = 4.0 * kLanes * registers;
  step.occupancy = std::max(1.0, step.bytes / kLineBytes);
  if (kind == Class::slice_copy)
    step.occupancy =
        std::max(step.occupancy,
                 lines_of_copy(spec, line.find("= b[") == std::string_view::npos, step.bytes));
  step.latency = kind == Class::spill ? rates.l1_latency : rates.memory_latency;
  if (kind == Class::spill) step.bytes = 0;
  step.stores = kind == Class::store;
  // By the road that data of the second-level cache takes, and half as far.
  if (code == kLd && line.find("reduce ") != std::string_view::npos)
    step.latency = rates.cluster_latency;
  if (!accesses.copies && kind == Class::fragment_load) {
    // Straight from global memory: neighbours share a line or not, and what was loaded stays in
    // the first-level cache for the other warps.
    const bool is_b = line.find(" b[") != std::string_view::npos;
    const bool by_rows = spec.lanes == dsl::LaneOrder::rows;
    const bool walks = is_b != by_rows;  // consecutive lanes walk this operand's outer axis
    const bool contiguous = is_b ? !spec.layout.b_transposed : spec.layout.a_transposed;
    step.occupancy = !walks ? 1 : contiguous ? registers : kLanes;
    step.bytes = 0;
    step.latency = rates.l1_latency;
  }
}

Step step_of(const Instruction& instruction, uint32_t index, const PredictionInput& input,
             const Accesses& accesses, std::string_view line) {
  const Class kind = class_of(instruction, input.work);
  const Target& target = input.target;
  Step step{.index = index, .pipe = pipe_of(instruction, kind), .kind = loss_of(kind)};
  step.control = instruction.control;
  step.is_fma = kind == Class::fma;
  step.never = instruction.guard.predicate == sass::kTruePredicate && instruction.guard.negated;
  if (step.never) step.pipe = Pipe::none;
  if (instruction.opcode == nullptr) return step;
  step.occupancy = pipe_cycles(step.pipe, instruction, target);
  if (step.pipe == Pipe::shared || step.pipe == Pipe::global)
    fill_memory(step, instruction, kind, accesses, input, line);
  if (step.pipe == Pipe::special) step.latency = 20;
  const uint16_t code = instruction.opcode->code;
  if (code == kS2r || code == kLdc) step.latency = target.rates.shared_latency;
  step.syncs = code == kBar || (code == kUcgabar && sass::form_of(instruction.word) == kWaitForm);
  step.ends_group = code == kLdgdepbar;
  if (code == kDepbar) step.waits_groups = static_cast<int>(sass::bits(instruction.word, 38, 6));
  for (const sass::RegisterUse& use : instruction.registers())
    if (!use.written && use.slot != Slot::d)
      step.registers[static_cast<size_t>(step.register_count++)] = use;
  return step;
}

}  // namespace

Trace trace_of(const PredictionInput& input, const Way& way, bool at_edges) {
  const Accesses accesses = accesses_of(input.artifact);
  const std::vector<std::string_view> texts = lines_of(input.artifact.tile);
  const auto append = [&](std::vector<Step>& steps, std::span<const size_t> blocks) {
    for (const size_t block : blocks)
      for (size_t i = input.flow.blocks[block].begin; i < input.flow.blocks[block].end; ++i) {
        const Instruction& instruction = input.instructions[i];
        const auto line =
            static_cast<size_t>(sass::line_at(input.kernel.lines, instruction.offset));
        steps.push_back(step_of(instruction, static_cast<uint32_t>(i), input, accesses,
                                line > 0 && line <= texts.size() ? texts[line - 1] : ""));
      }
  };
  Trace trace;
  append(trace.before, way.before);
  const LoopUnit unit = unit_of(input.instructions, input.flow, input.work,
                                at_edges && way.rest ? *way.rest : way.steady);
  append(trace.unit, unit.blocks);
  trace.unit_slices = unit.slices;
  append(trace.after, way.after);
  return trace;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace tilec
