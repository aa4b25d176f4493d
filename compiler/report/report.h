// The instruction report: how many multiply-adds a kernel gets out of every instruction it issues,
// and where the rest go.
//
// `build_report` counts the instructions of a cubin (compiler/sass) and sets them beside what the
// spec alone would need. The Report is plain data; text.h and json.h print it, check.h judges it by
// budgets. Every figure is worked out once, here.
//
// Words. The steady loop is the SASS loop with most multiply-adds that holds no other which
// multiplies; padding NOPs are not counted.
// FMA share: FMA instructions / all instructions of the steady loop, static. Executed FMA share:
// the same over the whole kernel, static counts times trips, for a shape. Ideal share:
// multiply-adds and the fragment loads that the spec asks for, nothing else. The gap between ideal
// and actual is itemised by class: with N instructions, F FMAs, L fragment loads asked for,
//
//     ideal - actual = F / (F + L) - F / N = ideal * (N - F - L) / N
//
// so a class with x instructions, of which e are asked for, has the part ideal * (x - e) / N, and
// the parts add up to the gap exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "compiler/report/back_end.h"
#include "compiler/report/prediction.h"
#include "compiler/sass/banks.h"
#include "compiler/sass/classes.h"
#include "compiler/sass/disassemble.h"
#include "compiler/target.h"
#include "dsl/error.h"
#include "dsl/shape.h"

namespace tilec {

/// Blocks that fit one SM with the registers that the assembler really used.
struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  int warps_possible = 0;  // that an SM can hold
  std::string limit;       // "registers", "shared memory", "threads" or "blocks"
  int by_registers = 0;    // blocks that each would allow alone
  int by_shared = 0;
  int by_threads = 0;
  int by_blocks = 0;
  int next_registers =
      0;  // most registers with which one more block would fit; 0: not by registers
};

struct GapRow {
  sass::Class kind = sass::Class::unknown;
  int instructions = 0;
  int expected = 0;   // of them, asked for by the spec
  double points = 0;  // percentage points of the gap; below 0 where fewer than expected
};

/// Instructions that came from one line of the tile IR.
struct LineCount {
  int line = 0;  // 1-based; 0: the assembler named no line
  std::string text;
  int instructions = 0;
  int fma = 0;
  sass::ClassCounts by_class;
};

/// Lines that say the same but for the k within a slice (`… at 3`), together: one op of the course.
struct OpCount {
  std::string text;
  int lines = 0;
  int instructions = 0;
  int fma = 0;
  sass::ClassCounts by_class;
};

struct SteadyLoop {
  uint32_t begin = 0;  // bytes from the kernel's start to its first instruction
  uint32_t end = 0;    // past its last
  int instructions = 0;
  int fma = 0;            // FMA instructions
  int multiply_adds = 0;  // of one lane, a trip
  double fma_share = 0;
  double ideal_share = 0;
  double fma_per_instruction = 0;
  double slices_per_trip = 0;  // slices of K that a trip consumes; below 1 for an inner loop
  int fragment_loads = 0;
  double fragment_loads_expected = 0;
  sass::ClassCounts by_class;
  double gap_points = 0;         // percentage points: ideal - actual
  std::vector<GapRow> gap;       // largest part first; points add up to gap_points
  std::vector<LineCount> lines;  // by line; empty without line information
  std::vector<OpCount> ops;      // most instructions first
  sass::BankUse register_file;   // predicted
};

/// Instructions of the whole kernel as they stand in the code, padding left out.
struct KernelCounts {
  int instructions = 0;
  int fma = 0;
  sass::ClassCounts by_class;
  std::vector<std::string> unknown;  // "unknown 0x5c3", each once
  bool checked = false;              // whether nvdisasm's text was there to compare with
  int mismatches = 0;                // instructions it reads otherwise: counted as unknown
};

/// One thread's instructions for a shape, predicted: static counts times trips, for a thread of a
/// whole tile (executed.cpp says how its way is found), and the launch's: all blocks are taken to
/// be of whole tiles.
struct Executed {
  dsl::GemmShape shape;
  int64_t blocks = 0;
  double trips = 0;  // of the steady loop
  double instructions = 0;
  double fma = 0;
  double fma_share = 0;
  bool whole_tiles = false;      // the tile divides the shape: what is said of the launch is exact
  double warp_instructions = 0;  // of the launch
  double multiply_adds = 0;      // of all threads of the launch; packed FMAs do two
};

/// The shape that is predicted for where none is given.
inline constexpr dsl::GemmShape kUsualShape{4096, 4096, 4096};

struct Report {
  std::string spec;    // the completed spec, on one line
  std::string kernel;  // its name
  std::string target;
  AssemblerReport assembler;  // its log left out
  int registers = 0;          // per thread
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t shared_bytes = 0;  // per block
  int threads = 0;           // per block
  double ideal_share = 0;    // from the spec alone
  Occupancy occupancy;
  int64_t shared_conflicts = 0;  // predicted: extra wavefronts of shared memory, a block and slice
  std::optional<KernelCounts> code;  // none without a cubin
  std::optional<BackEnd> back_end;   // none without a cubin
  std::optional<SteadyLoop> steady;  // none without a loop that multiplies
  std::optional<Executed> executed;  // none without a shape, or without code
  std::optional<Prediction>
      prediction;  // none without a steady loop; without a shape, at kUsualShape
  int64_t spills() const { return spill_store_bytes + spill_load_bytes; }  // bytes
};

/// Without a cubin (no assembler was found) the report holds what follows from the spec alone.
/// `text`: nvdisasm's of the same cubin, to check our decoding by; null: unchecked (running
/// nvdisasm takes longer than everything else here). Errors: those of sass::read_cubin; internal,
/// if the cubin lacks the kernel or the cubin's machine is not `target`.
dsl::Result<Report> build_report(const Artifact& artifact, const Target& target,
                                 std::optional<dsl::GemmShape> shape,
                                 const sass::Disassembly* text = nullptr);

}  // namespace tilec
