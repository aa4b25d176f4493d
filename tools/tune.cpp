// `tilec tune`: searches a space at each shape, and keeps what it finds in a file.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "dsl/parser.h"
#include "runtime/try.h"
#include "runtime/tuned.h"
#include "tools/choice/choose.h"
#include "tools/choice/embedded.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/read_specs.h"
#include "tools/tune_search.h"
#include "tools/tune_worker.h"

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

dsl::Result<TuningFile> open_saying(const std::string& path) {
  std::string said;
  dsl::Result<TuningFile> file = TuningFile::open(path, &said);
  if (!said.empty()) fmt::print(stderr, "{}\n", said);
  return file;
}

dsl::Result<void> merge(TuningFile& into, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (auto there = read_file(path, SIZE_MAX); !there)
      return tl::unexpected(std::move(there.error()));
    dsl::Result<TuningFile> from = open_saying(path);
    if (!from) return tl::unexpected(std::move(from.error()));
    dsl::Result<std::vector<TuningRow>> rows = from->all();
    if (!rows) return tl::unexpected(std::move(rows.error()));
    for (const TuningRow& row : *rows) TILEC_TRY(into.put(row));
    fmt::print(stderr, "{} results of {}\n", rows->size(), path);
  }
  return {};
}

// The fastest of every device, shape, layout and batch.
dsl::Result<void> export_best(const TuningFile& file, const std::string& path) {
  dsl::Result<std::vector<TuningRow>> rows = file.all();
  if (!rows) return tl::unexpected(std::move(rows.error()));
  std::map<std::string, TuningRow> best;
  for (const TuningRow& row : *rows) {
    if (row.status != "ok") continue;
    const TuningKey& k = row.key;
    const std::string of =
        fmt::format("{};{:010};{:010};{:010};{};{}", k.device, k.m, k.n, k.k, k.layout, k.batch);
    const auto found = best.find(of);
    if (found == best.end() || row.us < found->second.us) best[of] = row;
  }
  std::string text;
  for (const auto& [of, row] : best) text += table_line(row);
  if (path == "-") return write_output(text);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  return write_files(folder, {{path.substr(slash == std::string::npos ? 0 : slash + 1), text}});
}

dsl::Result<std::vector<dsl::SpecAst>> space_of(const SpecChoice& choice) {
  if (choice.spec.empty()) return dsl::parse({"<candidates>", kCandidatesText});
  dsl::Result<dsl::Source> source = read_source(choice.spec);
  if (!source) return tl::unexpected(std::move(source.error()));
  dsl::Result<std::vector<dsl::SpecAst>> asts = dsl::parse(*source);
  if (!asts || choice.kernel.empty()) return asts;
  std::erase_if(*asts, [&](const dsl::SpecAst& ast) { return ast.name != choice.kernel; });
  if (!asts->empty()) return asts;
  return tl::unexpected(dsl::Error::user(
      "no-such-kernel", fmt::format("{} has no kernel {}", source->name, choice.kernel)));
}

Json json_of(const SearchResult& result) {
  Json rows = Json::array();
  for (const TuningRow& row : result.rows)
    rows.push_back({{"spec", row.spec},
                    {"us", row.us},
                    {"clock_mhz", row.clock_mhz},
                    {"measured", row.measured}});
  return {{"shape", to_string(result.problem.shape)},
          {"batch", result.problem.batch},
          {"members", result.members},
          {"refused", result.refused},
          {"candidates", result.candidates},
          {"known", result.known},
          {"run", result.run},
          {"failed", result.failed},
          {"stopped", result.stopped},
          {"rows", rows}};
}

std::string text_of(const SearchResult& result, bool timed) {
  constexpr size_t kShown = 5;
  std::string out = fmt::format(
      "{}: {} members, {} refused by the rules; {} candidates: {} known, {} run, {} of them "
      "failed\n",
      to_string(result.problem.shape), result.members, result.refused, result.candidates,
      result.known, result.run, result.failed);
  for (size_t i = 0; i < std::min(kShown, result.rows.size()); ++i)
    out += fmt::format("  {:>10.4g} {}  {}\n", result.rows[i].us,
                       timed ? "us" : "thousand warp instructions", result.rows[i].spec);
  return out;
}

dsl::Result<void> tune_all(const TuneCommand& command, TuningFile& file) {
  dsl::Result<std::vector<dsl::SpecAst>> space = space_of(command.choice);
  if (!space) return tl::unexpected(std::move(space.error()));
  dsl::Result<DeviceInfo> device = ask_device(command.device);
  if (!device) return tl::unexpected(std::move(device.error()));
  const bool gpu = device->kind == DeviceKind::gpu;
  const std::string version = tool_versions(gpu);
  const SearchOptions options{.device = gpu ? "gpu" : "cpu",
                              .most = command.most,
                              .shard = command.shard,
                              .shards = command.shards,
                              .again = command.again,
                              .seconds = command.seconds};
  Json results = Json::array();
  bool stopped = false;
  for (const dsl::GemmShape& shape : command.shapes) {
    dsl::Result<GemmProblem> problem = complete({.shape = shape,
                                                 .layout = command.layout,
                                                 .batch = command.batch,
                                                 .batched = command.batched});
    if (!problem) return tl::unexpected(std::move(problem.error()));
    dsl::Result<SearchResult> found = search(*space, *problem, *device, version, file, options);
    if (!found) return tl::unexpected(std::move(found.error()));
    results.push_back(json_of(*found));
    if (!command.json) TILEC_TRY(write_output(text_of(*found, gpu)));
    stopped = found->stopped;
    if (stopped) break;
  }
  if (command.json)
    TILEC_TRY(write_output(Json({{"schema", "tilec.tune/1"},
                                 {"device", device->name},
                                 {"driver", device->driver},
                                 {"version", version},
                                 {"shapes", results}})
                               .dump(2, ' ', false, Json::error_handler_t::replace) +
                           "\n"));
  if (!stopped) return {};
  return tl::unexpected(dsl::Error::user("interrupted", "stopped; what was done is kept",
                                         "the same command goes on from here"));
}

}  // namespace

dsl::Result<void> run(const TuneCommand& command) {
  static_cast<void>(is_interrupted());  // from here on Ctrl-C is noted
  const std::string path = command.file.empty() ? usual_tuning_file() : command.file;
  if (path.empty())
    return tl::unexpected(dsl::Error::user(
        "no-tuning-file", "there is no cache folder to keep a file", "name one with --file"));
  dsl::Result<TuningFile> file = open_saying(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  TILEC_TRY(merge(*file, command.merged));
  if (!command.shapes.empty()) TILEC_TRY(tune_all(command, *file));
  if (!command.exported.empty()) return export_best(*file, command.exported);
  return {};
}

}  // namespace tilec
