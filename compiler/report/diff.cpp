#include "compiler/report/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSame = 0.05;  // points of a loss, and relative to a figure in `differs`

// The words that begin a clause of a completed spec.
constexpr std::array<std::string_view, 19> kClauses = {
    "tile",   "warp",     "thread", "mma",       "stages",        "copy",   "vector",
    "lanes",  "fragment", "shared", "registers", "blocks_per_sm", "raster", "type",
    "layout", "epilogue", "edges",  "sass",      "target"};

std::string spec_of(const Json& json) {
  if (json.contains("spec") && json["spec"].is_string()) return json["spec"];
  if (json.contains("provenance")) return json["provenance"].value("spec", "");
  return "";
}

using Clauses = std::vector<std::pair<std::string, std::string>>;

// `vector global 4 shared 4` holds a clause's name as a word of its own.
Clauses clauses_of(const std::string& spec) {
  Clauses out;
  std::istringstream words(spec);
  for (std::string word; words >> word;) {
    const bool within = word == "shared" && !out.empty() && out.back().first == "vector" &&
                        out.back().second.find("shared") == std::string::npos;
    if (std::ranges::find(kClauses, word) != kClauses.end() && !within) {
      out.emplace_back(word, "");
    } else if (!out.empty() && word != "}") {
      out.back().second += (out.back().second.empty() ? "" : " ") + word;
    }
  }
  return out;
}

std::string words_of(const Clauses& clauses, const std::string& name) {
  const auto found = std::ranges::find(clauses, name, &Clauses::value_type::first);
  return found == clauses.end() ? "" : found->second;
}

std::vector<ClauseChange> changed_clauses(const Clauses& before, const Clauses& after) {
  std::vector<ClauseChange> out;
  for (const std::string_view name : kClauses) {
    ClauseChange change{std::string(name), words_of(before, std::string(name)),
                        words_of(after, std::string(name))};
    if (change.before != change.after) out.push_back(std::move(change));
  }
  return out;
}

// Numbers by path, arrays left out: lines and gaps are no figures.
void flatten(const Json& json, const std::string& path,
             std::vector<std::pair<std::string, double>>& out) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (value.is_number()) out.emplace_back(name, value.get<double>());
    if (value.is_object() && key != "shape" && key != "device_info") flatten(value, name, out);
  }
}

using Numbers = std::vector<std::pair<std::string, double>>;

std::optional<double> at(const Numbers& numbers, const std::string& name) {
  const auto found = std::ranges::find(numbers, name, &Numbers::value_type::first);
  if (found == numbers.end()) return std::nullopt;
  return found->second;
}

std::vector<FigureChange> changed(const Numbers& before, const Numbers& after) {
  std::vector<FigureChange> out;
  for (const auto& [name, value] : before) {
    const std::optional<double> other = at(after, name);
    if (!other || *other != value) out.push_back({name, value, other});
  }
  for (const auto& [name, value] : after)
    if (!at(before, name)) out.push_back({name, std::nullopt, value});
  return out;
}

Numbers losses_of(const Json& json) {
  Numbers out;
  if (!json.contains("loss_table")) return out;
  for (const Json& row : json["loss_table"])
    out.emplace_back(row.value("loss", ""), row.value("points", 0.0));
  return out;
}

std::string quoted_changes(const std::vector<ClauseChange>& clauses) {
  std::string out;
  for (const ClauseChange& change : clauses) {
    if (!out.empty()) out += ", ";
    if (change.before.empty()) {
      out += fmt::format("`{} {}` is new", change.clause, change.after);
    } else if (change.after.empty()) {
      out += fmt::format("`{} {}` is gone", change.clause, change.before);
    } else {
      out += fmt::format("`{}` from {} to {}", change.clause, change.before, change.after);
    }
  }
  return out;
}

std::string spoken(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

// What B gains or loses over A, what that comes from, and which clauses were changed.
std::string cause_of(const Diff& diff, const Json& before, const Json& after) {
  std::string out;
  const auto share = [](const Json& json) -> std::optional<double> {
    if (json.contains("time") && json["time"].is_object() &&
        json["time"].value("share_of_peak", 0.0) > 0)
      return 100 * json["time"]["share_of_peak"].get<double>();
    if (!json.contains("predicted_share_of_peak")) return std::nullopt;
    return 100 * json["predicted_share_of_peak"].get<double>();
  };
  const std::optional<double> a = share(before);
  const std::optional<double> b = share(after);
  if (a && b) {
    const bool measured = before.contains("time") && after.contains("time");
    out = fmt::format("B has {:.1f} % of peak, A {:.1f} % ({}): {:+.1f} points.", *b, *a,
                      measured ? "measured" : "predicted", *b - *a);
  }
  if (!diff.losses.empty()) {
    out += out.empty() ? "" : " ";
    const auto& most = diff.losses.front();
    const double change = most.after.value_or(0) - most.before.value_or(0);
    out +=
        fmt::format("Most of it is {}: {:.1f} points lost in A, {:.1f} in B ({:+.1f}).",
                    spoken(most.figure), most.before.value_or(0), most.after.value_or(0), -change);
  }
  const std::string clauses = quoted_changes(diff.clauses);
  if (!out.empty()) out += " ";
  return out + (clauses.empty() ? "The specs are the same." : "Changed: " + clauses + ".");
}

dsl::Result<Json> parsed(std::string_view text, char side) {
  Json json = Json::parse(text, nullptr, false);
  const bool fits = json.is_object() && json.contains("schema") && json["schema"].is_string() &&
                    (json["schema"] == "tilec.report/1" || json["schema"] == "tilec.run/1");
  if (fits) return json;
  dsl::Error error = dsl::Error::user(
      "not-a-report", fmt::format("{} is no JSON of `tilec report` or `tilec run`", side));
  error.diagnostics.back().help = "write one with `tilec report SPEC --json`";
  return tl::unexpected(std::move(error));
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

}  // namespace

dsl::Result<Diff> diff_reports(std::string_view before, std::string_view after) {
  const dsl::Result<Json> a = parsed(before, 'A');
  if (!a) return tl::unexpected(a.error());
  const dsl::Result<Json> b = parsed(after, 'B');
  if (!b) return tl::unexpected(b.error());
  Diff diff;
  diff.clauses = changed_clauses(clauses_of(spec_of(*a)), clauses_of(spec_of(*b)));
  for (FigureChange& change : changed(losses_of(*a), losses_of(*b)))
    if (std::abs(change.after.value_or(0) - change.before.value_or(0)) >= kSame)
      diff.losses.push_back(std::move(change));
  std::ranges::sort(diff.losses, {}, [](const FigureChange& change) {
    return std::pair(-std::abs(change.after.value_or(0) - change.before.value_or(0)),
                     change.figure);
  });
  Numbers numbers_a, numbers_b;
  flatten(*a, "", numbers_a);
  flatten(*b, "", numbers_b);
  diff.figures = changed(numbers_a, numbers_b);
  diff.cause = cause_of(diff, *a, *b);
  return diff;
}

std::string diff_text(const Diff& diff) {
  std::string out = diff.cause + "\n";
  if (!diff.losses.empty()) {
    out += fmt::format("\nPoints of peak lost   {:>8} {:>8} {:>8}\n\n", "A", "B", "gain");
    for (const FigureChange& loss : diff.losses)
      out += fmt::format("  {:<19} {:>8.1f} {:>8.1f} {:>+8.1f}\n", spoken(loss.figure),
                         loss.before.value_or(0), loss.after.value_or(0),
                         loss.before.value_or(0) - loss.after.value_or(0));
  }
  if (diff.figures.empty()) return out + "\nNo figure differs.\n";
  out += fmt::format("\n{:<44} {:>12} {:>12}\n\n", "Figures that differ", "A", "B");
  for (const FigureChange& figure : diff.figures)
    out += fmt::format("  {:<42} {:>12} {:>12}\n", figure.figure, number(figure.before),
                       number(figure.after));
  return out;
}

std::string diff_json(const Diff& diff) {
  const auto value = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  const auto changes = [&](const std::vector<FigureChange>& rows) {
    Json out = Json::array();
    for (const FigureChange& row : rows)
      out.push_back({{"figure", row.figure}, {"a", value(row.before)}, {"b", value(row.after)}});
    return out;
  };
  Json clauses = Json::array();
  for (const ClauseChange& change : diff.clauses)
    clauses.push_back({{"clause", change.clause}, {"a", change.before}, {"b", change.after}});
  const Json json = {{"schema", "tilec.diff/1"},
                     {"cause", diff.cause},
                     {"spec", std::move(clauses)},
                     {"losses", changes(diff.losses)},
                     {"figures", changes(diff.figures)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilec
