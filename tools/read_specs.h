// From SPEC on the command line to completed specs.
#pragma once

#include <string>
#include <vector>

#include "compiler/target.h"
#include "dsl/complete.h"
#include "dsl/error.h"
#include "tools/commands.h"

namespace tilec {

/// The text that an argument stands for: standard input for "-", a file's contents where there is
/// such a file or the word looks like a file's name, else the argument itself.
/// Errors: user, missing-file, unreadable-file, source-too-large.
dsl::Result<dsl::Source> read_source(const std::string& argument);

/// The kernels of `choice`, in the file's order; at least one. `--target` counts more than a spec's
/// own `target`, and `device_target` (of the device at hand; empty: none) less.
/// Errors: those of read_source and of dsl::complete, all kernels' together; no-such-kernel.
dsl::Result<std::vector<dsl::Spec>> read_specs(const SpecChoice& choice,
                                               const std::string& device_target);

/// The only one, where several make no sense. Errors: several-kernels, naming them.
dsl::Result<dsl::Spec> only_one(std::vector<dsl::Spec> specs, const SpecChoice& choice);

/// The row of a completed spec's target.
const Target& target_of(const dsl::Spec& spec);

/// Limits of all targets, as dsl::complete wants them.
std::vector<dsl::Limits> all_limits();

}  // namespace tilec
