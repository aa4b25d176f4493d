#include "compiler/sass/cross_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace tilec::sass {
namespace {

struct TextRegister {
  int number = 0;
  bool reuse = false;
  bool pair = false;  // "R10.64": an address of two registers
};

struct ParsedText {
  Guard guard;
  std::string_view mnemonic;  // with its modifiers: "LDG.E.128"
  std::string_view operands;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

int number_at(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) break;
    value = value * 10 + (c - '0');
    if (value > 9999) break;
  }
  return value;
}

ParsedText parse(std::string_view text) {
  ParsedText out;
  if (text.starts_with('@')) {
    const size_t space = std::min(text.find(' '), text.size());
    std::string_view guard = text.substr(1, space - 1);
    out.guard.negated = guard.starts_with('!');
    if (out.guard.negated) guard.remove_prefix(1);
    if (guard.starts_with('U')) guard.remove_prefix(1);  // a uniform predicate, in the same field
    out.guard.predicate = guard == "PT" ? kTruePredicate : number_at(guard.substr(1));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  const size_t space = std::min(text.find(' '), text.size());
  out.mnemonic = text.substr(0, space);
  out.operands = text.substr(space);
  return out;
}

// General registers in order: R12, RZ; not UR4, SR_TID.X, B0, nor names within labels.
std::vector<TextRegister> registers_of(std::string_view operands) {
  std::vector<TextRegister> out;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == '`') i = std::min(operands.find(')', i), operands.size() - 1);
    if (operands[i] != 'R' || (i > 0 && (is_word(operands[i - 1]) || operands[i - 1] == '.')))
      continue;
    size_t end = i + 1;
    while (end < operands.size() && is_word(operands[end])) ++end;
    const std::string_view word = operands.substr(i + 1, end - i - 1);
    const bool digits = !word.empty() && std::ranges::all_of(word, [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
    if (!digits && word != "Z") continue;
    // Modifiers follow up to the next operand: R4.H0_H0.reuse, |R4|.reuse
    const size_t stop = std::min(operands.find_first_of(",]+ ", end), operands.size());
    const std::string_view modifiers = operands.substr(end, stop - end);
    out.push_back({.number = word == "Z" ? kZeroRegister : number_at(word),
                   .reuse = modifiers.find(".reuse") != std::string_view::npos,
                   .pair = modifiers.starts_with(".64")});
    i = end - 1;
  }
  return out;
}

// The longest dotted front of `mnemonic` that is the name of some opcode: "IMAD.WIDE" of
// "IMAD.WIDE.U32"; the part before the first dot if none is.
std::string_view name_in(std::string_view mnemonic) {
  std::string_view front = mnemonic;
  while (true) {
    for (const Opcode& row : opcodes())
      if (row.name == front) return front;
    const size_t dot = front.rfind('.');
    if (dot == std::string_view::npos) return front;
    front = front.substr(0, dot);
  }
}

std::string register_name(int number) {
  return number == kZeroRegister ? "RZ" : fmt::format("R{}", number);
}

int reuse_bit(Slot slot) {
  return slot == Slot::a ? 1 : slot == Slot::b ? 2 : slot == Slot::c ? 4 : 0;
}

std::optional<std::string> compare_registers(const Instruction& ours,
                                             const std::vector<TextRegister>& theirs) {
  // Registers that stand for nothing (LEA's c, an address that is all uniform) are RZ in the word
  // and not in the text, so RZ may be passed over on our side.
  size_t next = 0;
  int reuse = 0;
  int at = 0;
  for (const RegisterUse& use : ours.registers()) {
    ++at;
    const bool matches = next < theirs.size() && theirs[next].number == use.first;
    if (!matches && use.first == kZeroRegister) continue;
    if (next >= theirs.size())
      return fmt::format("register {}: decoded {}, no such operand", at, register_name(use.first));
    if (!matches)
      return fmt::format("register {} is {}, decoded {}", at, register_name(theirs[next].number),
                         register_name(use.first));
    if (theirs[next].pair && use.count == 1)
      return fmt::format("register {} is a pair, decoded as one", at);
    if (theirs[next].reuse) reuse |= reuse_bit(use.slot);
    ++next;
  }
  if (next < theirs.size())
    return fmt::format("{} registers in the text, {} decoded", theirs.size(), next);
  if (reuse != ours.control.reuse)
    return fmt::format("reuse {:#x} in the text, decoded {:#x}", reuse, ours.control.reuse);
  return std::nullopt;
}

// Registers of a load's or store's data by the text: .64 and .128 say so.
int text_data_registers(std::string_view mnemonic) {
  for (const auto& [modifier, count] : {std::pair{".128", 4}, {".64", 2}})
    if (mnemonic.find(modifier) != std::string_view::npos) return count;
  return 1;
}

std::optional<std::string> compare_widths(const Instruction& ours, std::string_view mnemonic) {
  int expected = text_data_registers(mnemonic);
  switch (ours.opcode->width) {
    case Width::local:
    case Width::global:
      break;
    case Width::marked:  // CS2R is a pair unless it says .32
      if (mnemonic == "CS2R") expected = 2;
      break;
    default:
      return std::nullopt;
  }
  for (const RegisterUse& use : ours.registers()) {
    const bool is_data = use.slot != Slot::a && ours.opcode->slots.front() != 'd';
    if (is_data && use.count != expected)
      return fmt::format("{} data registers in the text, decoded {}", expected, use.count);
  }
  return std::nullopt;
}

using Labels = std::map<std::string, uint32_t, std::less<>>;

std::optional<std::string> compare_target(const Instruction& ours, std::string_view operands,
                                          const Labels& labels) {
  const size_t open = operands.find("`(");
  const size_t close = operands.find(')', open);
  if (open == std::string_view::npos || close == std::string_view::npos || !ours.target)
    return std::nullopt;
  const auto label = labels.find(operands.substr(open + 2, close - open - 2));
  if (label == labels.end() || *ours.target == label->second) return std::nullopt;
  return fmt::format("target {:#x} in the text, decoded {:#x}", label->second, *ours.target);
}

std::optional<std::string> compare(const Instruction& ours, const TextLine& theirs,
                                   const Labels& labels) {
  if (ours.word != theirs.word) return "the words differ";
  const ParsedText text = parse(theirs.text);
  if (ours.guard != text.guard) return "the guards differ";
  if (ours.opcode == nullptr) return std::nullopt;
  if (name_in(text.mnemonic) != ours.opcode->name)
    return fmt::format("{} in the text, decoded {}", text.mnemonic, ours.opcode->name);
  if (std::optional<std::string> what = compare_target(ours, text.operands, labels)) return what;
  if (ours.opcode->slots == "?") return std::nullopt;
  if (std::optional<std::string> what = compare_widths(ours, text.mnemonic)) return what;
  return compare_registers(ours, registers_of(text.operands));
}

}  // namespace

std::vector<Mismatch> cross_check(std::span<const Instruction> instructions,
                                  const TextKernel& text) {
  Labels labels;
  for (const TextLabel& label : text.labels) labels[label.name] = label.offset;
  std::vector<Mismatch> out;
  size_t at = 0;
  for (const Instruction& ours : instructions) {
    while (at < text.lines.size() && text.lines[at].offset < ours.offset) ++at;
    if (at >= text.lines.size() || text.lines[at].offset != ours.offset) {
      out.push_back({.offset = ours.offset, .what = "not in the text"});
      continue;
    }
    if (std::optional<std::string> what = compare(ours, text.lines[at], labels))
      out.push_back({ours.offset, text.lines[at].text, std::move(*what)});
  }
  return out;
}

}  // namespace tilec::sass
