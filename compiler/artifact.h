// What compiling a spec leaves behind: plain data, one field a stage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/derive.h"
#include "dsl/shape.h"
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

/// One kernel of the module: a point of entry and what a launch has to know of it.
struct Entry {
  std::string name;
  dsl::Extent tile;
  int threads = 0;             // per block
  int64_t shared_bytes = 0;    // per block, dynamic
  bool persistent = false;     // any number of blocks along x computes all tiles
  bool awaits_before = false;  // waits by itself for the end of the launch before it
};

/// Every entry's parameters, in order: a, b, c (pointers to global memory), m, n, k (s32, >= 0),
/// lda, ldb, ldc (s64, elements from one stored row to the next), alpha, beta (f32);
/// with `split_k` then w (pointer to workspace_bytes(spec, shape) for each matrix of a batch,
/// dsl/shape.h, aligned to 16); with `stream_k` then w (to stream_workspace_bytes), and the tiles
/// and the blocks of dsl::Stream (s32); for a strided batch then stride_a, stride_b, stride_c (s64,
/// elements). Of a batch by pointers, a, b and c point at arrays of pointers. Block x of the grid
/// computes one tile of C: ceil(m / tile.m) * ceil(n / tile.n) blocks; of a
/// persistent entry any number of blocks computes them all. Along y there are `split_k` blocks,
/// which share the slices of K of a tile; the second entry, one block along y, adds up what they
/// found. With `stream_k` the blocks of dsl::Stream come first along x, then one for each tile that
/// is not shared out; the second entry has blocks for the tiles that are, and is left out where
/// there are none. Along z there is one block for each matrix of a batch.
struct Artifact {
  dsl::Spec spec;
  dsl::Derived derived;
  dsl::Batch batch = dsl::Batch::none;
  int blocks_per_sm = 1;       // that fit, with the registers that the assembler took
  std::vector<Entry> entries;  // in the order of their launches
  std::string tile;            // tile IR after the last pass; PTX's debug locations point into it
  std::string llvm;            // after optimisation
  std::string ptx;
  std::vector<uint8_t> cubin;  // empty where no assembler was found
  AssemblerReport assembler;
  SassReport sass;
  std::vector<StageTime> times;
  std::vector<Dump> dumps;  // the passes asked for
};

}  // namespace tilec
