// The road from a spec to a cubin: one straight list of passes, and one call that walks it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/artifact.h"
#include "compiler/target.h"
#include "dsl/error.h"

namespace tilec {

enum class Assembler { automatic, nvjitlink, ptxas, none };

struct CompileOptions {
  std::vector<std::string> dump_after;  // names of passes; "all" for each
  Assembler assembler = Assembler::automatic;
  dsl::Batch batch = dsl::Batch::none;  // many matrices a launch, and where they lie
  bool assemble_required = false;       // false: without an assembler the cubin stays empty
};

/// What CompileOptions::dump_after knows behind the passes over tile IR, in order: "assemble", and
/// the passes on the steady loop. Their dumps are SASS, and there are none without an assembler, or
/// of the passes behind one that gave the loop up.
std::span<const std::string_view> sass_passes();

/// Lowers `spec` for `target`. The PTX is always there; the cubin is empty where the assembler is
/// `none`, or none was found and `assemble_required` is false (then assembler.log says what was
/// tried).
/// Errors: user, if a pass named in dump_after is unknown; machine, if the assembler failed (its
/// words, and where the PTX was left); internal, if the verifier rejects what a pass made.
dsl::Result<Artifact> compile(const dsl::Spec& spec, const Target& target,
                              const CompileOptions& options);

}  // namespace tilec
