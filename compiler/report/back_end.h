// What our own back end made of the steady loop behind the assembler, for the report.
#pragma once

#include <optional>
#include <string>

#include "compiler/artifact.h"
#include "compiler/target.h"

namespace tilec {

struct BackEnd {
  bool rewritten = false;
  std::string why_not;          // where it is as assembled: why, one plain line
  bool measured = false;        // whether anybody has measured such loops on this target
  int registers_assembled = 0;  // per thread, before
  int registers = 0;            // per thread, as the kernel is now
  // Predicted by the bank model (compiler/sass/banks.h); none without a steady loop.
  std::optional<double> cycles_per_fma_assembled;
  std::optional<double> cycles_per_fma;
};

/// Needs an artifact with a cubin that can be read.
BackEnd describe_back_end(const Artifact& artifact, const Target& target);

/// One or two lines for people, with line ends.
std::string back_end_text(const BackEnd& back_end, std::string_view target);

}  // namespace tilec
