// Where the assemblers may be: named by the user, where the loader or the shell looks, in a CUDA
// toolkit, or unpacked by tools/setup beside the binary's checkout.
#pragma once

#include <string>
#include <vector>

namespace tilec::codegen {

/// Paths to try for a file of a toolkit, in order. `variable` names the user's own choice, which
/// then stands alone. Empty where TILEC_NO_CUDA hides the toolkit. `folder`: "lib64" or "bin" of
/// the toolkit; `unpacked`: the same below .deps/cuda.
std::vector<std::string> places_of(const std::string& file, const char* chosen,
                                   const std::string& folder, const std::string& unpacked);

/// "nvJitLink was not found; tried a, b", or that it was not looked for.
std::string not_found(const std::string& tool, const std::vector<std::string>& tried);

}  // namespace tilec::codegen
