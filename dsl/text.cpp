#include "dsl/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilec::dsl {
namespace {

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

size_t common_beginning(std::string_view a, std::string_view b) {
  size_t length = 0;
  while (length < std::min(a.size(), b.size()) && a[length] == b[length]) ++length;
  return length;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Rows i-2, i-1 and i of the usual table (optimal string alignment).
  std::vector<int> two_back(b.size() + 1), back(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_back, back);
    std::swap(back, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int change = back[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({back[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_back[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest_word(std::string_view word,
                                        std::span<const std::string_view> words) {
  if (word.size() > 40) return std::nullopt;
  std::string wanted = lower(word);
  int best = 1000;
  size_t best_beginning = 0;
  std::string_view found;
  for (std::string_view candidate : words) {
    int distance = edit_distance(wanted, candidate);
    // Of words equally near, the one that begins alike for longer: sm_90a for sm_90, not sm_80.
    size_t beginning = common_beginning(wanted, candidate);
    if (distance < best || (distance == best && beginning > best_beginning)) {
      best = distance;
      best_beginning = beginning;
      found = candidate;
    }
  }
  int allowed = std::clamp((static_cast<int>(wanted.size()) + 1) / 3, 1, 2);
  if (best > allowed) return std::nullopt;
  return std::string(found);
}

std::string join(std::span<const std::string_view> words, std::string_view last_separator) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? last_separator : std::string_view(", ");
    out += words[i];
  }
  return out;
}

int character_bytes(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}

std::optional<size_t> first_binary_byte(std::string_view text) {
  // The ranges of Unicode 15, table 3-7: no overlong forms, no surrogates, nothing past U+10FFFF.
  size_t i = 0;
  while (i < text.size()) {
    auto lead = static_cast<unsigned char>(text[i]);
    if (lead == 0 || (lead >= 0x80 && lead < 0xc2) || lead > 0xf4) return i;
    size_t length = static_cast<size_t>(character_bytes(text[i]));
    if (i + length > text.size()) return i;
    for (size_t j = 1; j < length; ++j) {
      auto next = static_cast<unsigned char>(text[i + j]);
      unsigned low = 0x80, high = 0xbf;
      if (j == 1 && lead == 0xe0) low = 0xa0;
      if (j == 1 && lead == 0xed) high = 0x9f;
      if (j == 1 && lead == 0xf0) low = 0x90;
      if (j == 1 && lead == 0xf4) high = 0x8f;
      if (next < low || next > high) return i;
    }
    i += length;
  }
  return std::nullopt;
}

std::string quoted(std::string_view word, size_t bytes) {
  std::string out;
  for (char c : word) {
    if (out.size() >= bytes && (static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      out += "...";
      break;
    }
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return "`" + out + "`";
}

}  // namespace tilec::dsl
