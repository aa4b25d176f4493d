// libFuzzer's way into the back end: the last four bytes are a seed, the others a cubin.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/sass/fuzz_one.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t seed = 0;
  if (size < sizeof(seed)) return 0;
  std::memcpy(&seed, data + size - sizeof(seed), sizeof(seed));
  tilec::sass::test::fuzz_one({data, size - sizeof(seed)}, seed);
  return 0;
}
