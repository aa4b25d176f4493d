// Data files that travel inside the binary.
#pragma once

namespace tilec {

extern const char* const kKernelsText;     // tools/choice/kernels.tile
extern const char* const kCandidatesText;  // tools/choice/candidates.space
extern const char* const kTunedText;       // tools/choice/tuned.txt

}  // namespace tilec
