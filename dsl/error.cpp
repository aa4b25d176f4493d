#include "dsl/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilec::dsl {
namespace {

constexpr size_t kWidest = 160;  // bytes of a source line shown; the rest is cut round the caret

Error one(Road road, std::string code, std::string message, std::string help) {
  Error error;
  error.road = road;
  error.diagnostics.push_back({std::move(code), {}, std::move(message), std::move(help)});
  return error;
}

std::string_view heading(Road road) {
  switch (road) {
    case Road::user:
      return "error";
    case Road::check:
      return "check failed";
    case Road::machine:
      return "machine error";
    case Road::internal:
      return "internal error";
  }
  return "error";
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// A byte that would disturb a terminal is shown as `?`, and a tab as one space, so that the caret
// stands under its place.
std::string printable(std::string_view line) {
  std::string out(line);
  for (char& c : out) {
    if (c == '\t') c = ' ';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

// Columns on screen: one for each character, however many bytes it has.
size_t columns(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

// The part of `line` to show round byte `at`, without cutting a character in two.
std::pair<size_t, size_t> window(std::string_view line, size_t at) {
  if (line.size() <= kWidest) return {0, line.size()};
  size_t begin = at > kWidest / 2 ? at - kWidest / 2 : 0;
  begin = std::min(begin, line.size() - kWidest);
  size_t end = begin + kWidest;
  while (begin > 0 && continues_character(line[begin])) --begin;
  while (end < line.size() && continues_character(line[end])) ++end;
  return {begin, end};
}

// The source line and the caret line under it.
std::string excerpt(const Source& source, Span span, Position position) {
  std::string_view line = source.line(position.line);
  size_t at = std::min<size_t>(static_cast<size_t>(position.column - 1), line.size());
  size_t length = std::max<size_t>(1, span.end > span.begin ? span.end - span.begin : 1);
  auto [begin, end] = window(line, at);
  size_t last = std::min(at + length, end);
  std::string_view before = line.substr(begin, at - begin);
  std::string_view under = line.substr(at, last > at ? last - at : 0);
  std::string_view head = begin > 0 ? "..." : "";
  std::string_view tail = end < line.size() ? "..." : "";
  std::string out =
      fmt::format("  {}{}{}\n", head, printable(line.substr(begin, end - begin)), tail);
  out += "  " + std::string(head.size() + columns(before), ' ') + '^';
  out += std::string(std::max<size_t>(1, columns(under)) - 1, '~') + '\n';
  return out;
}

}  // namespace

Error Error::machine(std::string code, std::string message, std::string help) {
  return one(Road::machine, std::move(code), std::move(message), std::move(help));
}

Error Error::internal(std::string message) {
  return one(Road::internal, "internal", std::move(message),
             "this is a fault of tilec itself; please report it with the input");
}

Error Error::user(std::string code, std::string message, std::string help) {
  return one(Road::user, std::move(code), std::move(message), std::move(help));
}

std::string render(const Error& error) {
  std::string out;
  bool located = !error.source.name.empty();
  for (const Diagnostic& found : error.diagnostics) {
    if (located) {
      Position position = error.source.position(found.span.begin);
      out += fmt::format("{}:{}:{}: ", error.source.name, position.line, position.column);
      out += fmt::format("{}: {} [{}]\n", heading(error.road), found.message, found.code);
      out += excerpt(error.source, found.span, position);
    } else {
      out += fmt::format("{}: {} [{}]\n", heading(error.road), found.message, found.code);
    }
    if (!found.help.empty()) out += fmt::format("  help: {}\n", found.help);
  }
  return out;
}

}  // namespace tilec::dsl
