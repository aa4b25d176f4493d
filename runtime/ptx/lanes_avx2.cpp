// The vector rows for hosts with AVX2 and FMA: one register is four of the host's.
#include "runtime/ptx/lane_scalars.h"
#include "runtime/ptx/lanes.h"
#include "runtime/ptx/small_floats.h"

#if defined(__x86_64__)

#pragma clang diagnostic ignored "-Wpsabi"
#pragma STDC FP_CONTRACT OFF
#define TILEC_LANE_ROWS "runtime/ptx/lane_vector_ops.def"
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi2,lzcnt,popcnt"))), \
                             apply_to = function)

namespace tilec::ptx {
namespace avx2 {
namespace {

#include "runtime/ptx/lane_helpers.inc"
#include "runtime/ptx/lane_kernels.inc"

}  // namespace
}  // namespace avx2
}  // namespace tilec::ptx

#pragma clang attribute pop

namespace tilec::ptx {

const LaneKernels* avx2_kernels() {
  const bool can = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
                   __builtin_cpu_supports("lzcnt");
  static const LaneKernels kAll = with_scalar_rows(avx2::kKernels);
  return can ? &kAll : nullptr;
}

}  // namespace tilec::ptx

#else

namespace tilec::ptx {
const LaneKernels* avx2_kernels() {
  return nullptr;
}
}  // namespace tilec::ptx

#endif
