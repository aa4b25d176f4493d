#include "compiler/report/figures.h"

#include <algorithm>

namespace tilec {

namespace {

void add_losses(std::vector<Figure>& out, const std::optional<Prediction>& prediction) {
  for (size_t l = 0; l < kLosses; ++l) {
    const auto kind = static_cast<Loss>(l);
    std::optional<double> points;
    if (prediction) {
      const auto row = std::ranges::find(prediction->losses, kind, &LossRow::kind);
      points = row->points;
    }
    out.push_back({loss_figure(kind), loss_title(kind), points});
  }
}

}  // namespace

std::vector<Figure> figures(const Report& report) {
  using Value = std::optional<double>;
  const auto& code = report.code;
  const auto& steady = report.steady;
  const auto& executed = report.executed;
  const auto& prediction = report.prediction;
  const auto with_code = [&](double value) { return code ? Value(value) : Value(); };
  std::vector<Figure> out = {
      {"registers", "registers per thread", with_code(report.registers)},
      {"spills", "bytes spilled, stores and loads", with_code(double(report.spills()))},
      {"stack", "bytes of stack per thread", with_code(double(report.stack_bytes))},
      {"shared_bytes", "bytes of shared memory per block", double(report.shared_bytes)},
      {"threads", "threads per block", report.threads},
      {"blocks_per_sm", "blocks that fit one SM", report.occupancy.blocks_per_sm},
      {"warps_per_sm", "warps of those blocks", report.occupancy.warps_per_sm},
      {"conflicts", "extra wavefronts of shared memory, a block and slice, predicted",
       double(report.shared_conflicts)},
      {"ideal_share", "FMA share by the spec alone",
       steady ? steady->ideal_share : report.ideal_share},
      {"fma_share", "FMA share of the steady loop", steady ? Value(steady->fma_share) : Value()},
      {"instructions", "instructions of the steady loop",
       steady ? Value(steady->instructions) : Value()},
      {"fma", "FMA instructions of the steady loop", steady ? Value(steady->fma) : Value()},
      {"fma_per_instruction", "multiply-adds of a lane per instruction of the steady loop",
       steady ? Value(steady->fma_per_instruction) : Value()},
      {"fragment_loads", "fragment loads of the steady loop",
       steady ? Value(steady->fragment_loads) : Value()},
      {"register_conflicts", "cycles lost to register banks per FMA, predicted",
       steady ? Value(steady->register_file.conflicts_per_fma()) : Value()},
      {"unknown", "instructions that are not in our tables",
       code ? Value(code->by_class[sass::Class::unknown]) : Value()},
      {"kernel_instructions", "instructions of the kernel",
       code ? Value(code->instructions) : Value()},
      {"kernel_fma", "FMA instructions of the kernel", code ? Value(code->fma) : Value()},
      {"executed_fma_share", "FMA share over the kernel, counts times trips",
       executed ? Value(executed->fma_share) : Value()},
      {"executed_instructions", "instructions of a thread for the shape",
       executed ? Value(executed->instructions) : Value()},
      {"executed_fma", "FMA instructions of a thread for the shape",
       executed ? Value(executed->fma) : Value()},
      {"predicted_share_of_peak", "of the f32 peak at the shape (without one: 4096 cubed)",
       prediction ? Value(prediction->share_of_peak) : Value()},
      {"predicted_us", "microseconds at the highest clock, predicted",
       prediction ? Value(prediction->kernel_us) : Value()},
      {"waves", "blocks / (SMs * blocks that fit one)",
       prediction ? Value(prediction->waves) : Value()},
      {"issue_rate", "instructions a cycle and scheduler in the loop, predicted",
       prediction ? Value(prediction->issue_rate) : Value()},
      {"loop_share", "share of peak in the loop of a full SM, predicted",
       prediction ? Value(prediction->loop_share) : Value()},
  };
  add_losses(out, prediction);
  return out;
}

}  // namespace tilec
