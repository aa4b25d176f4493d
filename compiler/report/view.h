// Every instruction of a kernel with all that is known of it: the SASS view, and one pane of the
// page.
//
//      offset st y waits rd wr reuse  banks  cost  tile   ptx  instruction
//   ┃  05c0  02 y B01---- - 2 a--   e1 o2   2.0    45   812  FFMA R4, R84.reuse, R20, R4  // outer
//   …
//
// `st` is the stall in cycles, `y` stands where the yield flag is set, `B` lists the scoreboards
// waited for, `rd` and `wr` the one set by reading operands and by writing the result, `reuse` the
// operand slots kept. `banks`: operands read from the even and from the odd bank, one warp alone.
// `cost` is predicted: cycles of a scheduler that one issue takes in the steady loop, waits
// included; `!` marks those that cost most. `tile` and `ptx` are lines of those texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "compiler/report/report.h"
#include "compiler/sass/control.h"
#include "compiler/sass/disassemble.h"

namespace tilec {

enum class InLoop { no, other, steady };

struct ViewLine {
  uint32_t offset = 0;  // bytes from the kernel's start
  std::string text;
  sass::Class kind = sass::Class::unknown;
  sass::Control control;
  InLoop loop = InLoop::no;
  int tile_line = 0;  // 1-based; 0: the assembler named none
  int ptx_line = 0;
  int even_reads = 0;
  int odd_reads = 0;
  std::optional<double> cost;  // in the steady loop
  bool costly = false;         // among those that make up most of what is lost
};

struct SassView {
  std::string kernel;
  int sm = 0;
  int registers = 0;
  bool has_text = false;  // nvdisasm's; else names and registers from our own tables
  std::string critical;   // what the steady loop waits for; empty: not predicted
  std::vector<ViewLine> lines;
};

/// `text`: nvdisasm's of the same cubin, or null. Errors: those of sass::read_cubin; internal, if
/// the cubin lacks the kernel.
dsl::Result<SassView> build_view(const Artifact& artifact, const Report& report,
                                 const sass::Disassembly* text);

/// `colour`: for a terminal. Ends with a line end.
std::string view_text(const SassView& view, const Artifact& artifact, bool colour);

}  // namespace tilec
