// The vector rows for any host, and the tables. Fused multiply-adds go through the C library where
// the host has none.
#include <algorithm>

#include "runtime/ptx/lane_scalars.h"
#include "runtime/ptx/lanes.h"
#include "runtime/ptx/small_floats.h"

#pragma clang diagnostic ignored "-Wpsabi"
#pragma STDC FP_CONTRACT OFF
#define TILEC_LANE_ROWS "runtime/ptx/lane_vector_ops.def"

namespace tilec::ptx {
namespace base {
namespace {

#include "runtime/ptx/lane_helpers.inc"
#include "runtime/ptx/lane_kernels.inc"

}  // namespace
}  // namespace base

LaneKernels with_scalar_rows(std::span<const LaneKernel> vector_rows) {
  LaneKernels all;
  const auto end = std::copy(vector_rows.begin(), vector_rows.end(), all.begin());
  std::copy(scalar_kernels().begin(), scalar_kernels().end(), end);
  return all;
}

const LaneKernels& base_kernels() {
  static const LaneKernels kAll = with_scalar_rows(base::kKernels);
  return kAll;
}

const LaneKernels& host_kernels() {
  const LaneKernels* avx2 = avx2_kernels();
  return avx2 ? *avx2 : base_kernels();
}

std::span<const LaneOpRow> lane_op_rows() {
  static constexpr LaneOpRow kRows[] = {
#define LANE_OP(name, spelling, signature, ...) {#name, spelling, signature},
#include "runtime/ptx/lane_ops.def"
#undef LANE_OP
  };
  return kRows;
}

}  // namespace tilec::ptx
