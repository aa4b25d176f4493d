// What the machine finds wrong with a kernel: plain data, and its words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilec::ptx {

enum class FindingKind : uint8_t {
  out_of_bounds,
  misaligned,
  read_only,
  unwritten_memory,
  unwritten_register,
  not_waited_for,
  shared_race,
  global_race,
  divergent_barrier,
  missed_barrier,
  bad_barrier,
  deadlock,
  too_long,
  trap,
};

struct FindingRow {
  FindingKind kind;
  std::string_view code;  // stable name, e.g. "ptx-out-of-bounds"
  std::string_view what;  // start of the message
};

/// All kinds with their names, in the order of the enumeration.
const std::array<FindingRow, 14>& finding_rows();

/// A place in the program and who was there.
struct Site {
  int ptx_line = 0;       // 1-based line of the PTX text; 0 if none
  int tile_line = 0;      // line of the file that `.loc` names; 0 if none
  std::string tile_file;  // that file
  std::array<uint32_t, 3> block{};
  std::array<uint32_t, 3> thread{};  // the first of the lanes at fault
};

struct Finding {
  FindingKind kind{};
  std::string kernel;
  Site site;
  std::string space;     // "global", "shared", "local"; empty if not about memory
  uint64_t address = 0;  // in that space
  int bytes = 0;
  std::string detail;         // e.g. "12 bytes past the end of a 4096-byte allocation"
  std::optional<Site> clash;  // the other access of a race
  uint64_t count = 0;         // lanes at fault, over all findings folded into this one
};

/// One line: kind, place, thread, address, what it clashed with, how often.
std::string describe(const Finding& finding);

}  // namespace tilec::ptx
