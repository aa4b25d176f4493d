// Changes to an ELF file that leave the rest of it true.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/sass/elf.h"

namespace tilec::sass {

/// `file` with bytes begin .. end - 1 of section `index` replaced. What stands behind the section
/// moves by a multiple of 128 bytes, so that every alignment is kept; section and program headers
/// follow. Relocations and symbols of the section are the caller's to mend.
/// Needs: `elf` read from `file`, begin <= end <= the section's bytes in the file.
std::vector<uint8_t> replace_bytes(std::span<const uint8_t> file, const Elf& elf, size_t index,
                                   uint64_t begin, uint64_t end,
                                   std::span<const uint8_t> replacement);

/// Writes little-endian `value` at `offset`; nothing past the end.
template <class T>
void write_at(std::span<uint8_t> bytes, uint64_t offset, T value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return;
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[offset + i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
}

/// Where the table of section headers has the entry `index`: bytes from the file's start.
uint64_t section_header_at(std::span<const uint8_t> file, size_t index);

}  // namespace tilec::sass
