#include "compiler/report/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/report/figures.h"
#include "compiler/report/json.h"
#include "compiler/report/page_template.h"
#include "compiler/report/text.h"
#include "dsl/format.h"

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDataMark = "\"TILEC_DATA\"";

Json axis_of(const dsl::FragmentAxis& axis) {
  return {
      {"count", axis.count}, {"piece", axis.piece}, {"stride", axis.stride}, {"lanes", axis.lanes}};
}

Json slice_of(const dsl::Spec& spec, bool operand_a) {
  const dsl::SliceMap map = dsl::slice_map(spec, operand_a);
  return {{"rows_are_k", map.rows_are_k}, {"rows", map.rows},   {"row_length", map.row_length},
          {"row_stride", map.row_stride}, {"group", map.group}, {"groups", map.groups}};
}

Json geometry_of(const Artifact& artifact) {
  const dsl::Spec& spec = artifact.spec;
  const dsl::Derived& derived = artifact.derived;
  Json out = {{"tile", {spec.tile.m, spec.tile.n, spec.tile_k}},
              {"thread", {spec.thread.m, spec.thread.n}},
              {"threads", derived.threads},
              {"warp_grid", {derived.warp_grid.m, derived.warp_grid.n}},
              {"lanes_by_rows", spec.lanes == dsl::LaneOrder::rows},
              {"m", axis_of(derived.m)},
              {"n", axis_of(derived.n)},
              {"stages", spec.stages},
              {"copy", spec.copy == dsl::CopyMode::none                ? "none"
                       : spec.copy == dsl::CopyMode::through_registers ? "register"
                                                                       : "async"}};
  if (spec.warp) out["warp"] = {spec.warp->m, spec.warp->n};
  if (spec.copy != dsl::CopyMode::none) {
    out["a"] = slice_of(spec, true);
    out["b"] = slice_of(spec, false);
  }
  return out;
}

// An array a line, not an object: there are thousands.
Json sass_of(const SassView& view) {
  Json lines = Json::array();
  for (const ViewLine& line : view.lines) {
    const sass::Control& control = line.control;
    lines.push_back({line.offset, line.text, sass::class_name(line.kind),
                     static_cast<int>(line.loop), line.tile_line, line.ptx_line, control.stall,
                     control.yield ? 1 : 0, control.wait_mask, control.read_barrier,
                     control.write_barrier, control.reuse, line.even_reads, line.odd_reads,
                     line.cost ? Json(std::round(*line.cost * 100) / 100) : Json(nullptr),
                     line.costly ? 1 : 0});
  }
  return {{"has_text", view.has_text}, {"critical", view.critical}, {"lines", std::move(lines)}};
}

Json rates_of(const Target& target) {
  const Rates& rates = target.rates;
  return {{"device", rates.device},
          {"sms", rates.sms},
          {"clock_mhz", rates.clock_mhz},
          {"lanes_per_sm", target.lanes_per_sm},
          {"dram_gb_per_s", rates.dram_gb_per_s},
          {"l2_bytes_per_cycle_and_sm", rates.l2_bytes}};
}

Json losses_of(const Prediction& prediction) {
  Json out = Json::array();
  for (const LossRow& row : prediction.losses)
    out.push_back({{"title", loss_title(row.kind)},
                   {"points", row.points},
                   {"clause", loss_clause(row.kind)}});
  return out;
}

// In a script element only "</" and "<!" end or change what is read.
std::string for_script(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    out += c;
    if (c == '<') {
      out.pop_back();
      out += "\\u003c";
    }
  }
  return out;
}

}  // namespace

std::string page_html(const PageInput& input) {
  const Artifact& artifact = input.artifact;
  Json data = {{"report", Json::parse(to_json(input.report))},
               {"clauses", dsl::format_lines(artifact.spec)},
               {"geometry", geometry_of(artifact)},
               {"rates", rates_of(input.target)},
               {"advice", advice(input.report)},
               {"tile", artifact.tile},
               {"llvm", artifact.llvm},
               {"ptx", artifact.ptx}};
  if (input.view != nullptr) data["sass"] = sass_of(*input.view);
  if (input.report.prediction) data["losses"] = losses_of(*input.report.prediction);
  Json figure_rows = Json::array();
  for (const Figure& figure : figures(input.report))
    if (figure.value) figure_rows.push_back({figure.name, figure.meaning, *figure.value});
  data["figures"] = std::move(figure_rows);
  if (!input.counters.empty())
    data["counters"] = {{"note", input.counters_note}, {"of", Json::parse(input.counters)}};
  Json others = Json::array();
  for (const Neighbour& other : input.neighbours)
    others.push_back({{"name", other.name}, {"spec", other.spec}, {"share", other.share_of_peak}});
  data["neighbours"] = {{"note", input.neighbours_note}, {"rows", std::move(others)}};

  std::string page(kPageTemplate);
  const size_t at = page.find(kDataMark);
  page.replace(at, kDataMark.size(),
               for_script(data.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return page;
}

std::vector<Neighbour> neighbours_of(std::string_view results) {
  const Json file = Json::parse(results, nullptr, false);
  std::vector<Neighbour> out;
  if (!file.is_object() || !file.contains("rows")) return out;
  for (const Json& row : file["rows"]) {
    if (row.value("shape", "") != "4096x4096x4096" || !row.contains("share_of_peak") ||
        !row["share_of_peak"].is_number())
      continue;
    out.push_back({row.value("name", ""), row.value("spec", ""), row["share_of_peak"]});
  }
  return out;
}

std::string_view ladder_results() {
  return kLadderResults;
}

}  // namespace tilec
