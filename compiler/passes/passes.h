// The passes over tile IR. Each is a file, a pure function Kernel -> Kernel, and one word that
// names file, function, dump label and golden folder.
#pragma once

#include <span>
#include <string_view>

#include "compiler/ir/kernel.h"

namespace tilec::passes {

using Pass = ir::Kernel (*)(const ir::Kernel&);

struct PassInfo {
  std::string_view name;     // "split_copies"
  std::string_view summary;  // one line for --help
  Pass run;
};

/// All passes in the order in which compile() runs them.
std::span<const PassInfo> all();

/// Null if no pass has this name.
const PassInfo* find(std::string_view name);

}  // namespace tilec::passes
