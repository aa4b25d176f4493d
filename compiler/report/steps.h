// Instructions as the loop model sees them: what each takes of an SM, and what for.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/artifact.h"
#include "compiler/report/count.h"
#include "compiler/report/loss.h"
#include "compiler/report/way.h"
#include "compiler/sass/cubin.h"
#include "compiler/target.h"

namespace tilec {

/// The part of an SM that does an instruction. `none`: the issue slot is all it takes.
enum class Pipe : uint8_t {
  none,
  fma,      // f32 arithmetic: two half pipes where the SM has 128 lanes, else one
  integer,  // IMAD: one of those two
  alu,      // integer and logic
  fp64,
  special,  // MUFU, conversions
  shared,   // shared memory, through the queue of memory instructions
  global,   // global and local memory, through the same queue
};
inline constexpr int kPipes = 8;

struct Step {
  uint32_t index = 0;  // of the instruction
  Pipe pipe = Pipe::none;
  Loss kind = Loss::other;  // what its issue slot goes to
  bool is_fma = false;
  bool syncs = false;       // BAR.SYNC
  bool never = false;       // its guard is always false
  bool ends_group = false;  // LDGDEPBAR
  bool is_async = false;    // LDGSTS
  bool stores = false;      // results, to global memory
  int waits_groups = -1;    // DEPBAR.LE: groups that may be left; -1: not one
  double occupancy = 0;     // cycles that its pipe is taken: of the scheduler, or of the SM
  double bytes = 0;         // from or to the second-level cache, of the whole warp
  int latency = 0;          // cycles from there to its scoreboard's release
  sass::Control control;
  int register_count = 0;
  std::array<sass::RegisterUse, 4> registers{};  // read, in slots a, b, c
};

/// The instructions of a thread's way: once, round and round, once.
struct Trace {
  std::vector<Step> before;
  std::vector<Step> unit;  // one trip
  std::vector<Step> after;
  double unit_slices = 0;  // of K, that one trip consumes
};

/// A kernel as it was assembled, and what it is for. Refers to its parts.
struct PredictionInput {
  const Artifact& artifact;
  const Target& target;
  const sass::Kernel& kernel;
  std::span<const sass::Instruction> instructions;
  const sass::Flow& flow;
  const WorkOfThread& work;
  int blocks_per_sm = 1;
};

/// `at_edges`: round the loop for blocks at edges, if there is one.
Trace trace_of(const PredictionInput& input, const Way& way, bool at_edges);

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace tilec
