// The JSON of commands whose results are made here; runtime and report print their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "dsl/derive.h"
#include "dsl/shape.h"
#include "tools/files.h"

namespace tilec {

/// Schema "tilec.compile/1". `stages`: the text of each file if `embed`, else its name.
std::string compile_json(const Artifact& artifact, const std::vector<OutputFile>& files,
                         bool embed);

/// Schema "tilec.explain/1": the spec and what follows from it; with a shape also the grid.
std::string explain_json(const dsl::Spec& spec, const dsl::Derived& derived,
                         const dsl::Limits& limits, std::optional<dsl::GemmShape> shape);

}  // namespace tilec
