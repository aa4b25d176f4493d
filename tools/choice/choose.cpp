#include "tools/choice/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "compiler/compile.h"
#include "compiler/target.h"
#include "dsl/complete.h"
#include "dsl/words.h"
#include "tools/choice/candidates.h"
#include "tools/choice/embedded.h"

namespace tilec {
namespace {

constexpr int kWidestVector = 4;

std::string layout_word(const GemmProblem& problem) {
  return std::string(dsl::word_for(dsl::kLayoutWords, problem.layout));
}

// A spec that was completed before; none if this tilec would not take it.
std::optional<dsl::Spec> spec_of(const std::string& text, const GemmProblem& problem) {
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  dsl::Result<std::vector<dsl::Spec>> specs = dsl::read_specs({"<tuned>", text}, limits, "sm_90a");
  if (!specs || specs->size() != 1 || specs->front().layout != problem.layout) return std::nullopt;
  return specs->front();
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  const size_t last = text.find_last_not_of(" \r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// The row of the table that comes with tilec.
std::optional<Choice> from_table(const DeviceInfo& device, const GemmProblem& problem) {
  const std::string wanted = fmt::format("{}; {}; {}; {};", device.name, to_string(problem.shape),
                                         layout_word(problem), problem.batch);
  std::istringstream lines(kTunedText);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(wanted)) continue;
    const size_t time = line.find(';', wanted.size());
    if (time == std::string::npos) continue;
    const std::string us = trimmed(line.substr(wanted.size(), time - wanted.size()));
    std::optional<dsl::Spec> spec = spec_of(trimmed(line.substr(time + 1)), problem);
    if (!spec) continue;
    return Choice{
        .spec = narrowed(*spec, problem),
        .why = fmt::format("tuned on {}: {} us, the fastest known there", device.name, us)};
  }
  return std::nullopt;
}

std::optional<Choice> from_file(const TuningKey& key, const std::string& path,
                                const GemmProblem& problem, std::vector<std::string>& notes) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return std::nullopt;
  std::string said;
  const Result<TuningFile> file = TuningFile::open(path, &said);
  if (!said.empty()) notes.push_back(said);
  if (!file) {
    notes.push_back(file.error().diagnostics.front().message + "; not used");
    return std::nullopt;
  }
  const Result<std::optional<TuningRow>> best = file->best(key);
  if (best && *best)
    if (std::optional<dsl::Spec> spec = spec_of((*best)->spec, problem))
      return Choice{
          .spec = std::move(*spec),
          .why = fmt::format("tuned here on {}: {:.4g} {}, in {}", (*best)->measured, (*best)->us,
                             key.driver.empty() ? "thousand warp instructions" : "us", path)};
  const Result<std::vector<std::string>> others = file->others(key);
  if (others && !others->empty())
    notes.push_back(fmt::format("{} has results of this shape from elsewhere, not used: {}", path,
                                fmt::join(*others, "; ")));
  return std::nullopt;
}

}  // namespace

TuningKey tuning_key(const DeviceInfo& device, const std::string& version,
                     const GemmProblem& problem) {
  const auto aligned = [&](Operand operand) {
    return allowed_vector(stored(problem, operand), kWidestVector);
  };
  return {.device = device.name,
          .driver = device.driver,
          .version = version,
          .m = problem.shape.m,
          .n = problem.shape.n,
          .k = problem.shape.k,
          .batch = problem.batch,
          .layout = layout_word(problem),
          .alignment = fmt::format("{},{},{}", aligned(Operand::a), aligned(Operand::b),
                                   aligned(Operand::c))};
}

dsl::Result<Choice> choose(const DeviceInfo& device, const std::string& target,
                           const std::string& version, const GemmProblem& problem,
                           const std::string& file) {
  std::vector<std::string> notes;
  std::optional<Choice> found =
      from_file(tuning_key(device, version, problem), file, problem, notes);
  if (!found) found = from_table(device, problem);
  if (!found) {
    dsl::Result<Candidates> ranked =
        find_candidates(kKernelsText, problem, target, rates_of(device), 1);
    if (!ranked) return tl::unexpected(std::move(ranked.error()));
    found = Choice{.spec = ranked->list.front().spec,
                   .why = fmt::format("the model's choice of {} kernels; nothing was tuned for {} "
                                      "on {}",
                                      ranked->members - ranked->refused, to_string(problem.shape),
                                      device.name)};
  }
  found->notes = std::move(notes);
  return *found;
}

std::string tool_versions(bool assembles) {
  std::string out = "tilec " TILEC_VERSION;
  if (!assembles) return out;
  const Target& target = *find_target("sm_90a");
  const dsl::Result<std::vector<dsl::Spec>> smallest =
      dsl::read_specs({"<smallest>", "tile 1x1x1"}, {&target.limits, 1}, target.limits.target);
  const dsl::Result<Artifact> made = compile(smallest->front(), target, {});
  if (!made || made->cubin.empty()) return out + ", the driver's assembler";
  return out + fmt::format(", {} {}", made->assembler.tool, made->assembler.version);
}

std::string usual_tuning_file() {
  if (const char* file = std::getenv("TILEC_TUNING")) return file;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::string(cache) + "/tilec/tuned.db";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string(home) + "/.cache/tilec/tuned.db";
  return "";
}

std::string table_line(const TuningRow& row) {
  return fmt::format("{}; {}x{}x{}; {}; {}; {:.4g}; {}\n", row.key.device, row.key.m, row.key.n,
                     row.key.k, row.key.layout, row.key.batch, row.us, row.spec);
}

}  // namespace tilec
