// The stage behind the assembler: its steady loops, written anew.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/sass/loop/order_loop.h"
#include "compiler/sass/replace_code.h"
#include "compiler/sass/verify_edit.h"

namespace tilec::sass {

struct RewriteOptions {
  OrderRules order;
  int max_registers = 255;  // a thread may have, as the cubin records them
  std::string kernel;       // whose loop, of a cubin with several; empty: the first's
};

/// A kernel with its largest steady loop rewritten.
struct Rewritten {
  Code code;
  LoopEdit edit;  // words, in the kernel and in `code`
};

/// Called after each pass with its name and the loop as it stands.
using AfterPass = std::function<void(const char* pass, const Body& body)>;

/// Errors: why the kernel is better left as the assembler made it, one plain line.
OrWhyNot<Rewritten> rewrite_loop(const Kernel& kernel, int sm, const RewriteOptions& options,
                                 const AfterPass& after = {});

}  // namespace tilec::sass
