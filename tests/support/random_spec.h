// Random specs for tests that want many: seeded, so that a seed names a spec for good.
#pragma once

#include <cstdint>
#include <string>

namespace tilec::test {

/// A spec's text. About three in five are legal for sm_90a, and the rest break a rule, rarely the
/// grammar. Tiles are small, so that running one on the CPU is cheap; every clause with a full
/// meaning turns up, with values likely and unlikely.
std::string random_spec(uint64_t seed);

/// `text` with one to three random edits: bytes and digits changed, cut, doubled, words put in.
std::string mutated(const std::string& text, uint64_t seed);

}  // namespace tilec::test
