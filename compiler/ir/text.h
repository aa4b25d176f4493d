// The text form of tile IR. `print` then `parse` is the identity; the grammar stands in kernel.h.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/kernel.h"
#include "dsl/error.h"

namespace tilec::ir {

/// One op a line, two spaces a level; the line of an op is what debug locations name.
std::string print(const Kernel& kernel);

/// The op's own line, without the blocks of a loop or branch.
std::string to_text(const Kernel& kernel, const Op& op);

/// Line, 1-based, on which the first op of a printed kernel stands.
int first_op_line(const Kernel& kernel);

/// Errors: user, with a span in `source`; code "tile-ir-syntax" or "tile-ir-name".
dsl::Result<Kernel> parse(const dsl::Source& source);

/// The same of a text that holds one kernel after the other, as `tilec compile --emit tile` prints
/// those of `split_k`; at least one.
dsl::Result<std::vector<Kernel>> parse_all(const dsl::Source& source);

}  // namespace tilec::ir
