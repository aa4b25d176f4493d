// `tilec explain`: the completed spec and what follows from it.
#include "dsl/explain.h"

#include "tools/commands.h"
#include "tools/devices.h"
#include "tools/files.h"
#include "tools/json.h"
#include "tools/read_specs.h"

namespace tilec {

dsl::Result<void> run(const ExplainCommand& command) {
  dsl::Result<std::vector<dsl::Spec>> specs = read_specs(command.choice, gpu_target());
  if (!specs) return tl::unexpected(std::move(specs.error()));
  if (command.json) {
    if (auto one = only_one(*specs, command.choice); !one) return tl::unexpected(one.error());
  }
  for (const dsl::Spec& spec : *specs) {
    const dsl::Limits& limits = target_of(spec).limits;
    dsl::Derived derived = dsl::derive(spec, limits);
    std::string text = command.json ? explain_json(spec, derived, limits, command.shape)
                                    : dsl::explain(spec, derived, limits, command.shape);
    if (&spec != &specs->front()) text = "\n" + text;
    if (auto written = write_output(text); !written) return written;
  }
  return {};
}

}  // namespace tilec
