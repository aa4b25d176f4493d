// The PTX machine: a GPU on the desk, with instruments.
//
// It executes PTX text on the CPU, so that what ships is what was tested. The road of a program:
//
//   text ─► syntax.h (statements) ─► decode.h (one Op an instruction, registers resolved)
//        ─► flow.h (basic blocks, their order, slots for registers) ─► Module
//   Module + arguments + Memory ─► launch: blocks of threads, spread over the host's cores
//
// A block runs warp by warp. A register is a vector of 32 lanes, so that one PTX instruction is a
// few SIMD instructions of the host (lanes.h); a predicate is a mask of 32 bits. Lanes of a warp
// part where a branch divides them and meet again where their paths do, by the order of blocks
// that flow.h fixes; a lane that waits for another never starves it, as on hardware since Volta.
//
// What the machine looks for while it runs (access.h, findings.h): accesses out of bounds or
// misaligned, and barriers that some threads never reach, always; with `Checks::all` also reads of
// memory or registers never written, of `cp.async` data not waited for, and races. What it counts
// (counters.h) is what a profiler would: warp instructions by class, sectors, wavefronts.
//
// An instruction that it does not know is an error with its name and line, never a guess.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/error.h"
#include "dsl/source.h"
#include "runtime/ptx/counters.h"
#include "runtime/ptx/findings.h"
#include "runtime/ptx/memory.h"

namespace tilec::ptx {

struct Program;  // program.h

/// One parameter of an entry, as a caller has to fill it.
struct Parameter {
  std::string name;
  std::string type;  // "u64", or "b8[16]" for an array
  int bytes = 0;
  int align = 1;
};

/// A parsed and decoded PTX module. Cheap to copy; never changes.
class Module {
 public:
  explicit Module(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  std::vector<std::string> entries() const;
  /// Parameters of an entry; empty if there is no such entry.
  std::vector<Parameter> parameters(std::string_view entry) const;
  const Program& program() const { return *program_; }

 private:
  std::shared_ptr<const Program> program_;
};

/// Reads PTX text. All faults that the text alone shows are found here and reported together.
/// Errors (user): syntax, unknown directives or instructions, types that do not fit, registers,
/// labels or names undeclared or declared twice; codes are the rows of diagnostics.h.
dsl::Result<Module> parse(const dsl::Source& source);

/// A kernel argument. Pointers are uint64_t: addresses from Memory::allocate. Bytes are taken as
/// they are, by parameters of any type and of their size: a .b8 array, a .u16.
using Argument =
    std::variant<uint64_t, int64_t, uint32_t, int32_t, float, double, std::vector<std::byte>>;

/// What a launch looks for beyond what it always does (bounds, alignment, barriers).
enum class Checks {
  bounds,  // nothing more
  all,     // memory and registers never written, data not waited for, races
};

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};   // blocks; at most 2^31 - 1, 65535, 65535
  std::array<uint32_t, 3> block{1, 1, 1};  // threads; at most 1024, 1024, 64, and 1024 together
  int64_t dynamic_shared_bytes = 0;        // static + dynamic <= shared_limit
  int64_t shared_limit = 227 * 1024;       // bytes a block may have
  Checks checks = Checks::bounds;
  bool counters = true;
  int threads = 0;  // host threads; 0: one a core. Results do not depend on it.
  uint64_t max_block_instructions = 20'000'000'000;  // warp instructions of one block
  std::optional<uint64_t> schedule;  // seed of another order of blocks and warps: schedule.h
};

struct LaunchResult {
  Counters counters;              // zero without LaunchConfig::counters
  std::vector<Finding> findings;  // folded; empty means that the kernel is clean so far as seen
  bool clean() const { return findings.empty(); }
};

/// Runs a kernel to its end. Faults of the kernel are findings of the result, not errors: a
/// faulty load gives zeros, a faulty store is dropped, and the run goes on, so that one run shows
/// all; callers treat a result that is not clean() as failed (`to_error` makes the Error).
/// Errors (user): no such entry; arguments too few, too many or of another size; grid, block or
/// shared memory of 0 or over the limits; a block that .reqntid or .maxntid forbid.
dsl::Result<LaunchResult> launch(const Module& module, std::string_view entry,
                                 const LaunchConfig& config, std::span<const Argument> arguments,
                                 Memory& memory);

/// The findings as an Error of the road `check`, one diagnostic each, spans in the PTX text.
dsl::Error to_error(const Module& module, const LaunchResult& result);

}  // namespace tilec::ptx
