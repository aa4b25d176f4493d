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
  uint64_t address_at = 0;  // byte offset in the section; the rows' program follows its 8 bytes
  uint64_t end_at = 0;      // byte offset behind the end of the sequence
  std::vector<LineRow> rows;
};

/// All sequences of `section`; stops quietly at the first damaged unit.
std::vector<LineSequence> read_line_table(std::span<const uint8_t> section);

/// The line of the instruction at `offset`; 0 if there is none.
int line_at(std::span<const LineRow> rows, uint32_t offset);
/// The row that holds at `offset`; null if there is none.
const LineRow* row_at(std::span<const LineRow> rows, uint32_t offset);

/// The program of a sequence: what follows the 8 bytes of its address, up to and with the end of
/// the sequence at `end`. Reading it back gives `rows`, and a last row at `end`.
std::vector<uint8_t> write_line_program(std::span<const LineRow> rows, uint32_t end);

}  // namespace tilec::sass
