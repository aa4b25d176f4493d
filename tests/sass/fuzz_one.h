// One step of fuzzing the back end: whatever the cubin, a plain line or a rewritten cubin may come
// of it, and an edit that is proved does what the old code did.
#pragma once

#include <cstdint>
#include <span>

namespace tilec::sass::test {

/// Rewrites `file`; then plants a fault in the rewritten words by `seed` and lets the verifier
/// judge. Aborts where it calls an edit proved that the simulation (simulate.h) tells apart.
void fuzz_one(std::span<const uint8_t> file, uint32_t seed);

}  // namespace tilec::sass::test
