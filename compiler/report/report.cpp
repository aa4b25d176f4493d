#include "compiler/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/report/count.h"
#include "compiler/report/predict.h"
#include "compiler/sass/cross_check.h"
#include "dsl/banks.h"
#include "dsl/format.h"

namespace tilec {
namespace {

constexpr int kLanes = 32;
constexpr int kRegisterStep = 8;  // registers are given out in eights a thread
constexpr int kBankSamples = 64;  // accesses looked at when predicting conflicts

dsl::Residency residency_with(const Artifact& artifact, const Target& target, int registers) {
  dsl::Derived derived = artifact.derived;
  dsl::Spec spec = artifact.spec;
  derived.registers_expected = std::max(1, registers);  // a damaged cubin may say none
  spec.registers = 0;  // what was asked for is in `registers` already
  spec.blocks_per_sm = 0;
  return dsl::residency(derived, spec, target.limits);
}

Occupancy occupancy_of(const Artifact& artifact, const Target& target, int registers) {
  const dsl::Residency fits = residency_with(artifact, target, registers);
  const int warps = std::max(1, artifact.derived.warps);
  Occupancy out{.blocks_per_sm = fits.blocks(),
                .warps_per_sm = fits.blocks() * warps,
                .warps_possible = target.limits.threads_per_sm / kLanes,
                .by_registers = fits.by_registers,
                .by_shared = fits.by_shared,
                .by_threads = fits.by_threads,
                .by_blocks = fits.by_limit};
  const std::array<std::pair<int, const char*>, 4> limits = {{
      {fits.by_registers, "registers"},
      {fits.by_shared, "shared memory"},
      {fits.by_threads, "threads"},
      {fits.by_limit, "blocks"},
  }};
  out.limit = std::ranges::min_element(limits, {}, [](const auto& l) { return l.first; })->second;
  // One more block is worth naming only where the thread tile could live in so few registers.
  const int others = std::min({fits.by_shared, fits.by_threads, fits.by_limit});
  const int least = dsl::registers_needed(artifact.spec.thread);
  for (int fewer = (registers - 1) / kRegisterStep * kRegisterStep;
       others > fits.by_registers && fewer >= least && out.next_registers == 0;
       fewer -= kRegisterStep)
    if (residency_with(artifact, target, fewer).by_registers > fits.by_registers)
      out.next_registers = fewer;
  return out;
}

int64_t predicted_conflicts(const Artifact& artifact) {
  if (artifact.spec.copy == dsl::CopyMode::none) return 0;
  int64_t extra = 0;
  for (const bool operand_a : {true, false}) {
    for (const dsl::Traffic& traffic :
         {dsl::copy_stores(artifact.spec, artifact.derived, operand_a, kBankSamples),
          dsl::fragment_loads(artifact.spec, artifact.derived, operand_a, kBankSamples)})
      extra += traffic.wavefronts - traffic.least;
  }
  return extra;
}

// Local memory accesses, for assemblers that do not say: bytes by the words' size fields.
void count_spills(std::span<const sass::Instruction> instructions, Report& report) {
  for (const sass::Instruction& instruction : instructions) {
    if (sass::classify(instruction) != sass::Class::spill) continue;
    for (const sass::RegisterUse& use : instruction.registers()) {
      if (use.slot == sass::Slot::d) report.spill_load_bytes += use.count * 4;
      if (use.slot == sass::Slot::b) report.spill_store_bytes += use.count * 4;
    }
  }
}

// Makes instructions that nvdisasm reads otherwise unknown; their number.
int drop_mismatches(std::vector<sass::Instruction>& instructions, const sass::TextKernel& text) {
  const std::vector<sass::Mismatch> found = sass::cross_check(instructions, text);
  for (const sass::Mismatch& mismatch : found) {
    sass::Instruction& instruction = instructions[mismatch.offset / sass::kWordBytes];
    instruction.opcode = nullptr;
    instruction.use_count = 0;
    instruction.registers_known = false;
  }
  return static_cast<int>(found.size());
}

dsl::Result<const sass::Kernel*> find_kernel(const sass::Cubin& cubin, const Artifact& artifact,
                                             const Target& target) {
  if (cubin.sm != dsl::machine_number(target.limits.target))
    return tl::unexpected(dsl::Error::internal(
        fmt::format("the cubin is for sm_{}, the target is {}", cubin.sm, target.limits.target)));
  const sass::Kernel* kernel = cubin.find(artifact.spec.name);
  if (kernel == nullptr && cubin.kernels.size() == 1) kernel = cubin.kernels.data();
  if (kernel == nullptr)
    return tl::unexpected(
        dsl::Error::internal(fmt::format("the cubin has no kernel {}", artifact.spec.name)));
  return kernel;
}

std::optional<Executed> executed_at(const dsl::GemmShape& shape, const Artifact& artifact,
                                    std::span<const sass::Instruction> instructions,
                                    const sass::Flow& flow, const WorkOfThread& work) {
  const dsl::Spec& spec = artifact.spec;
  // A block of `split_k` walks its share of K.
  dsl::GemmShape of_block = shape;
  if (spec.split_k > 1) of_block.k = dsl::slices_a_block(spec, shape) * spec.tile_k;
  std::optional<Executed> out = count_executed(instructions, flow, work, of_block);
  if (!out) return out;
  out->shape = shape;
  out->blocks = dsl::count_tiles(spec.tile, shape) * spec.split_k;
  out->whole_tiles = shape.m % spec.tile.m == 0 && shape.n % spec.tile.n == 0 &&
                     shape.k % (spec.tile_k * spec.split_k) == 0;
  const int threads = std::max(1, artifact.derived.threads);
  const int warps = (threads + kLanes - 1) / kLanes;
  out->warp_instructions = out->instructions * static_cast<double>(out->blocks) * warps;
  out->multiply_adds *= static_cast<double>(out->blocks) * threads;
  return out;
}

int reduce_trips(const Artifact& artifact) {
  constexpr int kWidestVector = 4;
  if (artifact.spec.cluster == 1) return 1;
  const int vector = dsl::widest_vector(kWidestVector, artifact.derived.n.piece);
  return dsl::pieces_of(artifact.spec.thread, vector, artifact.spec.cluster).trips();
}

// What is known without a cubin.
Report report_of_spec(const Artifact& artifact, const Target& target) {
  Report report{.spec = dsl::format(artifact.spec),
                .kernel = artifact.spec.name,
                .target = target.limits.target,
                .assembler = artifact.assembler,
                .registers = artifact.assembler.registers,
                .spill_store_bytes = artifact.assembler.spill_store_bytes,
                .spill_load_bytes = artifact.assembler.spill_load_bytes,
                .stack_bytes = artifact.assembler.stack_bytes,
                .shared_bytes = artifact.derived.shared_bytes,
                .threads = artifact.derived.threads,
                .ideal_share = artifact.derived.ideal_share,
                .shared_conflicts = predicted_conflicts(artifact)};
  report.assembler.log.clear();
  return report;
}

}  // namespace

dsl::Result<Report> build_report(const Artifact& artifact, const Target& target,
                                 std::optional<dsl::GemmShape> shape,
                                 const sass::Disassembly* text) {
  Report report = report_of_spec(artifact, target);
  if (artifact.cubin.empty()) {
    report.occupancy = occupancy_of(artifact, target, artifact.derived.registers_expected);
    return report;
  }
  const dsl::Result<sass::Cubin> cubin = sass::read_cubin(artifact.cubin);
  if (!cubin) return tl::unexpected(cubin.error());
  const dsl::Result<const sass::Kernel*> found = find_kernel(*cubin, artifact, target);
  if (!found) return tl::unexpected(found.error());
  const sass::Kernel& kernel = **found;

  std::vector<sass::Instruction> instructions = sass::decode_all(kernel.words, cubin->sm);
  const sass::TextKernel* lines = text == nullptr ? nullptr : text->find(kernel.name);
  const int mismatches = lines == nullptr ? 0 : drop_mismatches(instructions, *lines);
  const sass::Flow flow = sass::find_flow(instructions);
  const WorkOfThread work{
      .fma_per_k = artifact.spec.thread.m * artifact.spec.thread.n,
      .tile_k = artifact.spec.tile_k,
      .ideal_share = artifact.derived.ideal_share,
      .copies_slices = artifact.spec.copy != dsl::CopyMode::none,
      .reduce_trips = reduce_trips(artifact),
      .avoided = avoided_by_whole_tiles(instructions, kernel.lines, artifact.tile)};
  // The cubin's own record is what the driver loads by; the assembler's words come second.
  if (kernel.registers > 0) report.registers = kernel.registers;
  report.stack_bytes = std::max(report.stack_bytes, kernel.frame_bytes);
  if (artifact.assembler.log.empty() && report.spills() == 0) count_spills(instructions, report);
  report.occupancy = occupancy_of(artifact, target, report.registers);
  report.code = count_kernel(instructions, work);
  report.code->checked = lines != nullptr;
  report.code->mismatches = mismatches;
  report.back_end = describe_back_end(artifact, target);
  report.steady = count_steady_loop(instructions, flow, work, kernel.lines, artifact.tile);
  if (shape) report.executed = executed_at(*shape, artifact, instructions, flow, work);
  report.prediction =
      predict({artifact, target, kernel, instructions, flow, work, report.occupancy.blocks_per_sm},
              shape.value_or(kUsualShape));
  return report;
}

}  // namespace tilec
