// A kernel's instructions for people: text beside decoded control fields, loops marked.
//
//    offset  waits  rd wr y stall  line    instruction
//   ┃ 05c0  B01----  R- W2 Y S04     45    LDS.128 R84, [UR5]
//
// `B` lists the scoreboards waited for, `R` and `W` the one set by reading operands and by writing
// the result, `Y` stands where the yield flag is set, `S` is the stall in cycles. `┃` runs along
// the steady loop, `│` along others.
#pragma once

#include <string>
#include <string_view>

#include "compiler/sass/cubin.h"
#include "compiler/sass/decode.h"
#include "compiler/sass/disassemble.h"

namespace tilec::sass {

/// `text`: nvdisasm's, or null: then names and registers come from our own tables, modifiers and
/// constants are missing, and the head says so. Ends with a line end.
std::string list_kernel(const Kernel& kernel, int sm, const TextKernel* text);

/// Instructions in the order given, from our own tables, one a line. Each bears the offset at which
/// it was decoded: the passes on a loop dump these, so that two dumps tell what moved.
std::string list_instructions(std::span<const Instruction> instructions);

/// All kernels of a cubin, with nvdisasm's text where it is found and works.
/// Errors: those of read_cubin.
dsl::Result<std::string> list_cubin(std::span<const uint8_t> cubin);

/// "@!P0 FFMA R3, R4.reuse, R5, R3": from our own tables, without most modifiers, without
/// constants.
std::string own_text(const Instruction& instruction);

}  // namespace tilec::sass
