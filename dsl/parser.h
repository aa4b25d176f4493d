// From text to ASTs.
//
//   file      = clause*  |  kernel+
//   kernel    = "kernel" NAME "{" clause* "}"
//   clause    = "tile" extents | "warp" extents | "thread" extents | "mma" extents
//             | "stages" slot | "blocks_per_sm" slot | "registers" slot | "split_k" slot
//             | "copy" slot | "fragment" slot | "layout" slot | "edges" slot | "target" slot
//             | "type" slot | "accumulate" slot | "output" slot | "sass" slot
//             | "vector" (bound | "global" bound ["shared" bound] | "shared" bound ["global"
//             bound]) | "lanes" (order [extents] | extents [order]) | "shared" [operand] form+
//             (operand form+)* | "raster" ("rows" | "columns" | "swizzle" slot) | "cluster" extents
//             | "roles" "producer" slot "consumer" slot | "stream_k" | "persistent" |
//             "staged_store" | "epilogue" expression
//   extents   = slot "x" slot ["x" slot]
//   bound     = ["at_most"] slot
//   order     = "rows" | "columns" | "interleaved"
//   operand   = "a" | "b"
//   form      = "plain" | "transposed" | "padded" slot | "swizzled"
//   slot      = atom | "{" item ("," item)* "}"              the latter in spaces only
//   item      = atom | NUMBER ".." NUMBER
//   atom      = NUMBER | WORD
//   expression = product (("+" | "-") product)*
//   product   = unary ("*" unary)*
//   unary     = "-" unary | NUMBER | name | "(" expression ")" | activation "(" expression ")"
//
// Comments run from `#` to the end of the line. A clause stands at most once in a list.
#pragma once

#include <vector>

#include "dsl/ast.h"
#include "dsl/error.h"

namespace tilec::dsl {

inline constexpr size_t kMostSourceBytes = 1 << 20;

/// What could be read, and every fault of the text. Clauses with a fault are marked `broken`.
struct Parsed {
  std::vector<SpecAst> specs;
  std::vector<Diagnostic> faults;
};
Parsed parse_all(const Source& source);

/// The same where any fault is an error. At least one AST.
Result<std::vector<SpecAst>> parse(const Source& source);

}  // namespace tilec::dsl
