#include "compiler/sass/edit_elf.h"

#include <algorithm>

namespace tilec::sass {
namespace {

// Field offsets and sizes in bytes: the ELF-64 object file format.
constexpr uint64_t kProgramTableAt = 32;
constexpr uint64_t kSectionTableAt = 40;
constexpr uint64_t kProgramCountAt = 56;
constexpr uint64_t kSectionBytes = 64;
constexpr uint64_t kProgramBytes = 56;
constexpr uint64_t kAlignment = 128;  // the largest of a cubin: that of code

void add_at(std::span<uint8_t> file, uint64_t offset, uint64_t by) {
  write_at<uint64_t>(file, offset, read_at<uint64_t>(file, offset) + by);
}

// Headers of sections behind `from` move by `shift`.
void move_sections(std::span<uint8_t> file, size_t count, uint64_t from, uint64_t shift) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t header = section_header_at(file, i);
    if (read_at<uint64_t>(file, header + 24) >= from) add_at(file, header + 24, shift);
  }
}

// Segments behind `from` move by `shift`; those that `from` lies in, or ends, grow by it.
void move_segments(std::span<uint8_t> file, uint64_t from, uint64_t shift) {
  const uint64_t table = read_at<uint64_t>(file, kProgramTableAt);
  const uint64_t count = read_at<uint16_t>(file, kProgramCountAt);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t header = table + i * kProgramBytes;
    const auto begin = read_at<uint64_t>(file, header + 8);
    const auto size = read_at<uint64_t>(file, header + 32);
    if (begin >= from) {
      add_at(file, header + 8, shift);
    } else if (begin + size >= from) {
      add_at(file, header + 32, shift);
      add_at(file, header + 40, shift);
    }
  }
}

}  // namespace

uint64_t section_header_at(std::span<const uint8_t> file, size_t index) {
  return read_at<uint64_t>(file, kSectionTableAt) + index * kSectionBytes;
}

std::vector<uint8_t> replace_bytes(std::span<const uint8_t> file, const Elf& elf, size_t index,
                                   uint64_t begin, uint64_t end,
                                   std::span<const uint8_t> replacement) {
  const Section& section = elf.sections[index];
  const uint64_t size = section.size - (end - begin) + replacement.size();
  const uint64_t tail = section.offset + section.size;  // the first byte behind the section
  const uint64_t growth = size > section.size ? size - section.size : 0;
  const uint64_t shift = (growth + kAlignment - 1) / kAlignment * kAlignment;

  std::vector<uint8_t> out(file.size() + shift);
  const auto at = [&](uint64_t offset) { return file.begin() + static_cast<ptrdiff_t>(offset); };
  auto to = std::copy(file.begin(), at(section.offset + begin), out.begin());
  to = std::copy(replacement.begin(), replacement.end(), to);
  std::copy(at(section.offset + end), at(tail), to);
  std::copy(at(tail), file.end(), out.begin() + static_cast<ptrdiff_t>(tail + shift));

  for (const uint64_t field : {kProgramTableAt, kSectionTableAt})
    if (read_at<uint64_t>(out, field) >= tail) add_at(out, field, shift);
  // A section without bytes in the file may stand at the very end of this one, and moves with it;
  // the section itself begins before its end, or is empty and was never edited.
  move_sections(out, elf.sections.size(), tail, shift);
  move_segments(out, tail, shift);
  write_at<uint64_t>(out, section_header_at(out, index) + 32, size);
  return out;
}

}  // namespace tilec::sass
