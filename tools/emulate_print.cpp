#include "tools/emulate_print.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/npy.h"
#include "runtime/print.h"
#include "runtime/print_counters.h"
#include "runtime/ptx/program.h"

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

// Of a generated kernel there may be thousands; JSON has them all.
constexpr size_t kMostLines = 40;

std::string line(std::string_view word, const std::string& text) {
  return fmt::format("{:<10} {}\n", word, text);
}

std::string comparison_text(const ElementComparison& comparison) {
  std::string out =
      fmt::format("{} of {} elements are equal bit for bit", comparison.equal, comparison.elements);
  if (comparison.both_nan > 0) out += fmt::format(", {} NaN in both", comparison.both_nan);
  if (comparison.first_unequal < 0) return out;
  return out + fmt::format(
                   ", {} within 1 unit in the last place, {} further apart; at most {:.3g} "
                   "units; the first at element {}",
                   comparison.within_unit, comparison.different, comparison.largest_units,
                   comparison.first_unequal);
}

Json site_json(const ptx::Site& site) {
  Json json = {{"ptx_line", site.ptx_line}};
  if (site.tile_line > 0) {
    json["source_line"] = site.tile_line;
    json["source_file"] = site.tile_file;
  }
  json["block"] = site.block;
  json["thread"] = site.thread;
  return json;
}

Json finding_json(const ptx::Finding& finding) {
  Json json = {{"code", ptx::finding_rows()[static_cast<size_t>(finding.kind)].code},
               {"message", ptx::describe(finding)},
               {"kernel", finding.kernel},
               {"site", site_json(finding.site)},
               {"clash", finding.clash ? site_json(*finding.clash) : Json()},
               {"lanes", finding.count}};
  if (!finding.space.empty()) {
    json["space"] = finding.space;
    json["address"] = finding.address;
    json["bytes"] = finding.bytes;
  }
  if (!finding.detail.empty()) json["detail"] = finding.detail;
  return json;
}

Json argument_json(const EmulateArgument& argument, int64_t unwritten) {
  Json json = {{"name", argument.parameter.name},
               {"parameter", argument.parameter.type},
               {"word", argument.word}};
  if (argument.is_buffer()) {
    json["type"] = argument.buffer.type->name;
    json["shape"] = argument.buffer.shape;
    json["bytes"] = argument.buffer.bytes;
    json["unwritten_bytes"] = unwritten;
  }
  return json;
}

Json expectation_json(const Expectation& expectation) {
  const ElementComparison& c = expectation.comparison;
  return {{"argument", expectation.argument},
          {"file", expectation.file},
          {"held", expectation.held},
          {"elements", c.elements},
          {"equal", c.equal},
          {"both_nan", c.both_nan},
          {"within_unit", c.within_unit},
          {"different", c.different},
          {"largest_units", c.largest_units},  // infinite: null
          {"first_unequal", c.first_unequal < 0 ? Json() : Json(c.first_unequal)}};
}

Json counters_json(const EmulateReport& report) {
  const ptx::Counters& counters = report.run->result.counters;
  const std::string& source = report.module->program().source.text;
  return {{"blocks", counters.blocks},
          {"warps", counters.warps},
          {"total", counts_json(counters.total, false)},
          {"by_source_line", lines_json(counters.by_tile_line, "")},
          {"by_ptx_line", lines_json(counters.by_ptx_line, source)}};
}

bool has_source_lines(const ptx::Counters& counters) {
  for (const ptx::LineCounts& each : counters.by_tile_line)
    if (each.line > 0) return true;
  return false;
}

std::string counters_text(const EmulateReport& report) {
  const ptx::Counters& counters = report.run->result.counters;
  std::string out = counts_text(counters.total);
  if (has_source_lines(counters))
    out += lines_text("by source line (.loc)", counters.by_tile_line, "", kMostLines);
  return out + lines_text("by PTX line", counters.by_ptx_line, report.module->program().source.text,
                          kMostLines);
}

}  // namespace

std::string emulate_text(const EmulateReport& report) {
  const EmulateRun& run = *report.run;
  std::string out = line("device", run.device ? describe(*run.device) : "CPU, executing PTX");
  out += line("kernel",
              fmt::format("{}, grid {}, block {}, {} bytes of dynamic shared memory", report.entry,
                          fmt::join(report.command->grid, ","),
                          fmt::join(report.command->block, ","), report.command->shared_bytes));
  if (!run.device) {
    const size_t count = run.result.findings.size();
    out += line("findings", count == 0 ? "none" : fmt::format("{}", count));
  }
  for (const Expectation& each : report.expected)
    out += line("expected",
                fmt::format("{} {}: {}",
                            name_argument(each.argument, report.arguments[each.argument].parameter),
                            each.held ? "held" : "FAILED", comparison_text(each.comparison)));
  for (const EmulateOutput& each : report.outputs) {
    const EmulateArgument& argument = report.arguments[each.argument];
    std::string text = fmt::format("{}: {} of {} from {}", each.file, argument.buffer.type->name,
                                   shape_text(argument.buffer.shape),
                                   name_argument(each.argument, argument.parameter));
    if (run.unwritten[each.argument] > 0)
      text += fmt::format("; {} bytes of it were never written", run.unwritten[each.argument]);
    out += line("wrote", text);
  }
  if (report.command->counters) out += counters_text(report);
  return out;
}

std::string emulate_json(const EmulateReport& report) {
  const EmulateRun& run = *report.run;
  Json json = {{"schema", "tilec.emulate/1"},
               {"device", run.device ? "gpu" : "cpu"},
               {"file", report.module->program().source.name},
               {"entry", report.entry},
               {"grid", report.command->grid},
               {"block", report.command->block},
               {"dynamic_shared_bytes", report.command->shared_bytes}};
  if (run.device)
    json["device_info"] = {
        {"name", run.device->name}, {"target", run.device->target}, {"driver", run.device->driver}};
  Json arguments = Json::array();
  for (size_t i = 0; i < report.arguments.size(); ++i)
    arguments.push_back(argument_json(report.arguments[i], run.unwritten[i]));
  json["arguments"] = arguments;
  if (!run.device) {
    Json findings = Json::array();
    for (const ptx::Finding& finding : run.result.findings)
      findings.push_back(finding_json(finding));
    json["schedule"] = report.command->schedule ? Json(*report.command->schedule) : Json();
    json["checks"] = report.command->check_all ? "all" : "bounds";
    json["clean"] = run.result.clean();
    json["findings"] = findings;
  }
  Json expected = Json::array();
  for (const Expectation& each : report.expected) expected.push_back(expectation_json(each));
  json["expected"] = expected;
  Json outputs = Json::array();
  for (const EmulateOutput& each : report.outputs)
    outputs.push_back({{"argument", each.argument}, {"file", each.file}});
  json["outputs"] = outputs;
  if (report.command->counters) json["counters"] = counters_json(report);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilec
