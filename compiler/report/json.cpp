#include "compiler/report/json.h"

#include <nlohmann/json.hpp>

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

Json class_counts(const sass::ClassCounts& counts) {
  Json out = Json::object();
  for (size_t c = 0; c < sass::kClasses; ++c) {
    const auto kind = static_cast<sass::Class>(c);
    if (counts[kind] != 0) out[std::string(sass::class_name(kind))] = counts[kind];
  }
  return out;
}

Json gap_rows(const std::vector<GapRow>& rows) {
  Json out = Json::array();
  for (const GapRow& row : rows)
    out.push_back({{"class", sass::class_name(row.kind)},
                   {"instructions", row.instructions},
                   {"expected", row.expected},
                   {"points", row.points}});
  return out;
}

Json line_counts(const std::vector<LineCount>& lines) {
  Json out = Json::array();
  for (const LineCount& line : lines)
    out.push_back({{"line", line.line},
                   {"text", line.text},
                   {"instructions", line.instructions},
                   {"fma", line.fma},
                   {"by_class", class_counts(line.by_class)}});
  return out;
}

Json op_counts(const std::vector<OpCount>& ops) {
  Json out = Json::array();
  for (const OpCount& op : ops)
    out.push_back({{"text", op.text},
                   {"lines", op.lines},
                   {"instructions", op.instructions},
                   {"fma", op.fma},
                   {"by_class", class_counts(op.by_class)}});
  return out;
}

Json steady_loop(const SteadyLoop& loop) {
  return {{"instructions", loop.instructions},
          {"fma", loop.fma},
          {"fma_share", loop.fma_share},
          {"ideal_share", loop.ideal_share},
          {"by_class", class_counts(loop.by_class)},
          {"multiply_adds", loop.multiply_adds},
          {"fma_per_instruction", loop.fma_per_instruction},
          {"slices_per_trip", loop.slices_per_trip},
          {"begin", loop.begin},
          {"end", loop.end},
          {"fragment_loads",
           {{"actual", loop.fragment_loads}, {"expected", loop.fragment_loads_expected}}},
          {"gap_points", loop.gap_points},
          {"gap", gap_rows(loop.gap)},
          {"register_file",
           {{"predicted", true},
            {"cycles_per_fma", loop.register_file.cycles_per_fma()},
            {"conflicts_per_fma", loop.register_file.conflicts_per_fma()},
            {"operands_read", loop.register_file.operands_read},
            {"operands_reused", loop.register_file.operands_reused}}},
          {"ops", op_counts(loop.ops)},
          {"lines", line_counts(loop.lines)}};
}

Json back_end(const BackEnd& back_end) {
  const auto or_null = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  Json out = {{"rewritten", back_end.rewritten}};
  if (!back_end.rewritten) out["why_not"] = back_end.why_not;
  out["measured_on_target"] = back_end.measured;
  out["registers"] = {{"assembled", back_end.registers_assembled}, {"now", back_end.registers}};
  out["cycles_per_fma"] = {{"predicted", true},
                           {"assembled", or_null(back_end.cycles_per_fma_assembled)},
                           {"now", or_null(back_end.cycles_per_fma)}};
  return out;
}

Json occupancy(const Occupancy& occupancy) {
  return {{"blocks_per_sm", occupancy.blocks_per_sm},
          {"warps_per_sm", occupancy.warps_per_sm},
          {"warps_possible", occupancy.warps_possible},
          {"limit", occupancy.limit},
          {"blocks_by_registers", occupancy.by_registers},
          {"blocks_by_shared_memory", occupancy.by_shared},
          {"blocks_by_threads", occupancy.by_threads},
          {"blocks_by_limit", occupancy.by_blocks}};
}

Json loss_table(const Prediction& prediction) {
  Json out = Json::array();
  for (const LossRow& row : prediction.losses)
    out.push_back(
        {{"loss", loss_name(row.kind)}, {"points", row.points}, {"clause", loss_clause(row.kind)}});
  return out;
}

Json prediction_of(const Prediction& prediction) {
  const dsl::GemmShape& shape = prediction.shape;
  return {{"predicted", true},
          {"shape", {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}}},
          {"device", prediction.device},
          {"sm_count", prediction.sms},
          {"clock_mhz", prediction.clock_mhz},
          {"blocks_per_sm", prediction.blocks_per_sm},
          {"blocks", prediction.blocks},
          {"waves", prediction.waves},
          {"kernel_us", prediction.kernel_us},
          {"cycles", prediction.cycles},
          {"cycles_per_slice", prediction.cycles_per_slice},
          {"cycles_per_block", prediction.cycles_per_block},
          {"loop_share", prediction.loop_share},
          {"issue_rate", prediction.issue_rate},
          {"critical", prediction.critical},
          {"use",
           {{"issue", prediction.use.issue},
            {"fma", prediction.use.fma},
            {"register_banks", prediction.use.banks},
            {"shared_memory", prediction.use.shared},
            {"second_level_cache", prediction.use.road},
            {"dram", prediction.use.dram}}}};
}

std::string printed(const Json& json) {
  // Names and texts may hold anything; what is not UTF-8 is replaced, not thrown about.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const Report& report) {
  Json json = {
      {"schema", "tilec.report/1"},
      {"spec", report.spec},
      {"kernel_name", report.kernel},
      {"target", report.target},
      {"assembler", {{"tool", report.assembler.tool}, {"version", report.assembler.version}}},
      {"registers", report.registers},
      {"spills", report.spills()},
      {"spill_bytes", {{"stores", report.spill_store_bytes}, {"loads", report.spill_load_bytes}}},
      {"stack", report.stack_bytes},
      {"shared_bytes", report.shared_bytes},
      {"threads", report.threads},
      {"blocks_per_sm", report.occupancy.blocks_per_sm},
      {"occupancy", occupancy(report.occupancy)},
      {"ideal_share", report.ideal_share},
      {"shared_conflicts", {{"predicted", true}, {"wavefronts", report.shared_conflicts}}}};
  if (report.steady) json["steady_loop"] = steady_loop(*report.steady);
  if (report.back_end) json["sass"] = back_end(*report.back_end);
  if (report.code)
    json["kernel"] = {
        {"instructions", report.code->instructions},       {"fma", report.code->fma},
        {"by_class", class_counts(report.code->by_class)}, {"unknown", report.code->unknown},
        {"checked_by_nvdisasm", report.code->checked},     {"mismatches", report.code->mismatches}};
  if (report.executed) {
    const Executed& executed = *report.executed;
    json["shape"] = {{"m", executed.shape.m}, {"n", executed.shape.n}, {"k", executed.shape.k}};
    json["executed_fma_share"] = executed.fma_share;
    json["executed"] = {{"predicted", true},
                        {"blocks", executed.blocks},
                        {"trips", executed.trips},
                        {"instructions", executed.instructions},
                        {"fma", executed.fma},
                        {"whole_tiles", executed.whole_tiles},
                        {"warp_instructions", executed.warp_instructions},
                        {"multiply_adds", executed.multiply_adds}};
  }
  if (report.prediction) {
    json["predicted_share_of_peak"] = report.prediction->share_of_peak;
    json["loss_table"] = loss_table(*report.prediction);
    json["prediction"] = prediction_of(*report.prediction);
  }
  return printed(json);
}

std::string to_json(const std::vector<Judgement>& judgements) {
  Json budgets = Json::array();
  for (const Judgement& judgement : judgements) {
    Json row = {{"budget", judgement.budget.text},
                {"figure", judgement.budget.figure},
                {"bound", judgement.budget.bound},
                {"value", judgement.value ? Json(*judgement.value) : Json(nullptr)},
                {"passed", judgement.passed}};
    if (!judgement.missing.empty()) row["missing"] = judgement.missing;
    budgets.push_back(std::move(row));
  }
  return printed({{"schema", "tilec.check/1"},
                  {"passed", all_passed(judgements)},
                  {"budgets", std::move(budgets)}});
}

}  // namespace tilec
