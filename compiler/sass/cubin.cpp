#include "compiler/sass/cubin.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/sass/elf.h"

namespace tilec::sass {
namespace {

constexpr int kCudaMachine = 190;  // e_machine EM_CUDA
constexpr int kFunction = 2;       // STT_FUNC
constexpr std::string_view kText = ".text.";
constexpr uint32_t kMostRegisters = 255;  // of a thread; more is damage

// Attributes of .nv.info sections, by observation (nvcc 13.0, and `readelf -x` beside what ptxas
// said of the same kernel). An entry is format (1 byte), attribute (1), then: format 4: a 16-bit
// size and that many bytes; formats 1 to 3: 2 bytes of value.
enum Attribute : uint8_t {
  max_threads = 0x05,       // three 32-bit numbers
  required_threads = 0x10,  // the same, from .reqntid
  frame_size = 0x11,        // symbol, bytes
  min_stack_size = 0x12,    // symbol, bytes
  register_count = 0x2f,    // symbol, registers
};
constexpr uint8_t kSizedFormat = 4;

struct Info {
  uint8_t attribute = 0;
  std::span<const uint8_t> value;
};

std::vector<Info> read_info(std::span<const uint8_t> bytes) {
  std::vector<Info> entries;
  uint64_t at = 0;
  while (at + 4 <= bytes.size()) {
    const uint8_t format = bytes[at];
    const uint8_t attribute = bytes[at + 1];
    if (format == kSizedFormat) {
      const uint64_t size = read_at<uint16_t>(bytes, at + 2);
      if (size > bytes.size() - at - 4) break;
      entries.push_back({attribute, bytes.subspan(at + 4, size)});
      at += 4 + size;
    } else {
      entries.push_back({attribute, bytes.subspan(at + 2, 2)});
      at += 4;
    }
  }
  return entries;
}

// ABI 8 (CUDA 13) keeps the machine in the second byte of the flags, ABI 7 and below in the first.
int machine_of(const Elf& elf) {
  return static_cast<int>(elf.abi_version >= 8 ? elf.flags >> 8 & 0xff : elf.flags & 0xff);
}

// The first text of a note that names the tool's release.
std::string assembler_of(const Elf& elf) {
  const Section* note = elf.find(".note.nv.tkinfo");
  if (note == nullptr) return "";
  const std::string_view text(reinterpret_cast<const char*>(note->bytes.data()),
                              note->bytes.size());
  const size_t at = text.find("Cuda compilation tools");
  if (at == std::string_view::npos) return "";
  return std::string(text.substr(at, text.find('\0', at) - at));
}

std::vector<Word> read_words(std::span<const uint8_t> bytes) {
  std::vector<Word> words;
  words.reserve(bytes.size() / kWordBytes);
  for (uint64_t at = 0; at + kWordBytes <= bytes.size(); at += kWordBytes)
    words.push_back({read_at<uint64_t>(bytes, at), read_at<uint64_t>(bytes, at + 8)});
  return words;
}

void add_module_info(const Elf& elf, size_t symbol, Kernel& kernel) {
  const Section* section = elf.find(".nv.info");
  if (section == nullptr) return;
  for (const Info& info : read_info(section->bytes)) {
    if (info.value.size() < 8 || read_at<uint32_t>(info.value, 0) != symbol) continue;
    const auto value = read_at<uint32_t>(info.value, 4);
    if (info.attribute == Attribute::register_count && value <= kMostRegisters)
      kernel.registers = static_cast<int>(value);
    if (info.attribute == Attribute::frame_size) kernel.frame_bytes = value;
    if (info.attribute == Attribute::min_stack_size) kernel.min_stack_bytes = value;
  }
}

void add_kernel_info(const Elf& elf, Kernel& kernel) {
  const Section* section = elf.find(".nv.info." + kernel.name);
  if (section == nullptr) return;
  for (const Info& info : read_info(section->bytes)) {
    if (info.attribute != Attribute::max_threads && info.attribute != Attribute::required_threads)
      continue;
    kernel.threads_per_block.clear();
    for (uint64_t i = 0; i < 3; ++i) {
      const auto extent = read_at<uint32_t>(info.value, i * 4);
      kernel.threads_per_block.push_back(static_cast<int>(std::min(extent, 1024U)));
    }
  }
}

// Which section a line sequence is about: the relocation of its address names a symbol there.
uint32_t section_of_sequence(const Elf& elf, uint64_t address_at) {
  for (const auto& [name, bytes] : {std::pair{".rela.debug_line", 24}, {".rel.debug_line", 16}}) {
    const Section* section = elf.find(name);
    if (section == nullptr) continue;
    const auto entry = static_cast<uint64_t>(bytes);
    for (uint64_t at = 0; at + entry <= section->bytes.size(); at += entry) {
      if (read_at<uint64_t>(section->bytes, at) != address_at) continue;
      const uint64_t symbol = read_at<uint64_t>(section->bytes, at + 8) >> 32;
      return symbol < elf.symbols.size() ? elf.symbols[symbol].section : 0;
    }
  }
  return 0;
}

}  // namespace

const Kernel* Cubin::find(std::string_view name) const {
  const auto at = std::ranges::find(kernels, name, &Kernel::name);
  return at == kernels.end() ? nullptr : &*at;
}

dsl::Result<Cubin> read_cubin(std::span<const uint8_t> file) {
  dsl::Result<Elf> elf = read_elf(file);
  if (!elf) return tl::unexpected(std::move(elf.error()));
  if (elf->machine != kCudaMachine)
    return tl::unexpected(dsl::Error::machine(
        "not-a-cubin", fmt::format("this ELF file is for machine {}, not CUDA", elf->machine)));

  Cubin cubin{.sm = machine_of(*elf), .assembler = assembler_of(*elf)};
  std::vector<size_t> kernel_of_section(elf->sections.size(), SIZE_MAX);
  for (size_t i = 0; i < elf->sections.size(); ++i) {
    const Section& section = elf->sections[i];
    if (!section.name.starts_with(kText) || section.bytes.empty()) continue;
    Kernel kernel{.name = section.name.substr(kText.size()),
                  .words = read_words(section.bytes),
                  .file_offset = section.offset};
    // Before ABI 8 the register count is in the top byte of the section's info as well.
    kernel.registers = static_cast<int>(section.info >> 24);
    for (size_t s = 0; s < elf->symbols.size(); ++s)
      if (elf->symbols[s].type == kFunction && elf->symbols[s].name == kernel.name)
        add_module_info(*elf, s, kernel);
    add_kernel_info(*elf, kernel);
    if (const Section* shared = elf->find(".nv.shared." + kernel.name))
      kernel.shared_bytes = static_cast<int64_t>(std::min<uint64_t>(shared->size, INT32_MAX));
    kernel_of_section[i] = cubin.kernels.size();
    cubin.kernels.push_back(std::move(kernel));
  }
  if (cubin.kernels.empty())
    return tl::unexpected(dsl::Error::machine("no-kernel", "the cubin holds no kernel"));

  if (const Section* lines = elf->find(".debug_line")) {
    for (LineSequence& sequence : read_line_table(lines->bytes)) {
      const uint32_t section = section_of_sequence(*elf, sequence.address_at);
      if (section < kernel_of_section.size() && kernel_of_section[section] != SIZE_MAX)
        cubin.kernels[kernel_of_section[section]].lines = std::move(sequence.rows);
    }
  }
  return cubin;
}

}  // namespace tilec::sass
