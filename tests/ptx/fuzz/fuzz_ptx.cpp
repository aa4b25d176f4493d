// libFuzzer's way into the PTX machine.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/ptx/fuzz_one.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tilec::ptx::test::fuzz_one(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
