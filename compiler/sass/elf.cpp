#include "compiler/sass/elf.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilec::sass {
namespace {

// Field offsets and sizes in bytes: the ELF-64 object file format.
constexpr uint64_t kHeaderBytes = 64;
constexpr uint64_t kSectionBytes = 64;
constexpr uint64_t kSymbolBytes = 24;
constexpr uint32_t kSymbolTable = 2;  // sh_type
constexpr uint32_t kNoBits = 8;

dsl::Error truncated(std::string what) {
  return dsl::Error::machine("elf-truncated", "the cubin is damaged: " + std::move(what));
}

// [offset, offset + size) of `file`; false where it does not lie within.
bool slice(std::span<const uint8_t> file, uint64_t offset, uint64_t size,
           std::span<const uint8_t>& out) {
  if (offset > file.size() || size > file.size() - offset) return false;
  out = file.subspan(offset, size);
  return true;
}

// The text at `offset` of a string table, up to its NUL or the table's end.
std::string text_at(std::span<const uint8_t> table, uint64_t offset) {
  if (offset >= table.size()) return "";
  const auto begin = table.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, std::find(begin, table.end(), uint8_t{0})};
}

std::vector<Symbol> read_symbols(const Elf& elf, const Section& table) {
  std::vector<Symbol> symbols;
  std::span<const uint8_t> names;
  if (table.link < elf.sections.size()) names = elf.sections[table.link].bytes;
  for (uint64_t at = 0; at + kSymbolBytes <= table.bytes.size(); at += kSymbolBytes) {
    symbols.push_back({.name = text_at(names, read_at<uint32_t>(table.bytes, at)),
                       .type = read_at<uint8_t>(table.bytes, at + 4) & 15,
                       .section = read_at<uint16_t>(table.bytes, at + 6),
                       .value = read_at<uint64_t>(table.bytes, at + 8),
                       .size = read_at<uint64_t>(table.bytes, at + 16)});
  }
  return symbols;
}

}  // namespace

const Section* Elf::find(std::string_view name) const {
  const auto at = std::ranges::find(sections, name, &Section::name);
  return at == sections.end() ? nullptr : &*at;
}

dsl::Result<Elf> read_elf(std::span<const uint8_t> file) {
  static constexpr uint8_t kMagic[] = {0x7f, 'E', 'L', 'F'};
  if (file.size() < 4 || !std::equal(std::begin(kMagic), std::end(kMagic), file.begin()))
    return tl::unexpected(dsl::Error::machine("not-elf", "this is not a cubin: no ELF header"));
  if (file.size() < kHeaderBytes)
    return tl::unexpected(truncated(fmt::format("{} bytes, an ELF header is 64", file.size())));
  if (file[4] != 2 || file[5] != 1)
    return tl::unexpected(
        dsl::Error::machine("not-elf", "this is not a cubin: not a 64-bit little-endian ELF file"));

  Elf elf;
  elf.abi_version = file[8];
  elf.machine = read_at<uint16_t>(file, 18);
  elf.flags = read_at<uint32_t>(file, 48);
  const uint64_t table_offset = read_at<uint64_t>(file, 40);
  const uint64_t entry_bytes = read_at<uint16_t>(file, 58);
  const uint64_t count = read_at<uint16_t>(file, 60);
  const uint64_t names_index = read_at<uint16_t>(file, 62);
  std::span<const uint8_t> table;
  if (entry_bytes != kSectionBytes || !slice(file, table_offset, count * kSectionBytes, table))
    return tl::unexpected(truncated("its section table lies outside of the file"));

  std::vector<uint32_t> name_offsets;
  for (uint64_t at = 0; at < table.size(); at += kSectionBytes) {
    Section section{.type = read_at<uint32_t>(table, at + 4),
                    .offset = read_at<uint64_t>(table, at + 24),
                    .size = read_at<uint64_t>(table, at + 32),
                    .link = read_at<uint32_t>(table, at + 40),
                    .info = read_at<uint32_t>(table, at + 44)};
    if (section.type != kNoBits && section.size > 0 &&
        !slice(file, section.offset, section.size, section.bytes))
      return tl::unexpected(
          truncated(fmt::format("section {} lies outside of the file", elf.sections.size())));
    name_offsets.push_back(read_at<uint32_t>(table, at));
    elf.sections.push_back(std::move(section));
  }
  if (names_index < elf.sections.size())
    for (size_t i = 0; i < elf.sections.size(); ++i)
      elf.sections[i].name = text_at(elf.sections[names_index].bytes, name_offsets[i]);
  for (const Section& section : elf.sections)
    if (section.type == kSymbolTable) elf.symbols = read_symbols(elf, section);
  return elf;
}

}  // namespace tilec::sass
