#include "compiler/sass/line_table.h"

#include <algorithm>
#include <array>

#include "compiler/sass/elf.h"

namespace tilec::sass {
namespace {

// Reads numbers one after another; past the end every number is 0 and `ok` is false.
class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, uint64_t at) : bytes_(bytes), at_(at) {}

  bool ok() const { return ok_; }
  bool done() const { return !ok_ || at_ >= bytes_.size(); }
  uint64_t at() const { return at_; }

  void skip(uint64_t count) {
    if (count > bytes_.size() - std::min<uint64_t>(at_, bytes_.size())) ok_ = false;
    if (ok_) at_ += count;
  }

  template <class T>
  T number() {
    const uint64_t from = at_;
    skip(sizeof(T));
    return ok_ ? read_at<T>(bytes_, from) : T{0};
  }

  uint64_t unsigned_leb() { return leb(false); }
  int64_t signed_leb() { return static_cast<int64_t>(leb(true)); }

 private:
  uint64_t leb(bool is_signed) {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte = 0;
    do {
      byte = number<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
    } while (ok_ && (byte & 0x80) != 0);
    if (is_signed && shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return value;
  }

  std::span<const uint8_t> bytes_;
  uint64_t at_ = 0;
  bool ok_ = true;
};

struct Header {
  int min_instruction_length = 1;
  int line_base = 0;
  int line_range = 1;
  int opcode_base = 1;
  std::array<uint8_t, 256> lengths{};  // operands of each standard opcode
};

// The opcodes of a line program (DWARF 4, section 6.2.5).
enum Standard : uint8_t {
  extended = 0,
  copy = 1,
  advance_pc = 2,
  advance_line = 3,
  set_file = 4,
  const_add_pc = 8,
  fixed_advance_pc = 9,
};
enum Extended : uint8_t { end_sequence = 1, set_address = 2 };

// The line program's machine: registers and the rows so far.
struct Program {
  const Header& header;
  std::vector<LineSequence>& out;
  LineSequence sequence;
  uint64_t address = 0;  // bytes from the sequence's start
  int64_t line = 1;
  uint64_t file = 1;

  void add_row() {
    if (address > UINT32_MAX) return;
    const LineRow row{.offset = static_cast<uint32_t>(address),
                      .line = line > 0 && line < INT32_MAX ? static_cast<int>(line) : 0,
                      .file = file < INT32_MAX ? static_cast<int>(file) : 0};
    // Later rows of one address win; rows that go backwards are damage.
    if (!sequence.rows.empty() && sequence.rows.back().offset >= row.offset) {
      if (sequence.rows.back().offset == row.offset) sequence.rows.back() = row;
      return;
    }
    sequence.rows.push_back(row);
  }

  void finish() {
    if (!sequence.rows.empty()) out.push_back(std::move(sequence));
    sequence = {};
    address = 0;
    line = 1;
    file = 1;
  }

  void advance(uint64_t operations) {
    address += operations * static_cast<uint64_t>(header.min_instruction_length);
  }

  // Lines outside of 32 bits are damage, and shown as none.
  void advance_line(int64_t by) {
    if (by > INT32_MIN && by < INT32_MAX) line += by;
  }

  // Opcodes at or above opcode_base advance both address and line, and add a row.
  void special(int opcode) {
    const int adjusted = opcode - header.opcode_base;
    advance(static_cast<uint64_t>(adjusted / header.line_range));
    line += header.line_base + adjusted % header.line_range;
    add_row();
  }
};

// Opcodes that the machine does not know are passed over by their stated lengths: ptxas adds
// extended ones (0x90, 0x91) for inlined calls.
void run_extended(Reader& reader, Program& program) {
  const uint64_t length = reader.unsigned_leb();
  if (length == 0) return;
  const uint64_t begin = reader.at();
  const auto opcode = reader.number<uint8_t>();
  if (opcode == Extended::end_sequence) {
    program.add_row();
    program.sequence.end_at = begin + length;
    program.finish();
  } else if (opcode == Extended::set_address && length == 9) {
    program.sequence.address_at = reader.at();
    program.sequence.address = reader.number<uint64_t>();
    program.address = 0;
  }
  const uint64_t read = reader.at() - begin;
  if (read < length) reader.skip(length - read);
}

void run_program(Reader reader, Program& program) {
  while (!reader.done()) {
    const auto opcode = reader.number<uint8_t>();
    if (opcode >= program.header.opcode_base) {
      program.special(opcode);
      continue;
    }
    switch (opcode) {
      case Standard::extended:
        run_extended(reader, program);
        break;
      case Standard::copy:
        program.add_row();
        break;
      case Standard::advance_pc:
        program.advance(reader.unsigned_leb());
        break;
      case Standard::advance_line:
        program.advance_line(reader.signed_leb());
        break;
      case Standard::set_file:
        program.file = reader.unsigned_leb();
        break;
      case Standard::const_add_pc:
        program.advance(
            static_cast<uint64_t>((255 - program.header.opcode_base) / program.header.line_range));
        break;
      case Standard::fixed_advance_pc:
        program.address += reader.number<uint16_t>();
        break;
      default:
        for (int i = 0; i < program.header.lengths[opcode]; ++i) reader.unsigned_leb();
    }
  }
}

// One unit: header, then program. False where the header makes no sense.
bool read_unit(std::span<const uint8_t> section, uint64_t begin, uint64_t end,
               std::vector<LineSequence>& out) {
  Reader reader(section.first(end), begin);
  const int version = reader.number<uint16_t>();
  if (version < 2 || version > 5) return false;
  if (version == 5) reader.skip(2);  // sizes of an address and of a segment selector
  const uint64_t header_length = reader.number<uint32_t>();
  const uint64_t program_at = reader.at() + header_length;
  Header header;
  header.min_instruction_length = reader.number<uint8_t>();
  if (version >= 4) reader.skip(1);  // operations per instruction: 1 on machines without VLIW
  reader.skip(1);                    // default_is_stmt
  // A signed byte.
  header.line_base = static_cast<int>(reader.number<uint8_t>() ^ 0x80) - 0x80;
  header.line_range = reader.number<uint8_t>();
  header.opcode_base = reader.number<uint8_t>();
  for (int opcode = 1; opcode < header.opcode_base; ++opcode)
    header.lengths[static_cast<size_t>(opcode)] = reader.number<uint8_t>();
  if (!reader.ok() || header.line_range == 0 || header.opcode_base == 0 || program_at > end)
    return false;
  Program program{.header = header, .out = out};
  run_program(Reader(section.first(end), program_at), program);
  return true;
}

}  // namespace

std::vector<LineSequence> read_line_table(std::span<const uint8_t> section) {
  std::vector<LineSequence> sequences;
  uint64_t at = 0;
  while (at + 4 < section.size()) {
    const uint64_t length = read_at<uint32_t>(section, at);
    const uint64_t begin = at + 4;
    if (length == 0 || length > section.size() - begin) break;  // also the 64-bit form's mark
    if (!read_unit(section, begin, begin + length, sequences)) break;
    at = begin + length;
  }
  return sequences;
}

const LineRow* row_at(std::span<const LineRow> rows, uint32_t offset) {
  const auto after = std::ranges::upper_bound(rows, offset, {}, &LineRow::offset);
  return after == rows.begin() ? nullptr : &*(after - 1);
}

int line_at(std::span<const LineRow> rows, uint32_t offset) {
  const LineRow* row = row_at(rows, offset);
  return row == nullptr ? 0 : row->line;
}

}  // namespace tilec::sass
