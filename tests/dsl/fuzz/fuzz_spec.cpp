// Any bytes as a spec, a space and a shape. What is accepted must print and parse back.
#include <cstdlib>

#include "compiler/target.h"
#include "dsl/complete.h"
#include "dsl/explain.h"
#include "dsl/format.h"
#include "dsl/parser.h"
#include "dsl/shape.h"
#include "dsl/space.h"

using namespace tilec;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<dsl::Limits> limits = [] {
    std::vector<dsl::Limits> out;
    for (const Target& target : targets()) out.push_back(target.limits);
    return out;
  }();
  std::string text(reinterpret_cast<const char*>(data), size);
  if (auto shape = dsl::parse_shape(text); !shape) require(!dsl::render(shape.error()).empty());
  if (auto asts = dsl::parse({"<fuzz>", text})) {
    for (const dsl::SpecAst& ast : *asts) (void)dsl::expand(ast, 100);
  }
  auto specs = dsl::read_specs({"<fuzz>", text}, limits, "sm_90a");
  if (!specs) {
    require(!specs.error().diagnostics.empty());
    require(!dsl::render(specs.error()).empty());
    return 0;
  }
  for (const dsl::Spec& spec : *specs) {
    auto again = dsl::read_specs({"<again>", dsl::format(spec)}, limits, "sm_90a");
    require(again && again->front() == spec);
    const dsl::Limits& target = *dsl::find_limits(limits, spec.target);
    require(!dsl::explain(spec, dsl::derive(spec, target), target).empty());
  }
  return 0;
}
