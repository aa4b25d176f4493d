// Errors as values. Three roads for trouble, kept apart from the start: what the user gave us is
// wrong; our own code is wrong; the machine is wrong. No exceptions cross a public function.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "dsl/source.h"

namespace tilec::dsl {

enum class Road {
  user,      // a spec, a PTX file, an argument: exit code 1
  check,     // a result or a budget did not hold: exit code 3
  machine,   // no driver, no assembler, a launch failed: exit code 4
  internal,  // our code is wrong: exit code 70, with a reproducer
};

/// One finding. `code` is the stable name of a row in its folder's table of diagnostics.
struct Diagnostic {
  std::string code;     // e.g. "warp-does-not-divide-tile"
  Span span;            // where; empty span with begin == end marks a point
  std::string message;  // the rule, in numbers
  std::string help;     // the way out: nearest legal spec, suggestion; may be empty
};

/// Why something did not happen. At least one diagnostic; `source_name` and text locate the spans.
struct Error {
  Road road = Road::user;
  std::vector<Diagnostic> diagnostics;
  Source source;  // empty where spans mean nothing (machine errors)

  static Error machine(std::string code, std::string message, std::string help = "");
  static Error internal(std::string message);
  static Error user(std::string code, std::string message, std::string help = "");
};

template <class T>
using Result = tl::expected<T, Error>;

/// `name:line:column: error: message [code]`, the line, a caret under the span, and the help.
std::string render(const Error& error);

}  // namespace tilec::dsl
