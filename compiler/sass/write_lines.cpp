// Line programs in the plainest opcodes: every row says what changed, then `copy`.
#include "compiler/sass/line_table.h"

namespace tilec::sass {
namespace {

// DWARF 4, section 6.2.5; the same in versions 2 to 5.
constexpr uint8_t kExtended = 0;
constexpr uint8_t kCopy = 1;
constexpr uint8_t kAdvancePc = 2;
constexpr uint8_t kAdvanceLine = 3;
constexpr uint8_t kSetFile = 4;
constexpr uint8_t kEndSequence = 1;

void put_unsigned(std::vector<uint8_t>& out, uint64_t value) {
  do {
    const auto low = static_cast<uint8_t>(value & 0x7f);
    value >>= 7;
    out.push_back(value == 0 ? low : static_cast<uint8_t>(low | 0x80));
  } while (value != 0);
}

void put_signed(std::vector<uint8_t>& out, int64_t value) {
  bool more = true;
  while (more) {
    const auto low = static_cast<uint8_t>(value & 0x7f);
    value >>= 7;
    more = !((value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0));
    out.push_back(more ? static_cast<uint8_t>(low | 0x80) : low);
  }
}

}  // namespace

std::vector<uint8_t> write_line_program(std::span<const LineRow> rows, uint32_t end) {
  std::vector<uint8_t> out;
  LineRow now{.offset = 0, .line = 1, .file = 1};
  for (const LineRow& row : rows) {
    if (row.file != now.file) {
      out.push_back(kSetFile);
      put_unsigned(out, static_cast<uint64_t>(row.file));
    }
    if (row.line != now.line) {
      out.push_back(kAdvanceLine);
      put_signed(out, int64_t{row.line} - now.line);
    }
    if (row.offset != now.offset) {
      out.push_back(kAdvancePc);
      put_unsigned(out, row.offset - now.offset);
    }
    out.push_back(kCopy);
    now = row;
  }
  if (end != now.offset) {
    out.push_back(kAdvancePc);
    put_unsigned(out, end - now.offset);
  }
  out.insert(out.end(), {kExtended, 1, kEndSequence});
  return out;
}

}  // namespace tilec::sass
