// How long a result of fixed latency takes: cycles from the issue of the instruction that writes a
// register to the earliest issue of one that reads it. The hardware does not check; the stall
// counts in between must add up to this.
//
// The numbers stand in latency.def with their sources; those measured on a GPU (tools/measure_sass,
// data/) go before them on that machine. A pair that is not there has no number: a
// caller keeps such a pair kFarApart cycles apart, or leaves it alone.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/sass/operands.h"

namespace tilec::sass {

/// Instructions whose results, or whose reads, take equally long.
enum class Pipe : uint8_t {
  alu,           // integer and logic, moves, selects, comparisons
  fma,           // FFMA, FMUL, FADD, IMAD, VIADD
  wide,          // IMAD.WIDE: a pair, whose halves come and go at different times
  product_high,  // IMAD.HI
  half,          // HFMA2, also how constants are loaded
  float_set,     // FSETP
  move_special,  // CS2R
  to_uniform,    // R2UR
  uniform,       // the uniform datapath
  uniform_load,  // ULDC
  uniform_move,  // UMOV
  memory,        // every access to memory
  other,         // conversions, MUFU and the like
  control,       // branches, barriers, waits: they read predicates
};

Pipe pipe_of(const Instruction& instruction, const Operands& operands);

/// A register as its producer leaves it, and as its consumer takes it.
struct Produced {
  Pipe pipe = Pipe::alu;
  File file = File::general;
  bool upper = false;  // the second register of IMAD.WIDE's result
};
struct Consumed {
  Pipe pipe = Pipe::alu;
  bool guard = false;
  bool upper = false;  // the second register of IMAD.WIDE's addend
};

/// Longer than any latency in the table.
inline constexpr int kFarApart = 48;

/// Cycles on `sm`; none if the table lacks the pair. Not for producers of variable latency.
std::optional<int> latency(const Produced& produced, const Consumed& consumed, int sm);

/// Cycles between two writes of one register after which the second is sure to win. How long CS2R
/// takes was measured on sm_90 alone.
int write_after_write(Pipe first, Pipe second, int sm = 80);

/// Whether the instruction goes to the memory pipe: loads, stores, asynchronous copies and the
/// commits of these. Loads that never happen (guard @!PT) do not.
bool goes_to_memory(const Instruction& instruction, const Operands& operands);

/// Whether the uniform datapath carries it out.
bool is_uniform(Pipe pipe);

/// UMOV and ULDC seem to overtake what the uniform datapath was given before: a loop with a UMOV
/// one cycle behind a UISETP that reads the same register left out its last slice on an H200, and
/// nothing else in it breaks a rule. Inferred from that, not timed alone. Cycles from an
/// instruction there that reads a register to one that overtakes and writes it: the assembler
/// leaves 6 or more.
inline constexpr int kOvertakeDistance = 8;
bool overtakes(Pipe pipe);

/// Cycles from the issue of one instruction to the earliest issue of a later one, whatever
/// registers they touch; 1 where it does not matter. The smallest that the assembler of CUDA 13.0
/// leaves over every example: 4 between two that go to memory (with less, a commit missed the copy
/// before it, and the wait for it came too early), 4 from a wait for copies to a barrier, 6 from a
/// barrier to the next access; 2 between two that compute in the uniform datapath.
int issue_distance(const Instruction& first, const Operands& first_operands,
                   const Instruction& second, const Operands& second_operands);

}  // namespace tilec::sass
