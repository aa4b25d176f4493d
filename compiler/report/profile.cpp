#include "compiler/report/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/report/text.h"

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kWarpInstructions = "smsp__inst_executed.sum";
constexpr std::string_view kMultiplyAdds = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
constexpr int kSchedulers = 4;  // of an SM, on all targets

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
      {"sm__warps_active.avg.pct_of_peak_sustained_active", "warps held, of those possible",
       Loss::last_wave, "%"},
      {"lts__t_sector_hit_rate.pct", "hits of the second-level cache", Loss::memory, "%"},
      {"dram__bytes.sum", "from and to DRAM", Loss::memory, "B"},
      {"smsp__issue_active.avg.per_cycle_elapsed", "issue rate, instructions a cycle and scheduler",
       std::nullopt},
      {kWarpInstructions, "warp instructions", std::nullopt},
      {kMultiplyAdds, "multiply-adds of threads", std::nullopt},
      {"sm__cycles_elapsed.max", "cycles", std::nullopt},
      {"gpu__time_duration.sum", "time under the profiler", std::nullopt, "ns"},
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

std::string with_unit(double value, std::string_view unit) {
  if (unit == "%") return fmt::format("{:.1f} %", value);
  if (unit == "ns") return fmt::format("{:.1f} us", value / 1e3);
  static constexpr std::array<std::pair<double, char>, 3> kScales = {
      {{1e9, 'G'}, {1e6, 'M'}, {1e3, 'k'}}};
  for (const auto& [scale, letter] : kScales) {
    const bool small_enough = letter == 'k' && value < 1e4 && unit != "B";  // 8192 is 8192
    if (value >= scale && !small_enough)
      return fmt::format("{:.1f} {}{}", value / scale, letter, unit);
  }
  const std::string number =
      value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

std::vector<Beside> set_beside(const Profile& profile) {
  const Report& report = profile.report;
  std::vector<Beside> out;
  if (!profile.hardware) return out;
  const auto counted = [&](std::string_view metric) {
    const auto found = std::ranges::find(profile.counters, metric, &Counted::metric);
    return found == profile.counters.end() ? 0.0 : found->value;
  };
  const auto add = [&](Beside row) {
    if (row.counted > 0) out.push_back(std::move(row));
  };
  const auto& prediction = report.prediction;
  const auto& executed = report.executed;
  if (prediction)
    add({"share_of_peak", "share of peak", 100 * prediction->share_of_peak,
         100 * profile.measured_share_of_peak, false, "%"});
  if (prediction && executed)
    add({"issue_rate", "issue rate, instructions a cycle and scheduler",
         executed->warp_instructions / (prediction->cycles * prediction->sms * kSchedulers),
         profile.issue_rate});
  if (executed) {
    add({"fma_share", "FMA share of what is executed", 100 * executed->fma_share,
         100 * profile.fma_share, false, "%"});
    add({"warp_instructions", "warp instructions", executed->warp_instructions,
         counted(kWarpInstructions), true});
    add({"multiply_adds", "multiply-adds of threads", executed->multiply_adds,
         counted(kMultiplyAdds), true});
  }
  add({"blocks_per_sm", "blocks an SM holds", static_cast<double>(report.occupancy.blocks_per_sm),
       static_cast<double>(profile.blocks_per_sm), true});
  return out;
}

namespace {

// 2339180544 as 2,339,180,544.
std::string grouped(double value) {
  std::string out = fmt::format("{:.0f}", value);
  for (size_t at = out.size(); at > 3 && value > 0;) out.insert(at -= 3, ",");
  return out;
}

std::string beside_section(const Profile& profile) {
  const std::vector<Beside> rows = set_beside(profile);
  if (rows.empty()) return "";
  std::string out =
      fmt::format("\n  {:<46} {:>15} {:>15} {:>10}\n", "", "predicted", "counted", "difference");
  for (const Beside& row : rows) {
    const auto shown = [&](double value) {
      if (row.exact) return grouped(value);
      return row.unit.empty() ? fmt::format("{:.3f}", value) : with_unit(value, row.unit);
    };
    const double difference = row.difference();
    const std::string apart = difference == 0    ? "none"
                              : row.exact        ? fmt::format("{:+.0f}", difference)
                              : row.unit.empty() ? fmt::format("{:+.3f}", difference)
                                                 : fmt::format("{:+.1f}", difference);
    out += fmt::format("  {:<46} {:>15} {:>15} {:>10}\n", row.title, shown(row.predicted),
                       shown(row.counted), apart);
  }
  if (profile.report.executed && !profile.report.executed->whole_tiles)
    out += "  Counts are predicted for whole tiles: the blocks at edges take another way.\n";
  return out;
}

// Those that are not 0, value first.
std::string counters_of(const Profile& profile, std::optional<Loss> behind) {
  std::string lines;
  for (const Counted& counter : profile.counters)
    if (counter.behind == behind && counter.value != 0)
      lines += fmt::format("          {:>12}  {}\n", with_unit(counter.value, counter.unit),
                           counter.title);
  return lines;
}

std::string zeros_of(const Profile& profile) {
  std::string out;
  for (const Counted& counter : profile.counters)
    if (counter.value == 0)
      out += fmt::format("{}\n  {}", out.empty() ? "\nCounted, and 0" : ",", counter.title);
  return out.empty() ? "" : out + "\n";
}

}  // namespace

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
  out += beside_section(profile);
  if (report.prediction) {
    out += "\nWhere 100 points of peak go, predicted; under each line what was counted\n\n";
    for (const LossRow& row : report.prediction->losses) {
      const std::string counted = counters_of(profile, row.kind);
      if (row.points < 0.05 && counted.empty()) continue;
      out += fmt::format("  {:>5.1f}  {}\n{}", row.points, loss_title(row.kind), counted);
    }
    out += fmt::format("  {:>5.1f}  share of peak\n", 100 * report.prediction->share_of_peak);
  } else {
    for (const Counted& counter : profile.counters)
      if (counter.behind)
        out += fmt::format("  {:>12}  {}\n", with_unit(counter.value, counter.unit), counter.title);
  }
  return out + "\nThe whole run\n\n" + counters_of(profile, std::nullopt) + zeros_of(profile);
}

std::string profile_json(const Profile& profile) {
  Json rows = Json::array();
  for (const Counted& counter : profile.counters)
    rows.push_back({{"metric", counter.metric},
                    {"title", counter.title},
                    {"loss", counter.behind ? Json(loss_name(*counter.behind)) : Json(nullptr)},
                    {"unit", counter.unit},
                    {"value", counter.value}});
  Json beside = Json::array();
  for (const Beside& row : set_beside(profile))
    beside.push_back({{"figure", row.figure},
                      {"title", row.title},
                      {"unit", row.unit},
                      {"predicted", row.predicted},
                      {"counted", row.counted},
                      {"difference", row.difference()}});
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
               {"blocks_per_sm", known(profile.blocks_per_sm)},
               {"beside", std::move(beside)},
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
