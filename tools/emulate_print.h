// What `tilec emulate` says.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/elements.h"
#include "tools/emulate_run.h"

namespace tilec {

/// One --expect: which argument was held against which file, and what came of it.
struct Expectation {
  size_t argument = 0;
  std::string file;
  ElementComparison comparison;
  bool held = false;
};

/// One --out.
struct EmulateOutput {
  size_t argument = 0;
  std::string file;
};

struct EmulateReport {
  const EmulateCommand* command = nullptr;
  const ptx::Module* module = nullptr;
  std::string entry;
  std::span<const EmulateArgument> arguments;
  const EmulateRun* run = nullptr;
  std::vector<EmulateOutput> outputs;  // those that were written
  std::vector<Expectation> expected;
};

/// Several lines, with a line end. Findings are only counted here: they are the command's error.
std::string emulate_text(const EmulateReport& report);

/// Schema "tilec.emulate/1".
std::string emulate_json(const EmulateReport& report);

}  // namespace tilec
