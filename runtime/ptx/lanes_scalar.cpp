// The rows that are computed one lane at a time.
#include "runtime/ptx/lane_scalars.h"
#include "runtime/ptx/lanes.h"
#include "runtime/ptx/small_floats.h"

#pragma clang diagnostic ignored "-Wpsabi"
#pragma clang diagnostic ignored "-Wunused-function"
#pragma STDC FP_CONTRACT OFF
#define TILEC_LANE_ROWS "runtime/ptx/lane_scalar_ops.def"

namespace tilec::ptx {
namespace scalar {
namespace {

#include "runtime/ptx/lane_helpers.inc"
#include "runtime/ptx/lane_kernels.inc"

}  // namespace
}  // namespace scalar

std::span<const LaneKernel> scalar_kernels() {
  return scalar::kKernels;
}

}  // namespace tilec::ptx
