#include "compiler/sass/replace_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/sass/edit_elf.h"

namespace tilec::sass {
namespace {

constexpr uint32_t kCodeAlignment = 128;  // bytes; what .text sections are padded to
constexpr int kFunction = 2;              // STT_FUNC
constexpr uint64_t kSymbolBytes = 24;

// Attributes of .nv.info.KERNEL (cubin.cpp says how they stand there). Two hold offsets of
// instructions among those seen in the kernels of all examples for sm_80 to sm_90a, and of clusters
// (0x3d: blocks along each axis, 0x3e: a flag): of EXITs, and of places where lanes of a warp wait
// for each other. Beside the latter stands, for each place, the register with the lanes' mask; all
// bits are set where the mask is a constant.
constexpr auto kOffsets = std::to_array<uint8_t>({0x1c, 0x28});
constexpr uint8_t kMaskRegisters = 0x29;
constexpr uint32_t kConstantMask = 0xffffffff;
constexpr uint8_t kRegisterCount = 0x2f;
constexpr auto kWithoutOffsets = std::to_array<uint8_t>(
    {0x05, 0x0a, 0x10, 0x17, 0x19, 0x1b, 0x1e, 0x35, 0x36, 0x37, 0x3d, 0x3e, 0x4c, 0x50, 0x5f});
constexpr uint8_t kSizedFormat = 4;

dsl::Error not_editable(std::string what) {
  return dsl::Error::machine("not-editable", "the kernel is left as assembled: " + std::move(what));
}

// A cubin in the making: after each change of size, its tables are read again.
class Editor {
 public:
  Editor(std::span<const uint8_t> file, std::string_view kernel)
      : file_(file.begin(), file.end()), elf_(*read_elf(file_)), kernel_(kernel) {}

  std::vector<uint8_t> take() { return std::move(file_); }
  std::span<uint8_t> file() { return file_; }
  const Elf& elf() const { return elf_; }

  size_t find(std::string_view name) const {
    const auto at = std::ranges::find(elf_.sections, name, &Section::name);
    return static_cast<size_t>(at - elf_.sections.begin());
  }
  bool has(size_t section) const { return section < elf_.sections.size(); }
  size_t text() const { return find(".text." + kernel_); }

  // Tables of a damaged file may overlap, so that mending one changes another: then nothing more is
  // replaced.
  void replace(size_t section, uint64_t begin, uint64_t end, std::span<const uint8_t> bytes) {
    intact_ = intact_ && has(section);
    if (!intact_) return;
    const Section& old = elf_.sections[section];
    intact_ = intact_ && begin < end && end <= old.bytes.size() && old.bytes.size() == old.size;
    if (!intact_) return;
    std::vector<uint8_t> file = replace_bytes(file_, elf_, section, begin, end, bytes);
    dsl::Result<Elf> elf = read_elf(file);
    intact_ = elf && elf->sections.size() == elf_.sections.size();
    if (!intact_) return;
    file_ = std::move(file);  // the tables point into its bytes, which stay where they are
    elf_ = std::move(*elf);
  }
  bool intact() const { return intact_; }

  std::string_view kernel() const { return kernel_; }

 private:
  std::vector<uint8_t> file_;
  Elf elf_;
  std::string kernel_;
  bool intact_ = true;
};

// The relocations of section `name`: where each stands in the file, and how long it is.
struct Relocation {
  uint64_t at = 0;  // bytes from the file's start
  uint64_t offset = 0;
  uint64_t symbol = 0;
};

std::vector<Relocation> relocations_of(const Elf& elf, std::string_view name) {
  std::vector<Relocation> out;
  for (const auto& [prefix, bytes] : {std::pair{".rela", 24}, {".rel", 16}}) {
    const Section* section = elf.find(std::string(prefix) + std::string(name));
    if (section == nullptr) continue;
    const auto entry = static_cast<uint64_t>(bytes);
    for (uint64_t at = 0; at + entry <= section->bytes.size(); at += entry)
      out.push_back({.at = section->offset + at,
                     .offset = read_at<uint64_t>(section->bytes, at),
                     .symbol = read_at<uint64_t>(section->bytes, at + 8) >> 32});
  }
  return out;
}

bool is_about(const Elf& elf, const Relocation& relocation, size_t section) {
  return relocation.symbol < elf.symbols.size() &&
         elf.symbols[relocation.symbol].section == section;
}

std::vector<uint8_t> bytes_of(std::span<const Word> words) {
  std::vector<uint8_t> out(words.size() * kWordBytes);
  for (size_t i = 0; i < words.size(); ++i) {
    write_at<uint64_t>(out, i * kWordBytes, words[i].lo);
    write_at<uint64_t>(out, i * kWordBytes + 8, words[i].hi);
  }
  return out;
}

bool is_one_of(std::span<const uint8_t> attributes, uint8_t attribute) {
  return std::ranges::find(attributes, attribute) != attributes.end();
}

bool names_registers(std::span<const uint8_t> masks) {
  for (uint64_t i = 0; i + 4 <= masks.size(); i += 4)
    if (read_at<uint32_t>(masks, i) != kConstantMask) return true;
  return false;
}

// What is not known to be free of offsets and registers, or nothing.
std::string find_obstacle(const Elf& elf, std::string_view kernel) {
  if (!relocations_of(elf, ".text." + std::string(kernel)).empty())
    return "its code has relocations";
  const Section* info = elf.find(".nv.info." + std::string(kernel));
  if (info == nullptr) return "";
  for (uint64_t at = 0; at + 4 <= info->bytes.size();) {
    const uint8_t attribute = info->bytes[at + 1];
    const uint64_t size =
        info->bytes[at] == kSizedFormat ? read_at<uint16_t>(info->bytes, at + 2) : 0;
    if (attribute == kMaskRegisters) {
      if (at + 4 + size > info->bytes.size() || names_registers(info->bytes.subspan(at + 4, size)))
        return "lanes of a warp wait by a mask in a register";
    } else if (!is_one_of(kOffsets, attribute) && !is_one_of(kWithoutOffsets, attribute)) {
      return fmt::format("attribute {:#x} of .nv.info may hold offsets", attribute);
    }
    at += 4 + size;
  }
  return "";
}

// Where each old instruction stands now: bytes to bytes; what is gone keeps its offset.
std::vector<uint32_t> moved_offsets(const Code& code, size_t old_count) {
  std::vector<uint32_t> out(old_count);
  for (size_t i = 0; i < old_count; ++i) out[i] = static_cast<uint32_t>(i * kWordBytes);
  for (size_t i = code.origins.size(); i-- > 0;)
    if (code.origins[i] < old_count) out[code.origins[i]] = static_cast<uint32_t>(i * kWordBytes);
  return out;
}

void mend_offsets(Editor& editor, std::span<const uint32_t> moved) {
  const size_t section = editor.find(".nv.info." + std::string(editor.kernel()));
  if (!editor.has(section)) return;
  const Section& info = editor.elf().sections[section];
  if (info.bytes.empty()) return;  // it may have a size all the same
  const std::span<uint8_t> bytes = editor.file().subspan(info.offset, info.bytes.size());
  for (uint64_t at = 0; at + 4 <= bytes.size();) {
    const uint64_t size = bytes[at] == kSizedFormat ? read_at<uint16_t>(bytes, at + 2) : 0;
    if (is_one_of(kOffsets, bytes[at + 1]))
      for (uint64_t i = 0; i + 4 <= size; i += 4) {
        const uint64_t index = read_at<uint32_t>(bytes, at + 4 + i) / kWordBytes;
        if (index < moved.size()) write_at<uint32_t>(bytes, at + 4 + i, moved[index]);
      }
    at += 4 + size;
  }
}

void mend_registers(Editor& editor, int registers) {
  const std::span<uint8_t> file = editor.file();
  if (const Section* info = editor.elf().find(".nv.info")) {
    for (uint64_t at = info->offset; at + 12 <= info->offset + info->bytes.size();) {
      const uint64_t size = file[at] == kSizedFormat ? read_at<uint16_t>(file, at + 2) : 0;
      const auto symbol = read_at<uint32_t>(file, at + 4);
      if (file[at + 1] == kRegisterCount && symbol < editor.elf().symbols.size() &&
          editor.elf().symbols[symbol].name == editor.kernel())
        write_at<uint32_t>(file, at + 8, static_cast<uint32_t>(registers));
      at += 4 + size;
    }
  }
  // Older targets keep it in the top byte of the section's info as well.
  if (editor.elf().sections[editor.text()].info >> 24 != 0)
    write_at<uint8_t>(file, section_header_at(file, editor.text()) + 47,
                      static_cast<uint8_t>(registers));
}

// The symbol of the kernel, and its entry in the table of frames: both record the code's size.
void mend_sizes(Editor& editor, uint64_t size) {
  const std::span<uint8_t> file = editor.file();
  const Elf& elf = editor.elf();
  const size_t text = editor.text();
  for (const Section& section : elf.sections) {
    if (section.type != 2) continue;  // SHT_SYMTAB
    for (size_t i = 0; i < elf.symbols.size(); ++i)
      if (elf.symbols[i].section == text && elf.symbols[i].type == kFunction)
        write_at<uint64_t>(file, section.offset + i * kSymbolBytes + 16, size);
  }
  if (const Section* frames = elf.find(".debug_frame"))
    for (const Relocation& relocation : relocations_of(elf, ".debug_frame"))
      if (is_about(elf, relocation, text))
        write_at<uint64_t>(file, frames->offset + relocation.offset + 8, size);
}

std::vector<LineRow> moved_rows(std::span<const LineRow> rows, const Code& code) {
  std::vector<LineRow> out;
  for (size_t i = 0; i < code.origins.size(); ++i) {
    const LineRow* row = row_at(rows, static_cast<uint32_t>(code.origins[i] * kWordBytes));
    if (row == nullptr) continue;
    if (!out.empty() && out.back().line == row->line && out.back().file == row->file) continue;
    out.push_back({static_cast<uint32_t>(i * kWordBytes), row->line, row->file});
  }
  return out;
}

// The length of the unit that `at` lies in, and relocations behind, follow a change by `delta`.
void mend_line_section(Editor& editor, size_t section, uint64_t at, uint64_t end, int64_t delta) {
  const std::span<uint8_t> file = editor.file();
  const uint64_t base = editor.elf().sections[section].offset;
  for (uint64_t unit = 0; unit < at;) {
    const uint64_t length = read_at<uint32_t>(file, base + unit);
    if (at < unit + 4 + length)
      write_at<uint32_t>(file, base + unit, static_cast<uint32_t>(length + uint64_t(delta)));
    unit += 4 + length;
  }
  for (const Relocation& relocation :
       relocations_of(editor.elf(), editor.elf().sections[section].name))
    if (relocation.offset >= end)
      write_at<uint64_t>(file, relocation.at, relocation.offset + uint64_t(delta));
}

void mend_lines(Editor& editor, std::string_view name, const Code& code) {
  const size_t section = editor.find(name);
  if (!editor.has(section)) return;
  for (const LineSequence& sequence : read_line_table(editor.elf().sections[section].bytes)) {
    bool ours = false;
    for (const Relocation& relocation : relocations_of(editor.elf(), name))
      ours |= relocation.offset == sequence.address_at &&
              is_about(editor.elf(), relocation, editor.text());
    if (!ours) continue;
    const auto end = static_cast<uint32_t>(code.words.size() * kWordBytes);
    const std::vector<uint8_t> program = write_line_program(moved_rows(sequence.rows, code), end);
    const uint64_t begin = sequence.address_at + 8;
    const int64_t delta = int64_t(program.size()) - int64_t(sequence.end_at - begin);
    editor.replace(section, begin, sequence.end_at, program);
    mend_line_section(editor, section, begin, sequence.end_at, delta);
    return;
  }
}

// Whether the file reads back as the code that was written.
bool holds(std::span<const uint8_t> file, std::string_view kernel, const Code& code) {
  const dsl::Result<Cubin> cubin = read_cubin(file);
  const Kernel* now = cubin ? cubin->find(kernel) : nullptr;
  return now != nullptr && now->words == code.words && now->registers == code.registers;
}

}  // namespace

Word nop_word() {
  return {.lo = 0x7918, .hi = uint64_t{0x000fc000} << 32};
}

dsl::Result<std::vector<uint8_t>> replace_code(std::span<const uint8_t> file,
                                               std::string_view kernel, const Code& code) {
  dsl::Result<Cubin> cubin = read_cubin(file);
  if (!cubin) return tl::unexpected(std::move(cubin.error()));
  const Kernel* old = cubin->find(kernel);
  if (old == nullptr)
    return tl::unexpected(dsl::Error::machine(
        "no-kernel", fmt::format("the cubin holds no kernel named {}", kernel)));
  Editor editor(file, kernel);
  if (!editor.has(editor.text()) ||
      editor.elf().sections[editor.text()].bytes.size() != old->words.size() * kWordBytes)
    return tl::unexpected(not_editable("another section bears the name of its code"));
  if (std::string obstacle = find_obstacle(editor.elf(), kernel); !obstacle.empty())
    return tl::unexpected(not_editable(std::move(obstacle)));

  Code padded = code;
  while (padded.words.size() * kWordBytes % kCodeAlignment != 0) {
    padded.words.push_back(nop_word());
    padded.origins.push_back(padded.origins.empty() ? 0 : padded.origins.back());
  }
  mend_offsets(editor, moved_offsets(padded, old->words.size()));
  mend_registers(editor, code.registers);
  mend_lines(editor, ".debug_line", padded);
  mend_lines(editor, ".nv_debug_line_sass", padded);
  const std::vector<uint8_t> bytes = bytes_of(padded.words);
  editor.replace(editor.text(), 0, old->words.size() * kWordBytes, bytes);
  if (!editor.intact()) return tl::unexpected(not_editable("its tables overlap"));
  mend_sizes(editor, bytes.size());
  std::vector<uint8_t> out = editor.take();
  if (!holds(out, kernel, padded))
    return tl::unexpected(not_editable("its tables overlap, and mending one damages another"));
  return out;
}

}  // namespace tilec::sass
