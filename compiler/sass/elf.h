// An ELF64 file, as much of it as a cubin needs: sections and symbols.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/error.h"

namespace tilec::sass {

struct Section {
  std::string name;
  uint32_t type = 0;
  uint64_t offset = 0;  // bytes from the file's start
  uint64_t size = 0;    // bytes; a section without bytes in the file (.nv.shared) has a size too
  uint32_t link = 0;
  uint32_t info = 0;
  std::span<const uint8_t> bytes;  // into the file; empty where the file holds none
};

struct Symbol {
  std::string name;
  int type = 0;  // 2: function
  uint32_t section = 0;
  uint64_t value = 0;
  uint64_t size = 0;
};

struct Elf {
  int machine = 0;
  int abi_version = 0;
  uint32_t flags = 0;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;

  const Section* find(std::string_view name) const;  // null if there is none
};

/// Reads the tables of `file`; the result points into it. Every offset is checked against the
/// file's size. Errors (machine road): not-elf, elf-truncated.
dsl::Result<Elf> read_elf(std::span<const uint8_t> file);

/// Little-endian `T` at `offset`, or 0 past the end.
template <class T>
T read_at(std::span<const uint8_t> bytes, uint64_t offset) {
  T value = 0;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return value;
  for (size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(bytes[offset + i]) << (8 * i));
  return value;
}

}  // namespace tilec::sass
