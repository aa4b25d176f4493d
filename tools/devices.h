// Which device a command runs on, and how a kernel gets onto it.
#pragma once

#include <memory>
#include <string>

#include "compiler/compile.h"
#include "dsl/error.h"
#include "runtime/device.h"
#include "runtime/run.h"

namespace tilec {

/// Opens the device called `wanted`: "gpu", "cpu", or the GPU if there is one where it is empty;
/// then says on standard error which was taken and why.
/// Without `cublas` nothing but our own kernels runs on a GPU.
/// Errors: machine, where a GPU is wanted and there is none that works.
dsl::Result<std::unique_ptr<Device>> take_device(const std::string& wanted, bool cublas = true);

/// The target of the GPU at hand; empty where there is none.
std::string gpu_target();

/// Compiles `spec` for `problem` (with vectors as wide as its operands allow) and runs it.
/// `problem`'s layout is the spec's. On the CPU nothing is assembled.
/// Errors: those of complete and accepts (runtime/problem.h), compile and run_gemm.
dsl::Result<RunResult> run_kernel(Device& device, const dsl::Spec& spec, GemmProblem problem,
                                  const RunOptions& options, Assembler assembler);

/// A line on standard error about what takes long, if a person is there to read it.
void say_progress(const std::string& what);

/// The error of a result that is wrong, for exit code 3.
dsl::Error wrong_result(const RunResult& result);

/// Runs a kernel on the CPU for what it counts; without a shape, two tiles by two, four slices.
/// That is large enough that a steady state shows, small enough for the CPU.
dsl::Result<RunResult> count_on_cpu(const dsl::Spec& spec, std::optional<dsl::GemmShape> shape);

}  // namespace tilec
