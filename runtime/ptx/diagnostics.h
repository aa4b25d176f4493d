// Every fault of a PTX text or of a launch that is the user's, as rows of one table. Each row has
// a test that provokes it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/error.h"

namespace tilec::ptx {

/// Codes of diagnostics, in the order of the road: text, module, instruction, launch.
inline constexpr std::array<std::string_view, 35> kDiagnosticCodes = {
    "ptx-not-text",             // bytes that no PTX file has
    "ptx-truncated",            // the text ends inside something
    "ptx-syntax",               // expected X, found Y
    "ptx-number",               // a number that does not read, or does not fit
    "ptx-version",              // .version missing or not known
    "ptx-target",               // .target missing or not known
    "ptx-address-size",         // not 64
    "ptx-unknown-directive",    //
    "ptx-unsupported",          // known PTX that the machine does not execute
    "ptx-duplicate-name",       // variable, register, function
    "ptx-duplicate-label",      //
    "ptx-missing-label",        //
    "ptx-undeclared-register",  //
    "ptx-undeclared-name",      //
    "ptx-too-large",            // arrays, register counts, shared memory
    "ptx-alignment",            // .align not a power of two
    "ptx-initialiser",          // too many values, or values that do not fit
    "ptx-reqntid",              // .reqntid, .maxntid of 0 or over the limit
    "ptx-unknown-instruction",  //
    "ptx-bad-modifier",         // a modifier the instruction does not have, or lacks
    "ptx-operand-count",        //
    "ptx-bad-operand",          // kind of operand
    "ptx-type-mismatch",        // type of a register against the instruction's
    "ptx-bad-guard",            // guard is no predicate
    "ptx-state-space",          // address of a variable in another space
    "ptx-call",                 // arguments of a call against the function's
    "ptx-recursion",            //
    "launch-no-entry",          //
    "launch-argument-count",    //
    "launch-argument-type",     //
    "launch-grid",              //
    "launch-block",             //
    "launch-bounds",            // .reqntid or .maxntid against the block
    "launch-shared",            // shared memory over the limit
    "launch-config",            // other fields of LaunchConfig
};

/// Collects diagnostics of one text; after `kMost` the rest is dropped.
class Faults {
 public:
  static constexpr size_t kMost = 20;

  void add(std::string_view code, dsl::Span span, std::string message, std::string help = "") {
    if (list_.size() < kMost)
      list_.push_back({std::string(code), span, std::move(message), std::move(help)});
  }
  bool any() const { return !list_.empty(); }
  bool full() const { return list_.size() >= kMost; }
  dsl::Error error(const dsl::Source& source) const {
    return {.road = dsl::Road::user, .diagnostics = list_, .source = source};
  }

 private:
  std::vector<dsl::Diagnostic> list_;
};

}  // namespace tilec::ptx
