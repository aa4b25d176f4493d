#include "dsl/source.h"

#include <algorithm>

namespace tilec::dsl {

Position Source::position(uint32_t offset) const {
  size_t end = std::min<size_t>(offset, text.size());
  std::string_view before = std::string_view(text).substr(0, end);
  size_t last_break = before.rfind('\n');
  Position position;
  position.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  position.column =
      1 + static_cast<int>(last_break == std::string_view::npos ? end : end - last_break - 1);
  return position;
}

std::string_view Source::line(int number) const {
  std::string_view rest = text;
  for (int i = 1; i < number; ++i) {
    size_t line_break = rest.find('\n');
    if (line_break == std::string_view::npos) return {};
    rest.remove_prefix(line_break + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

}  // namespace tilec::dsl
