#include "compiler/report/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/report/text.h"

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

// Names as ncu 2025 has them for sm_80 to sm_120; one that a chip lacks is left out of the result.
const std::vector<CounterRow>& hardware_counters() {
  static const std::vector<CounterRow> rows = {
      {"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
       "warps stalled on shared memory, per issue", Loss::fragment_loads},
      {"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
       "warps stalled on the memory queue, per issue", Loss::fragment_loads},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "wavefronts of shared loads",
       Loss::fragment_loads},
      {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "bank conflicts of shared loads",
       Loss::fragment_loads},
      {"smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio",
       "warps stalled at dispatch (register banks), per issue", Loss::register_banks},
      {"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
       "warps stalled on the f32 pipe, per issue", Loss::register_banks},
      {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
       "warps stalled on global memory, per issue", Loss::slice_copies},
      {"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
       "warps stalled on the global queue, per issue", Loss::slice_copies},
      {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "requests of global loads",
       Loss::slice_copies},
      {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors of global loads",
       Loss::slice_copies},
      {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
       "warps stalled at barriers, per issue", Loss::barriers},
      {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
       "warps in a stall of fixed length, per issue", Loss::idle},
      {"smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
       "warps without an instruction (cache), per issue", Loss::idle},
      {"sm__warps_active.avg.pct_of_peak_sustained_active", "warps held, % of possible",
       Loss::last_wave},
      {"lts__t_sector_hit_rate.pct", "hits of the second-level cache, %", Loss::memory},
      {"dram__bytes.sum", "bytes from and to DRAM", Loss::memory},
      {"smsp__issue_active.avg.per_cycle_elapsed", "issue rate, instructions a cycle and scheduler",
       std::nullopt},
      {"smsp__inst_executed.sum", "warp instructions", std::nullopt},
      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "multiply-adds of threads",
       std::nullopt},
      {"sm__cycles_elapsed.max", "cycles", std::nullopt},
      {"gpu__time_duration.sum", "time under the profiler, ns", std::nullopt},
  };
  return rows;
}

const std::vector<CounterRow>& machine_counters() {
  static const std::vector<CounterRow> rows = {
      {"wavefronts_per_shared_load", "wavefronts a shared load", Loss::fragment_loads},
      {"bank_conflicts", "bank conflicts, extra wavefronts", Loss::fragment_loads},
      {"sectors_per_request", "sectors a global request", Loss::slice_copies},
      {"barriers", "barriers, warp instructions", Loss::barriers},
      {"warp_instructions", "warp instructions (PTX)", std::nullopt},
      {"fma", "warp instructions that are multiply-adds", std::nullopt},
      {"fma_share", "FMA share of the PTX", std::nullopt},
      {"blocks", "blocks", std::nullopt},
  };
  return rows;
}

std::string profile_text(const Profile& profile) {
  const Report& report = profile.report;
  std::string out = fmt::format("{} for {}\n  {}\n", report.kernel, report.target, report.spec);
  out += fmt::format("\nCounters: {}\n", profile.source);
  if (profile.issue_rate > 0 && profile.fma_share > 0) {
    out += fmt::format("\n  issue rate {:.3f} x FMA share {:.3f} = {:.1f} % of peak",
                       profile.issue_rate, profile.fma_share,
                       100 * profile.issue_rate * profile.fma_share);
    if (profile.measured_share_of_peak > 0)
      out += fmt::format("; measured {:.1f} % at {:.0f} MHz", 100 * profile.measured_share_of_peak,
                         profile.clock_mhz);
    out += "\n";
  }
  const auto counters_of = [&](std::optional<Loss> behind) {
    std::string lines;
    for (const Counted& counter : profile.counters)
      if (counter.behind == behind)
        lines += fmt::format("      {:<52} {:>14.6g}\n", counter.title, counter.value);
    return lines;
  };
  if (report.prediction) {
    out += fmt::format("\nPoints of peak lost, predicted; behind each what was counted\n\n");
    for (const LossRow& row : report.prediction->losses) {
      const std::string counted = counters_of(row.kind);
      if (row.points < 0.05 && counted.empty()) continue;
      out += fmt::format("  {:<30} {:>6.1f}\n{}", loss_title(row.kind), row.points, counted);
    }
    out += fmt::format("  {:<30} {:>6.1f}   predicted\n", "share of peak",
                       100 * report.prediction->share_of_peak);
  } else {
    for (const Counted& counter : profile.counters)
      if (counter.behind) out += fmt::format("  {:<56} {:>14.6g}\n", counter.title, counter.value);
  }
  return out + "\nThe whole run\n\n" + counters_of(std::nullopt);
}

std::string profile_json(const Profile& profile) {
  Json rows = Json::array();
  for (const Counted& counter : profile.counters)
    rows.push_back({{"metric", counter.metric},
                    {"title", counter.title},
                    {"loss", counter.behind ? Json(loss_name(*counter.behind)) : Json(nullptr)},
                    {"value", counter.value}});
  const auto known = [](double value) { return value > 0 ? Json(value) : Json(nullptr); };
  Json json = {{"schema", "tilec.profile/1"},
               {"spec", profile.report.spec},
               {"target", profile.report.target},
               {"hardware", profile.hardware},
               {"source", profile.source},
               {"issue_rate", known(profile.issue_rate)},
               {"fma_share", known(profile.fma_share)},
               {"share_of_peak", known(profile.measured_share_of_peak)},
               {"clock_mhz", known(profile.clock_mhz)},
               {"counters", std::move(rows)}};
  if (profile.report.prediction) {
    json["predicted_share_of_peak"] = profile.report.prediction->share_of_peak;
    Json losses = Json::array();
    for (const LossRow& row : profile.report.prediction->losses)
      losses.push_back({{"loss", loss_name(row.kind)}, {"points", row.points}});
    json["loss_table"] = std::move(losses);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilec
