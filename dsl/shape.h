// The extents of one matrix multiply.
#pragma once

#include <cstdint>

namespace tilec::dsl {

/// C[m, n] = A[m, k] * B[k, n], in elements.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool operator==(const GemmShape&) const = default;
};

}  // namespace tilec::dsl
