#include "tools/json.h"

#include <nlohmann/json.hpp>

#include "dsl/format.h"
#include "runtime/problem.h"

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

Json assembler_json(const Artifact& artifact) {
  const AssemblerReport& report = artifact.assembler;
  if (artifact.cubin.empty()) return {};
  return {{"tool", report.tool},
          {"version", report.version},
          {"registers", report.registers},
          {"spill_store_bytes", report.spill_store_bytes},
          {"spill_load_bytes", report.spill_load_bytes},
          {"stack_bytes", report.stack_bytes}};
}

Json head(const char* schema, const Artifact& artifact) {
  return {{"schema", schema},
          {"kernel", artifact.spec.name},
          {"spec", dsl::format(artifact.spec)},
          {"target", artifact.spec.target}};
}

// Two blanks of indent; a line end after the last brace.
std::string text(const Json& json) {
  return json.dump(2) + "\n";
}

}  // namespace

std::string compile_json(const Artifact& artifact, const std::vector<OutputFile>& files,
                         bool embed) {
  Json json = head("tilec.compile/1", artifact);
  Json stages = Json::object();
  for (const OutputFile& file : files) {
    std::string stage = file.name.substr(artifact.spec.name.size() + 1);
    stages[stage] = embed ? file.bytes : file.name;
  }
  json["stages"] = stages;
  json["assembler"] = assembler_json(artifact);
  Json times = Json::array();
  for (const StageTime& time : artifact.times) {
    times.push_back({{"stage", time.stage}, {"ms", time.ms}});
  }
  json["times"] = times;
  return text(json);
}

std::string explain_json(const dsl::Spec& spec, const dsl::Derived& derived,
                         const dsl::Limits& limits, std::optional<dsl::GemmShape> shape) {
  dsl::Residency fit = dsl::residency(derived, spec, limits);
  Json json = {{"schema", "tilec.explain/1"},
               {"kernel", spec.name},
               {"spec", dsl::format(spec)},
               {"target", spec.target},
               {"threads", derived.threads},
               {"warps", derived.warps},
               {"lanes", {{"m", spec.lane_grid.m}, {"n", spec.lane_grid.n}}},
               {"registers_expected", derived.registers_expected},
               {"shared_bytes", derived.shared_bytes},
               {"blocks_per_sm",
                {{"blocks", fit.blocks()},
                 {"by_threads", fit.by_threads},
                 {"by_registers", fit.by_registers},
                 {"by_shared", fit.by_shared},
                 {"by_limit", fit.by_limit}}},
               {"vector",
                {{"copy_a", derived.copy_a.vector},
                 {"copy_b", derived.copy_b.vector},
                 {"c", derived.vector_c},
                 {"fragment_a", derived.fragment_vector_a},
                 {"fragment_b", derived.fragment_vector_b}}},
               {"ideal_share", derived.ideal_share}};
  if (shape) {
    dsl::Result<int64_t> blocks = dsl::grid_blocks(spec, *shape);
    json["shape"] = to_string(*shape);
    json["blocks"] = blocks ? Json(*blocks * spec.split_k) : Json();
    json["slices"] = dsl::slices_a_block(spec, *shape);
    // What stream_k wants depends on the device.
    json["workspace_bytes"] = spec.stream_k ? Json() : Json(dsl::workspace_bytes(spec, *shape));
  }
  return text(json);
}

}  // namespace tilec
