// The whole stage: a cubin in, the same cubin with its steady loop rewritten out.
#pragma once

#include "compiler/sass/loop/rewrite_loop.h"

namespace tilec::sass {

struct RewrittenCubin {
  std::vector<uint8_t> file;
  int registers = 0;  // per thread, as recorded now
};

/// Called at the end of each part with its name: "rewrite_loop", "verify_edit", "replace_code".
using AfterPart = std::function<void(const char* part)>;

/// Rewrites the steady loop of the kernel that `options` name, proves it and writes it back.
/// Errors: why the cubin is left as it is, one plain line.
OrWhyNot<RewrittenCubin> rewrite_cubin(std::span<const uint8_t> file, const RewriteOptions& options,
                                       const AfterPass& after = {},
                                       const AfterPart& after_part = {});

}  // namespace tilec::sass
