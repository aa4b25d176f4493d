// From a space to the kernels worth trying at a shape: expanded, completed, cut by the model.
#pragma once

#include <string>
#include <vector>

#include "dsl/ast.h"
#include "dsl/error.h"
#include "dsl/spec.h"
#include "runtime/device.h"
#include "runtime/predict.h"
#include "runtime/problem.h"

namespace tilec {

struct Candidate {
  dsl::Spec spec;  // with vectors as wide as the problem's operands allow
  Prediction prediction;
};

struct Candidates {
  std::vector<Candidate> list;  // most promising first, no two alike
  int64_t members = 0;          // of the space
  int64_t refused = 0;          // by the rules of the language
};

/// The rates of `device` for the model; those of an H200 on the CPU.
MachineRates rates_of(const DeviceInfo& device);

/// Members of `space` that are legal for the problem, at most `most`. The problem's layout counts
/// where the space says none, and `target` where it names none.
/// Errors: those of dsl::expand; user, "empty-space", which says the rules that emptied it.
dsl::Result<Candidates> find_candidates(const std::vector<dsl::SpecAst>& space,
                                        const GemmProblem& problem, const std::string& target,
                                        const MachineRates& machine, size_t most);

/// The same of a text, such as those of tools/choice/embedded.h.
dsl::Result<Candidates> find_candidates(const std::string& text, const GemmProblem& problem,
                                        const std::string& target, const MachineRates& machine,
                                        size_t most);

}  // namespace tilec
