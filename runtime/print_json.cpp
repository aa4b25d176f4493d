#include <nlohmann/json.hpp>

#include "runtime/bound.h"
#include "runtime/print.h"
#include "runtime/print_counters.h"

// Keys that DESIGN names come first; the rest is detail. nlohmann writes NaN and infinity as null.
namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

std::string kind_name(DeviceKind kind) {
  return kind == DeviceKind::gpu ? "gpu" : "cpu";
}

Json string_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}
Json positive_or_null(double value) {
  return value > 0 ? Json(value) : Json();
}

Json device_json(const DeviceInfo& device) {
  return {{"name", device.name},
          {"target", string_or_null(device.target)},
          {"sm_count", device.sm_count},
          {"lanes_per_sm", device.lanes_per_sm},
          {"max_clock_mhz", positive_or_null(device.clock_mhz)},
          {"memory_bytes", device.memory_bytes},
          {"l2_bytes", device.l2_bytes},
          {"driver", string_or_null(device.driver)},
          {"cublas", string_or_null(device.cublas)},
          {"nvml", string_or_null(device.nvml)},
          {"missing", device.missing}};
}

Json problem_json(const GemmProblem& problem) {
  return {{"batch", problem.batch},
          {"m", problem.shape.m},
          {"n", problem.shape.n},
          {"k", problem.shape.k},
          {"a_transposed", problem.layout.a_transposed},
          {"b_transposed", problem.layout.b_transposed},
          {"lda", problem.lda},
          {"ldb", problem.ldb},
          {"ldc", problem.ldc},
          {"offset_a", problem.offset_a},
          {"offset_b", problem.offset_b},
          {"offset_c", problem.offset_c},
          {"alpha", problem.alpha},
          {"beta", problem.beta},
          {"seed", problem.seed}};
}

Json cublas_json(const CublasComparison& comparison) {
  return {{"different", comparison.different},
          {"max_difference", comparison.max_difference},
          {"max_error", comparison.max_error},
          {"passed", comparison.passed}};
}

Json check_json(const CheckResult& check) {
  Json failures = Json::array();
  for (const Failure& failure : check.failures)
    failures.push_back({{"row", failure.row},
                        {"column", failure.column},
                        {"got", failure.got},
                        {"expected", failure.expected},
                        {"bound", failure.bound},
                        {"unwritten", failure.unwritten}});
  Json touched = Json::array();
  for (const Touched& word : check.touched.first)
    touched.push_back({{"operand", std::string(1, operand_letter(word.operand))},
                       {"where", word.where},
                       {"before", word.before},
                       {"after", word.after}});
  return {{"passed", check.passed},
          {"max_error", check.max_error},
          {"bit_equal", check.cublas ? Json(check.cublas->bit_equal) : Json()},
          {"checked", check.checked},
          {"elements", check.elements},
          {"failed", check.failed},
          {"nan_elements", check.nan_elements},
          {"failures", failures},
          {"touched_words", check.touched.count},
          {"touched", touched},
          {"cublas", check.cublas ? cublas_json(*check.cublas) : Json()},
          {"bound", bound_formula()}};
}

Json counters_json(const Counters& counters) {
  return {{"warp_instructions", counters.warp_instructions},
          {"fma", counters.fma},
          {"fma_share", counters.fma_share},
          {"sectors_per_request", counters.sectors_per_request},
          {"wavefronts_per_shared_load", counters.wavefronts_per_shared_load},
          {"bank_conflicts", counters.bank_conflicts},
          {"blocks", counters.blocks},
          {"barriers", counters.barriers}};
}

Json time_json(const BenchResult& time) {
  return {{"kernel_us", time.kernel.median_us},
          {"cublas_us", time.cublas ? Json(time.cublas->median_us) : Json()},
          {"cublas_way", string_or_null(time.cublas_way)},
          {"cublas_sgemm_us", positive_or_null(time.cublas_sgemm_us)},
          {"cublaslt_us", positive_or_null(time.cublaslt_us)},
          {"ratio", positive_or_null(time.ratio)},
          {"clock_mhz", positive_or_null(time.kernel.clock_mhz)},
          {"share_of_peak", positive_or_null(time.share_of_peak)},
          {"tflops", time.tflops},
          {"kernel_fastest_us", time.kernel.fastest_us},
          {"kernel_slowest_us", time.kernel.slowest_us},
          {"cublas_clock_mhz", time.cublas ? positive_or_null(time.cublas->clock_mhz) : Json()},
          {"watts", positive_or_null(time.kernel.watts)},
          {"launches_a_burst", time.launches_a_burst},
          {"operand_sets", time.operand_sets}};
}

Json provenance_json(const RunResult& result) {
  const Provenance& provenance = result.provenance;
  return {{"spec", provenance.spec},
          {"choice", string_or_null(provenance.choice)},
          {"kernel", provenance.kernel},
          {"ptx_hash", provenance.ptx_hash},
          {"cubin_hash", string_or_null(provenance.cubin_hash)},
          {"assembler", string_or_null(provenance.assembler)},
          {"registers", provenance.registers > 0 ? Json(provenance.registers) : Json()},
          {"driver", string_or_null(result.device.driver)},
          {"cublas", string_or_null(result.device.cublas)},
          {"device", result.device.name},
          {"max_clock_mhz", positive_or_null(result.device.clock_mhz)},
          {"data", provenance.data}};
}

// Two blanks of indent; a line end after the last brace.
std::string text(const Json& json) {
  // Text that is no UTF-8 (a driver may say anything) is replaced: dump would throw at it.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string run_json(const RunResult& result) {
  Json json = {{"schema", "tilec.run/1"},
               {"device", kind_name(result.device.kind)},
               {"shape", to_string(result.problem.shape)},
               {"check", result.check ? check_json(*result.check) : Json()}};
  if (result.counters) json["counters"] = counters_json(*result.counters);
  if (result.counted) {
    json["counters"]["total"] = counts_json(result.counted->total, false);
    json["counters"]["by_tile_op"] = lines_json(result.counted->by_tile_line, result.tile);
  }
  if (result.time) json["time"] = time_json(*result.time);
  json["spec"] = result.provenance.spec;
  json["blocks"] = result.blocks;
  json["blocks_per_sm"] = result.blocks_per_sm ? Json(*result.blocks_per_sm) : Json();
  json["problem"] = problem_json(result.problem);
  json["device_info"] = device_json(result.device);
  json["provenance"] = provenance_json(result);
  return text(json);
}

std::string bench_json(std::span<const RunResult> results) {
  Json rows = Json::array();
  for (const RunResult& result : results) {
    Json row = {{"spec", result.provenance.spec}, {"shape", to_string(result.problem.shape)}};
    if (!result.label.empty()) row["label"] = result.label;
    if (result.time) row.update(time_json(*result.time));
    const Json check = result.check ? check_json(*result.check) : Json::object();
    row["bit_equal"] = check.value("bit_equal", Json());
    row["check_passed"] = check.value("passed", Json());
    row["max_error"] = check.value("max_error", Json());
    row["problem"] = problem_json(result.problem);
    row["provenance"] = provenance_json(result);
    rows.push_back(row);
  }
  return text({{"schema", "tilec.bench/1"}, {"rows", rows}});
}

}  // namespace tilec
