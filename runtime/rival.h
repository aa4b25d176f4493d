// The rival of a kernel on a GPU. cublasSgemm takes a kernel by a rule of its own; cublasLt lists
// several for the same product, and its first is not always its fastest. So those of the list play
// a short burst each, and the fastest goes on to be timed like the kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/problem.h"

namespace tilec {

struct LtChoice {
  CublasWay way = 1;  // place in the list, from 1
  int tried = 1;      // of the list
};
std::string to_string(const LtChoice& choice);  // "cublasLt, 3rd of 8"

/// None where cublasLt has nothing to offer. Algorithms that fail are passed over; where a launch
/// takes long, only the first of the list are tried. The clock should be up.
/// Errors: machine, those of the device.
Result<std::optional<LtChoice>> choose_lt(Stopwatch& stopwatch, const GemmProblem& problem,
                                          const std::vector<KernelArguments>& sets);

}  // namespace tilec
