// PTX to a cubin, and what the assembler said about it.
#pragma once

#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "compiler/compile.h"
#include "dsl/error.h"

namespace tilec::codegen {

struct Assembled {
  std::vector<uint8_t> cubin;
  AssemblerReport report;
};

/// Assembles for `target` ("sm_90a"). `automatic`: nvJitLink in this process, else ptxas; the
/// driver's JIT is left to the runtime, which has a device to ask.
/// Errors: machine "no-assembler" (with what was tried), or "assembler-failed" (with the tool's
/// words; the PTX is kept in a file that the message names).
dsl::Result<Assembled> assemble(const std::string& ptx, const std::string& target,
                                Assembler assembler);

dsl::Result<Assembled> assemble_with_nvjitlink(const std::string& ptx, const std::string& target);
dsl::Result<Assembled> assemble_with_ptxas(const std::string& ptx, const std::string& target);

/// Registers, spills and stack from the words of ptxas -v or nvJitLink -verbose.
/// Of several kernels those about `entry`; all where it is empty.
AssemblerReport read_assembler_log(const std::string& log, const std::string& entry = "");

/// The name of the first entry of a PTX text; empty if there is none.
std::string first_entry(const std::string& ptx);

/// An error that names the file in which `ptx` was kept for inspection.
dsl::Error assembler_failed(const std::string& tool, const std::string& words,
                            const std::string& ptx);

}  // namespace tilec::codegen
