#include "dsl/read_source.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/parser.h"
#include "dsl/text.h"

namespace tilec::dsl {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool begins_as_spec(std::string_view text) {
  size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return true;
  if (text[begin] == '#') return true;
  std::string_view rest = text.substr(begin);
  std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n{#"));
  return word == "kernel" || find_clause(word);
}

tl::unexpected<Error> refuse(Fault fault, std::string message, std::string help = "") {
  return tl::unexpected(
      Error::user(std::string(row_of(fault).code), std::move(message), std::move(help)));
}

Result<Source> read_file(const std::string& path) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) {
    return refuse(Fault::unreadable_file, quoted(path, 200) + " is a directory, not a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return refuse(Fault::unreadable_file,
                  fmt::format("cannot read {}: {}", quoted(path, 200), std::strerror(errno)));
  }
  // One byte more than is allowed, so that a pipe or a device without an end is noticed.
  std::string text(kMostSourceBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return refuse(Fault::unreadable_file, "reading " + quoted(path, 200) + " failed");
  if (text.size() > kMostSourceBytes) {
    return refuse(Fault::source_too_large,
                  fmt::format("{} is longer than {} bytes, the most a spec may have",
                              quoted(path, 200), kMostSourceBytes));
  }
  return Source{path, std::move(text)};
}

Result<Source> as_text(const std::string& text) {
  if (text.size() > kMostSourceBytes) {
    return refuse(Fault::source_too_large, fmt::format("the spec has {} bytes; the most is {}",
                                                       text.size(), kMostSourceBytes));
  }
  return Source{"<spec>", text};
}

}  // namespace

Result<Source> read_source(const std::string& path_or_text) {
  if (begins_as_spec(path_or_text)) return as_text(path_or_text);
  std::error_code status;
  bool is_name = path_or_text.find('\0') == std::string::npos;
  if (is_name && std::filesystem::exists(path_or_text, status)) return read_file(path_or_text);
  if (path_or_text.find_first_of(" \t\r\n{}") != std::string::npos) return as_text(path_or_text);
  return refuse(Fault::missing_file, "there is no file " + quoted(path_or_text, 200),
                "a spec given as text begins with a clause, such as \"tile 128x128\"");
}

}  // namespace tilec::dsl
