#include "tools/json.h"

#include <nlohmann/json.hpp>

#include "dsl/format.h"

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

std::string check_json(const Artifact& artifact, const std::vector<BudgetOutcome>& outcomes) {
  Json json = head("tilec.check/1", artifact);
  bool passed = true;
  Json rows = Json::array();
  for (const BudgetOutcome& outcome : outcomes) {
    passed = passed && outcome.held;
    rows.push_back({{"budget", outcome.budget.text},
                    {"name", outcome.budget.name},
                    {"value", outcome.value},  // NaN becomes null
                    {"held", outcome.held}});
  }
  json["passed"] = passed;
  json["budgets"] = rows;
  return text(json);
}

}  // namespace tilec
