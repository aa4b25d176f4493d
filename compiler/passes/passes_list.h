// The passes by name, in the order of the pipeline; each is defined in the file of its name.
#pragma once

#include "compiler/ir/kernel.h"

namespace tilec::passes {

ir::Kernel split_edges(const ir::Kernel& kernel);
ir::Kernel lower_copies(const ir::Kernel& kernel);
ir::Kernel pipeline_slices(const ir::Kernel& kernel);
ir::Kernel split_epilogue(const ir::Kernel& kernel);
ir::Kernel unroll_slices(const ir::Kernel& kernel);
ir::Kernel lead_fragments(const ir::Kernel& kernel);
ir::Kernel insert_barriers(const ir::Kernel& kernel);

}  // namespace tilec::passes
