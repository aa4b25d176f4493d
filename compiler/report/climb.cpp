#include "compiler/report/climb.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

std::string shape_text(const dsl::GemmShape& shape) {
  return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
}

std::string or_dash(const std::optional<double>& value, int digits, double factor = 1) {
  return value ? fmt::format("{:.{}f}", factor * *value, digits) : std::string("-");
}

using Cells = std::vector<std::string>;

// The one table that Markdown and page print.
Cells head_of(const Climb& climb) {
  Cells head = {"kernel",     "TFLOP/s",       "% of peak",         "FMA share %",
                "issue rate", "issue x FMA %", "sectors / request", "wavefronts / shared load",
                "registers",  "spilled bytes", "blocks / SM",       "warps / SM"};
  if (!climb.rungs.empty())
    for (const SizePoint& size : climb.rungs.front().sizes)
      head.push_back("% of peak at " + shape_text(size.shape));
  return head;
}

Cells cells_of(const Rung& rung) {
  const double product = rung.issue_rate().value_or(0) * rung.fma_share.value_or(0);
  Cells cells = {rung.name,
                 fmt::format("{:.2f}", rung.tflops),
                 fmt::format("{:.1f}", 100 * rung.share_of_peak),
                 or_dash(rung.fma_share, 1, 100),
                 or_dash(rung.issue_rate(), 3),
                 rung.fma_share ? fmt::format("{:.1f}", 100 * product) : std::string("-"),
                 or_dash(rung.sectors_per_request, 2),
                 or_dash(rung.wavefronts_per_shared_load, 2),
                 fmt::format("{}", rung.registers),
                 fmt::format("{}", rung.spills),
                 fmt::format("{}", rung.blocks_per_sm),
                 fmt::format("{}", rung.warps_per_sm)};
  for (const SizePoint& size : rung.sizes)
    cells.push_back(fmt::format("{:.1f}", 100 * size.share_of_peak));
  return cells;
}

std::string title_of(const Climb& climb) {
  const std::string at = climb.rungs.empty() ? "" : " at " + shape_text(climb.rungs.front().shape);
  return fmt::format("The climb{}, {}", at, climb.device);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

constexpr const char* kStyle = R"(
:root{--paper:#fbfaf7;--panel:#fff;--ink:#20262e;--soft:#667080;--line:#e3e1db;--accent:#1f6f8b}
@media(prefers-color-scheme:dark){:root{--paper:#14171b;--panel:#1b1f25;--ink:#e2e6ec;
--soft:#98a2b0;--line:#2e343d;--accent:#6fbcd6}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1400px;margin:0 auto;padding:28px clamp(16px,3vw,40px)}
h1{font-size:1.35rem;margin:0}p{color:var(--soft);max-width:72ch;font-size:.9rem}
.scroll{overflow-x:auto;background:var(--panel);border:1px solid var(--line);border-radius:12px;
padding:6px 16px}table{border-collapse:collapse;font-size:.86rem;width:100%}
th,td{text-align:right;padding:7px 0 7px 16px;border-bottom:1px solid var(--line);
font-variant-numeric:tabular-nums;vertical-align:bottom}th{font-weight:600;color:var(--soft)}
th:first-child,td:first-child{text-align:left;padding-left:0;position:sticky;left:0;
background:var(--panel)}tr:last-child td{border:0}
ul{list-style:none;padding:0;display:grid;grid-template-columns:max-content 1fr 4em;gap:6px 12px;
align-items:center;font-size:.9rem}li{display:contents}i{display:block;height:16px;
border-radius:3px;background:var(--accent);min-width:1px}b{font-weight:600;text-align:right}
details{font-size:.86rem;color:var(--soft);overflow-wrap:anywhere}
summary{min-height:32px;cursor:pointer})";

}  // namespace

std::optional<double> Rung::issue_rate() const {
  if (!fma_share || *fma_share <= 0) return std::nullopt;
  return share_of_peak / *fma_share;
}

std::string climb_markdown(const Climb& climb) {
  const Cells head = head_of(climb);
  std::string out = fmt::format("## {}\n\n{}\n\n|", title_of(climb), climb.note);
  for (const std::string& cell : head) out += fmt::format(" {} |", cell);
  out += "\n| --- |";
  for (size_t i = 1; i < head.size(); ++i) out += " ---: |";
  for (const Rung& rung : climb.rungs) {
    out += "\n|";
    for (const std::string& cell : cells_of(rung)) out += fmt::format(" {} |", cell);
  }
  return out + "\n";
}

std::string climb_json(const Climb& climb) {
  const auto value = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  Json rows = Json::array();
  for (const Rung& rung : climb.rungs) {
    Json sizes = Json::array();
    for (const SizePoint& size : rung.sizes)
      sizes.push_back({{"shape", shape_text(size.shape)}, {"share_of_peak", size.share_of_peak}});
    rows.push_back({{"name", rung.name},
                    {"spec", rung.spec},
                    {"shape", shape_text(rung.shape)},
                    {"measured", rung.measured},
                    {"kernel_us", rung.kernel_us},
                    {"tflops", rung.tflops},
                    {"clock_mhz", rung.clock_mhz},
                    {"share_of_peak", rung.share_of_peak},
                    {"executed_fma_share", value(rung.fma_share)},
                    {"issue_rate", value(rung.issue_rate())},
                    {"sectors_per_request", value(rung.sectors_per_request)},
                    {"wavefronts_per_shared_load", value(rung.wavefronts_per_shared_load)},
                    {"registers", rung.registers},
                    {"spills", rung.spills},
                    {"blocks_per_sm", rung.blocks_per_sm},
                    {"warps_per_sm", rung.warps_per_sm},
                    {"sizes", std::move(sizes)}});
  }
  const Json json = {{"schema", "tilec.climb/1"},
                     {"device", climb.device},
                     {"note", climb.note},
                     {"rungs", std::move(rows)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string climb_html(const Climb& climb) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" "
      "href=\"data:,\"><title>{0}"
      "</title><style>{1}</style></head><body><main><h1>{0}</h1><p>{2}</p><ul>",
      escaped(title_of(climb)), kStyle, escaped(climb.note));
  for (const Rung& rung : climb.rungs)
    out += fmt::format("<li><span>{}</span><i style=\"width:{:.1f}%\"></i><b>{:.1f} %</b></li>\n",
                       escaped(rung.name), 100 * rung.share_of_peak, 100 * rung.share_of_peak);
  out +=
      "</ul><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><tr>";
  for (const std::string& cell : head_of(climb))
    out += fmt::format("<th scope=\"col\">{}</th>", escaped(cell));
  for (const Rung& rung : climb.rungs) {
    out += "</tr>\n<tr>";
    for (const std::string& cell : cells_of(rung)) out += fmt::format("<td>{}</td>", escaped(cell));
  }
  out += "</tr></table></div><details><summary>The specs</summary>";
  for (const Rung& rung : climb.rungs)
    out += fmt::format("<p>{}: <code>{}</code></p>", escaped(rung.name), escaped(rung.spec));
  return out + "</details></main></body></html>\n";
}

}  // namespace tilec
