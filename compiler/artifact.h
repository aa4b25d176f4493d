// What compiling a spec leaves behind: plain data, one field a stage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/derive.h"
#include "dsl/spec.h"

namespace tilec {

/// What the assembler said, read from its own words.
struct AssemblerReport {
  std::string tool;     // "nvJitLink", "ptxas" or "driver"
  std::string version;  // "13.0.88"
  int registers = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t stack_bytes = 0;
  std::string log;
};

/// What became of the steady loop after the assembler.
struct SassReport {
  bool rewritten = false;
  std::string why_not;             // where it is as assembled: why, one plain line
  std::vector<uint8_t> assembled;  // the cubin before, where it was rewritten
};

struct StageTime {
  std::string stage;  // a pass, "llvm", "ptx", "assemble"
  double ms = 0;
};

struct Dump {
  std::string pass;
  std::string text;
};

/// The kernel's parameters, in order: a, b, c (pointers to global memory), m, n, k (s32, >= 0),
/// lda, ldb, ldc (s64, elements from one stored row to the next), alpha, beta (f32).
/// Block x of a one-dimensional grid computes one tile of C:
/// blocks = ceil(m / tile.m) * ceil(n / tile.n).
struct Artifact {
  dsl::Spec spec;
  dsl::Derived derived;
  std::string tile;  // tile IR after the last pass; PTX's debug locations point into it
  std::string llvm;  // after optimisation
  std::string ptx;
  std::vector<uint8_t> cubin;  // empty where no assembler was found
  AssemblerReport assembler;
  SassReport sass;
  std::vector<StageTime> times;
  std::vector<Dump> dumps;  // the passes asked for
};

}  // namespace tilec
