// The handlers for any host. Fused multiply-adds go through the C library where the host has none.
#include "runtime/ptx/lane_scalars.h"
#include "runtime/ptx/lanes.h"

#pragma clang diagnostic ignored "-Wpsabi"
#pragma STDC FP_CONTRACT OFF

namespace tilec::ptx {
namespace base {
namespace {

#include "runtime/ptx/lane_helpers.inc"
#include "runtime/ptx/lane_kernels.inc"

}  // namespace
}  // namespace base

const LaneKernels& base_kernels() {
  return base::kKernels;
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
