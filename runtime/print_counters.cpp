#include "runtime/print_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace tilec {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kSectorBytes = 32;

struct MemoryRow {
  std::string_view key;
  std::string_view words;
  ptx::MemoryCounts ptx::Counts::* counts;
  bool sectors;     // of global memory
  bool wavefronts;  // of shared memory
};

constexpr MemoryRow kMemory[] = {
    {"global_load", "global loads", &ptx::Counts::global_load, true, false},
    {"global_store", "global stores", &ptx::Counts::global_store, true, false},
    {"shared_load", "shared loads", &ptx::Counts::shared_load, false, true},
    {"shared_store", "shared stores", &ptx::Counts::shared_store, false, true},
    {"atomics", "atomics", &ptx::Counts::atomics, true, true},
};

double ratio(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

Json ratio_json(uint64_t a, uint64_t b) {
  return b == 0 ? Json() : Json(ratio(a, b));
}

std::string ratio_cell(uint64_t a, uint64_t b) {
  return b == 0 ? "-" : fmt::format("{:.2f}", ratio(a, b));
}

std::string line(std::string_view word, const std::string& text) {
  return fmt::format("{:<10} {}\n", word, text);
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin));
}

/// Line after line of a text, without searching it anew for each.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      lines_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  std::string at(int number) const {
    const bool there = number >= 1 && static_cast<size_t>(number) <= lines_.size();
    return there ? trimmed(lines_[static_cast<size_t>(number) - 1]) : "";
  }

 private:
  std::vector<std::string_view> lines_;
};

Json memory_json(const MemoryRow& row, const ptx::MemoryCounts& counts) {
  Json json = {{"requests", counts.requests}, {"bytes", counts.bytes}};
  if (row.sectors) {
    json["sectors"] = counts.sectors;
    json["bytes_moved"] = counts.sectors * kSectorBytes;
    json["sectors_per_request"] = ratio_json(counts.sectors, counts.requests);
  }
  if (row.wavefronts) {
    json["wavefronts"] = counts.wavefronts;
    json["conflicts"] = counts.conflicts;
    json["conflicts_by_bank"] = counts.bank_conflicts;
    json["wavefronts_per_request"] = ratio_json(counts.wavefronts, counts.requests);
  }
  return json;
}

// The banks at fault, the worst first; a few stand for all.
std::string banks_text(const std::array<uint64_t, 32>& conflicts) {
  constexpr size_t kMost = 8;
  std::vector<size_t> banks;
  for (size_t bank = 0; bank < conflicts.size(); ++bank)
    if (conflicts[bank] > 0) banks.push_back(bank);
  const auto [least, most] = std::ranges::minmax_element(conflicts);
  if (banks.size() == conflicts.size() && *least == *most) return ", all banks alike";
  std::ranges::sort(banks, [&](size_t a, size_t b) {
    return std::pair(conflicts[b], a) < std::pair(conflicts[a], b);
  });
  std::string out = banks.size() == 1 ? ", bank" : ", banks";
  for (size_t i = 0; i < std::min(banks.size(), kMost); ++i) {
    const char* separator = i == 0 ? " " : ", ";
    out += fmt::format("{}{}: {}", separator, banks[i], conflicts[banks[i]]);
  }
  if (banks.size() > kMost) out += fmt::format(" and {} more", banks.size() - kMost);
  return out;
}

std::string memory_text(const MemoryRow& row, const ptx::MemoryCounts& counts) {
  std::string out =
      fmt::format("{:<14} {} requests for {} bytes", row.words, counts.requests, counts.bytes);
  if (row.sectors && counts.sectors > 0)
    out += fmt::format(", {} sectors ({:.2f} a request) of {} bytes", counts.sectors,
                       ratio(counts.sectors, counts.requests), counts.sectors * kSectorBytes);
  if (row.wavefronts && counts.wavefronts > 0)
    out +=
        fmt::format(", {} wavefronts ({:.2f} a request), {} of them conflicts", counts.wavefronts,
                    ratio(counts.wavefronts, counts.requests), counts.conflicts);
  if (row.wavefronts && counts.conflicts > 0) out += banks_text(counts.bank_conflicts);
  return out;
}

// Most frequent first, several a line.
std::string classes_text(const ptx::Counts& counts) {
  constexpr size_t kALine = 4;
  std::vector<size_t> order;
  for (size_t i = 0; i < counts.by_class.size(); ++i)
    if (counts.by_class[i] > 0) order.push_back(i);
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::pair(counts.by_class[b], a) < std::pair(counts.by_class[a], b);
  });
  std::string out, row;
  for (size_t at = 0; at < order.size(); ++at) {
    const size_t i = order[at];
    row += fmt::format("{}{} {} ({:.1f} %)", row.empty() ? "" : ", ",
                       ptx::name_of(static_cast<ptx::InstructionClass>(i)), counts.by_class[i],
                       100 * ratio(counts.by_class[i], counts.warp_instructions));
    if (at + 1 < order.size() && at % kALine != kALine - 1) continue;
    out += line(out.empty() ? "classes" : "", row);
    row.clear();
  }
  return out;
}

}  // namespace

std::string counts_text(const ptx::Counts& counts) {
  std::string out = line("whole", fmt::format("{} warp instructions, {} thread instructions, {} "
                                              "lanes predicated off",
                                              counts.warp_instructions, counts.thread_instructions,
                                              counts.predicated_off));
  out += line(
      "", fmt::format("{} multiply-adds, {:.2f} an instruction and thread; {} FMAs: {:.1f} % "
                      "of the instructions",
                      counts.multiply_adds, ratio(counts.multiply_adds, counts.thread_instructions),
                      counts.fma, 100 * counts.fma_share()));
  out += line("", fmt::format("{} barriers, {} divergent branches, {} bytes through cp.async",
                              counts.barriers, counts.divergent_branches, counts.async_bytes));
  out += classes_text(counts);
  for (const MemoryRow& row : kMemory) {
    const ptx::MemoryCounts& memory = counts.*row.counts;
    if (memory.requests > 0) out += line("memory", memory_text(row, memory));
  }
  return out;
}

std::string lines_text(std::string_view title, std::span<const ptx::LineCounts> lines,
                       std::string_view source, size_t most) {
  std::vector<const ptx::LineCounts*> rows;
  for (const ptx::LineCounts& each : lines) rows.push_back(&each);
  const auto busier = [](const ptx::LineCounts* a, const ptx::LineCounts* b) {
    return std::pair(b->counts.warp_instructions, a) < std::pair(a->counts.warp_instructions, b);
  };
  if (rows.size() > most) {
    std::ranges::sort(rows, busier);
    rows.resize(most);
    std::ranges::sort(rows);  // back in the order of the text
  }
  const Lines texts(source);
  std::string out = fmt::format(
      "{}{}\n", title,
      rows.size() < lines.size() ? fmt::format(", the {} busiest of {}", rows.size(), lines.size())
                                 : "");
  out += fmt::format("{:>6} {:>14} {:>14} {:>11} {:>14} {:>10}\n", "line", "warp instr.", "FMAs",
                     "sectors/req", "wavefronts/req", "conflicts");
  for (const ptx::LineCounts* row : rows) {
    const ptx::Counts& c = row->counts;
    const uint64_t global = c.global_load.requests + c.global_store.requests;
    const uint64_t shared = c.shared_load.requests + c.shared_store.requests;
    std::string text = texts.at(row->line);
    if (row->line == 0) text = "(no line)";
    out += fmt::format("{:>6} {:>14} {:>14} {:>11} {:>14} {:>10}  {}\n", row->line,
                       c.warp_instructions, c.fma,
                       ratio_cell(c.global_load.sectors + c.global_store.sectors, global),
                       ratio_cell(c.shared_load.wavefronts + c.shared_store.wavefronts, shared),
                       c.shared_load.conflicts + c.shared_store.conflicts, text);
  }
  return out;
}

Json counts_json(const ptx::Counts& counts, bool brief) {
  Json classes = Json::object();
  for (size_t i = 0; i < counts.by_class.size(); ++i)
    if (counts.by_class[i] > 0)
      classes[std::string(ptx::name_of(static_cast<ptx::InstructionClass>(i)))] =
          counts.by_class[i];
  Json json = {{"warp_instructions", counts.warp_instructions},
               {"thread_instructions", counts.thread_instructions},
               {"predicated_off", counts.predicated_off},
               {"by_class", classes},
               {"fma", counts.fma},
               {"fma_share", ratio_json(counts.fma, counts.warp_instructions)},
               {"multiply_adds", counts.multiply_adds},
               {"multiply_adds_per_instruction",
                ratio_json(counts.multiply_adds, counts.thread_instructions)}};
  for (const MemoryRow& row : kMemory) {
    const ptx::MemoryCounts& memory = counts.*row.counts;
    if (!brief || memory.requests > 0) json[std::string(row.key)] = memory_json(row, memory);
  }
  json["barriers"] = counts.barriers;
  json["async_bytes"] = counts.async_bytes;
  json["divergent_branches"] = counts.divergent_branches;
  return json;
}

Json lines_json(std::span<const ptx::LineCounts> lines, std::string_view source) {
  const Lines texts(source);
  Json list = Json::array();
  for (const ptx::LineCounts& each : lines) {
    Json json = {{"line", each.line}};
    if (!each.file.empty()) json["file"] = each.file;
    if (std::string text = texts.at(each.line); !text.empty()) json["text"] = text;
    json.update(counts_json(each.counts, true));
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace tilec
