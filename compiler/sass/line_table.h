// DWARF line programs, versions 2 to 5, as ptxas writes them into .debug_line: which line of the
// tile IR (or of a CUDA file) an instruction came from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilec::sass {

/// Holds for instructions from `offset` up to the next row's.
struct LineRow {
  uint32_t offset = 0;  // bytes from the kernel's start
  int line = 0;         // 1-based; 0: none
  int file = 0;         // 1-based index into the line table's files
  bool operator==(const LineRow&) const = default;
};

/// One run of rows with rising offsets, up to an end of sequence. The program sets its start by one
/// address, which the linker fills in: `address_at` is where that stands in the section, for the
/// caller to look up which kernel is meant.
struct LineSequence {
  uint64_t address = 0;     // as written; usually 0 before relocation
  uint64_t address_at = 0;  // byte offset in the section
  std::vector<LineRow> rows;
};

/// All sequences of `section`; stops quietly at the first damaged unit.
std::vector<LineSequence> read_line_table(std::span<const uint8_t> section);

/// The line of the instruction at `offset`; 0 if there is none.
int line_at(std::span<const LineRow> rows, uint32_t offset);

}  // namespace tilec::sass
