#include "runtime/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/bound.h"
#include "runtime/print_counters.h"

namespace tilec {
namespace {

// Tile IR of an unrolled kernel may have thousands of lines; JSON has them all.
constexpr size_t kMostLines = 60;

// Every line starts with a word of its own, or with blanks where it goes on.
std::string line(std::string_view word, const std::string& text) {
  return fmt::format("{:<10} {}\n", word, text);
}

std::string layout_name(const dsl::OperandLayout& layout) {
  return fmt::format("{}{}", layout.a_transposed ? 't' : 'n', layout.b_transposed ? 't' : 'n');
}

std::string problem_text(const RunResult& result) {
  const GemmProblem& problem = result.problem;
  std::string out = fmt::format("{}, layout {}, alpha {}, beta {}", to_string(problem.shape),
                                layout_name(problem.layout), problem.alpha, problem.beta);
  if (problem.batched != dsl::Batch::none)
    out +=
        fmt::format(", {} matrices {}", problem.batch,
                    problem.batched == dsl::Batch::strided ? "one after the other" : "by pointers");
  for (Operand operand : {Operand::a, Operand::b, Operand::c}) {
    const Stored matrix = stored(problem, operand);
    if (matrix.ld != std::max<int64_t>(1, matrix.columns))
      out += fmt::format(", rows of {} every {}", operand_letter(operand), matrix.ld);
    if (matrix.offset != 0)
      out += fmt::format(", {} from element {} on", operand_letter(operand), matrix.offset);
  }
  return out + fmt::format(", {} {}", result.blocks, result.blocks == 1 ? "block" : "blocks");
}

std::string failure_text(const Failure& failure) {
  if (failure.unwritten)
    return fmt::format("C[{}, {}] was never written", failure.row, failure.column);
  return fmt::format("C[{}, {}] is {:.9g}, should be {:.9g} within {:.3g}", failure.row,
                     failure.column, failure.got, failure.expected, failure.bound);
}

std::string cublas_text(const CublasComparison& comparison, int64_t elements) {
  if (comparison.bit_equal) return "bit for bit equal: yes";
  return fmt::format(
      "bit for bit equal: no; {} of {} elements differ, by at most {:.3g}: {:.3g} of "
      "twice the bound{}",
      comparison.different, elements, comparison.max_difference, comparison.max_error,
      comparison.passed ? "" : ": WRONG");
}

std::string check_text(const CheckResult& check) {
  std::string out = line(
      "check", fmt::format("{}: {} of {} elements against float64, largest error {:.3g} of the "
                           "bound",
                           check.passed ? "passed" : "FAILED", check.checked, check.elements,
                           check.max_error));
  out += line("", bound_formula());
  if (check.failed > 0)
    out += line("", fmt::format("wrong elements among the checked: {}", check.failed));
  for (const Failure& failure : check.failures) out += line("", "  " + failure_text(failure));
  if (check.nan_elements > 0)
    out += line("", fmt::format("NaN elements of C: {}", check.nan_elements));
  if (check.touched.count > 0)
    out += line("", fmt::format("words written outside C's elements: {}", check.touched.count));
  for (const Touched& touched : check.touched.first)
    out += line("", fmt::format("  {}: {}: {:08x} became {:08x}", operand_letter(touched.operand),
                                touched.where, touched.before, touched.after));
  if (check.cublas) out += line("cublas", cublas_text(*check.cublas, check.elements));
  return out;
}

std::string counters_text(const Counters& counters) {
  return line("counters",
              fmt::format("{} warp instructions, {} FMAs: executed FMA share {:.1f} %",
                          counters.warp_instructions, counters.fma, 100 * counters.fma_share)) +
         line("",
              fmt::format("{:.2f} sectors a global request, {:.2f} wavefronts a shared load, {} "
                          "bank conflicts",
                          counters.sectors_per_request, counters.wavefronts_per_shared_load,
                          counters.bank_conflicts));
}

// Which of cuBLAS's ways is the one compared with, and what both take.
std::string rival_text(const BenchResult& time) {
  const std::string lt = time.cublaslt_us > 0 ? fmt::format("{:.2f} us", time.cublaslt_us)
                                              : std::string("not to be had");
  return line("", fmt::format("cuBLAS's faster way is {}: cublasSgemm {:.2f} us, cublasLt {}",
                              time.cublas_way, time.cublas_sgemm_us, lt));
}

std::string time_text(const BenchResult& time) {
  const Timing& kernel = time.kernel;
  std::string first = fmt::format("{:.2f} us", kernel.median_us);
  if (time.cublas)
    first += fmt::format(", cuBLAS {:.2f} us, ratio {:.3f}", time.cublas->median_us, time.ratio);
  std::string second = fmt::format("{:.2f} TFLOP/s", time.tflops);
  if (time.share_of_peak > 0)
    second += fmt::format(", {:.1f} % of the peak at {:.0f} MHz", 100 * time.share_of_peak,
                          kernel.clock_mhz);
  else
    second += ", share of peak unknown: the clock could not be read";
  const std::string rival = time.cublas ? rival_text(time) : "";
  return line("time", first) + rival + line("", second) +
         line("", fmt::format("median of bursts of {} launches over {} sets of operands, {:.2f} to "
                              "{:.2f} us",
                              time.launches_a_burst, time.operand_sets, kernel.fastest_us,
                              kernel.slowest_us));
}

std::string provenance_text(const Provenance& provenance) {
  std::string code = fmt::format("ptx {}", provenance.ptx_hash);
  if (!provenance.cubin_hash.empty()) code += fmt::format(", cubin {}", provenance.cubin_hash);
  if (!provenance.assembler.empty()) code += fmt::format(", by {}", provenance.assembler);
  if (provenance.registers > 0) code += fmt::format(", {} registers", provenance.registers);
  const std::string choice = provenance.choice.empty() ? "" : line("choice", provenance.choice);
  return choice + line("spec", provenance.spec) + line("code", code) +
         line("data", provenance.data);
}

}  // namespace

std::string describe(const DeviceInfo& device) {
  std::vector<std::string> parts;
  if (!device.target.empty()) parts.push_back(device.target);
  if (device.sm_count > 0) parts.push_back(fmt::format("{} SMs", device.sm_count));
  if (!device.driver.empty()) parts.push_back("driver " + device.driver);
  if (!device.cublas.empty()) parts.push_back("cuBLAS " + device.cublas);
  if (parts.empty()) return device.name;
  return fmt::format("{} ({})", device.name, fmt::join(parts, ", "));
}

std::string run_text(const RunResult& result) {
  std::string out = line("device", describe(result.device));
  for (const std::string& missing : result.device.missing) out += line("missing", missing);
  out += line("shape", problem_text(result));
  if (result.check) out += check_text(*result.check);
  if (result.counters && result.counters->warp_instructions > 0)
    out += counters_text(*result.counters);
  if (result.counted) {
    out += counts_text(result.counted->total);
    out += lines_text("by line of tile IR", result.counted->by_tile_line, result.tile, kMostLines);
  }
  if (result.time) out += time_text(*result.time);
  return out + provenance_text(result.provenance);
}

std::string bench_text(std::span<const RunResult> results) {
  std::string out =
      fmt::format("{:<18} {:>10} {:>10} {:>7} {:>8} {:>7} {:>7}  {:<5} {}\n", "shape", "us",
                  "cuBLAS us", "ratio", "TFLOP/s", "% peak", "MHz", "check", "spec");
  for (const RunResult& result : results) {
    const BenchResult time = result.time.value_or(BenchResult{});
    const std::string check = result.check ? (result.check->passed ? "ok" : "WRONG") : "-";
    const std::string cublas_us =
        time.cublas ? fmt::format("{:.2f}", time.cublas->median_us) : std::string("-");
    out += fmt::format("{:<18} {:>10.2f} {:>10} {:>7.3f} {:>8.2f} {:>7.1f} {:>7.0f}  {:<5} {}\n",
                       to_string(result.problem.shape), time.kernel.median_us, cublas_us,
                       time.ratio, time.tflops, 100 * time.share_of_peak, time.kernel.clock_mhz,
                       check, result.label.empty() ? result.provenance.spec : result.label);
  }
  return out;
}

}  // namespace tilec
