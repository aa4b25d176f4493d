// One step of fuzzing the PTX machine: whatever the text, nothing but a diagnostic, a refusal or a
// result with findings may come of it.
#pragma once

#include <string>

namespace tilec::ptx::test {

/// Parses `text`, and runs its first entry for a moment if it has one that takes what there is.
void fuzz_one(const std::string& text);

}  // namespace tilec::ptx::test
