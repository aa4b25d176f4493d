// What a profiler would count. "Warp instructions" are PTX instructions issued for a warp with at
// least one lane active, predicated-off ones included; "thread instructions" are lanes that
// executed one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilec::ptx {

enum class InstructionClass : uint8_t {
  fma,
  floating,
  half,
  double_,
  integer,
  compare,
  move,
  convert,
  load_global,
  store_global,
  load_shared,
  store_shared,
  load_local,
  store_local,
  load_parameter,
  atomic,
  async_copy,
  barrier,
  branch,
  shuffle,
  matrix,
  other,
};
inline constexpr int kInstructionClasses = 22;

/// "fma", "floating", ... in the order of the enumeration.
std::string_view name_of(InstructionClass kind);

/// Requests are warp instructions that reach memory. A sector is 32 aligned bytes of global
/// memory; a wavefront is one pass over the 32 four-byte banks of shared memory; conflicts are
/// wavefronts beyond those that the bytes asked for need.
struct MemoryCounts {
  uint64_t requests = 0;
  uint64_t bytes = 0;       // asked for by lanes
  uint64_t sectors = 0;     // global only
  uint64_t wavefronts = 0;  // shared only
  uint64_t conflicts = 0;   // shared only
  // The banks at fault: words that a bank had to give beyond the passes that an even spread takes.
  std::array<uint64_t, 32> bank_conflicts{};

  void add(const MemoryCounts& other);
};

struct Counts {
  uint64_t warp_instructions = 0;
  uint64_t thread_instructions = 0;
  uint64_t predicated_off = 0;  // lanes that a false guard kept from executing
  std::array<uint64_t, kInstructionClasses> by_class{};  // warp instructions
  uint64_t fma = 0;                                      // warp instructions that are f32 FMAs
  uint64_t multiply_adds = 0;  // of all lanes and types, matrix instructions by their shape
  MemoryCounts global_load;
  MemoryCounts global_store;
  MemoryCounts shared_load;
  MemoryCounts shared_store;
  MemoryCounts atomics;             // atom and red, global and shared
  uint64_t barriers = 0;            // warp instructions
  uint64_t async_bytes = 0;         // through cp.async
  uint64_t divergent_branches = 0;  // branches that parted the active lanes

  void add(const Counts& other);
  double fma_share() const;            // fma / warp_instructions; 0 if there are none
  double sectors_per_request() const;  // global loads and stores; 0 if there are none
  double wavefronts_per_shared_load() const;
};

struct LineCounts {
  int line = 0;
  std::string file;  // of `.loc`; empty for PTX lines
  Counts counts;
};

struct Counters {
  Counts total;
  std::vector<LineCounts> by_ptx_line;   // lines that executed, ascending
  std::vector<LineCounts> by_tile_line;  // by `.loc`; line 0: instructions without one
  uint64_t blocks = 0;
  uint64_t warps = 0;
};

}  // namespace tilec::ptx
