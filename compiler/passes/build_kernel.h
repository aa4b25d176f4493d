// The first tile IR of a spec: the textbook loop, with every access guarded and nothing overlapped.
// All later passes keep what it computes and change when and how.
#pragma once

#include "compiler/ir/kernel.h"
#include "dsl/derive.h"

namespace tilec::passes {

/// A verified kernel that is not yet synchronised.
ir::Kernel build_kernel(const dsl::Spec& spec, const dsl::Derived& derived,
                        dsl::Batch batch = dsl::Batch::none);

/// Of a spec with `split_k`: the kernel that adds up the parts, always in the same order, and
/// applies the epilogue. Its name is the spec's with `_sum`.
ir::Kernel build_sum(const dsl::Spec& spec, const dsl::Derived& derived,
                     dsl::Batch batch = dsl::Batch::none);

}  // namespace tilec::passes
