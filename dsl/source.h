// A piece of text with a name: what every span points into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilec::dsl {

/// Half-open byte range [begin, end) of a source text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Span&) const = default;
};

/// 1-based line and column, in bytes.
struct Position {
  int line = 1;
  int column = 1;
};

struct Source {
  std::string name;  // a file name, or "<spec>" for a string from the command line
  std::string text;

  Position position(uint32_t offset) const;
  std::string_view line(int number) const;  // without its line end; empty past the last line
};

}  // namespace tilec::dsl
