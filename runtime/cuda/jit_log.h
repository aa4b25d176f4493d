// What the driver's assembler says, in the option form that the driver wants: two lists, where
// sizes travel as pointers. Only for the files of this folder.
#pragma once

#include <cuda.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace tilec::cuda {

struct JitLog {
  static constexpr uintptr_t kBytes = 16384;
  static constexpr unsigned kOptions = 4;

  std::array<char, kBytes> errors{};
  std::array<char, kBytes> notes{};
  CUjit_option options[kOptions] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                                    CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  void* values[kOptions] = {errors.data(), std::bit_cast<void*>(kBytes), notes.data(),
                            std::bit_cast<void*>(kBytes)};

  std::string text() const {
    std::string out = errors.data();
    if (!out.empty() && notes[0] != '\0') out += '\n';
    return out + notes.data();
  }
};

}  // namespace tilec::cuda
