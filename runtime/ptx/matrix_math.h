// How a tensor core adds up.
//
// Products of f16, bf16, tf32 and 8-bit numbers are exact. A group of them and the accumulator are
// added at once: all are aligned to the largest exponent among them, what falls below a fixed
// number of bits under it is cut off, the rest is summed exactly, and the sum is cut off again to
// f32 (rounded to nearest for an f16 result). Longer rows of k go group by group. That is the rule
// found by Fasi et al. (2021) and by Li et al. (FTTN, 2024), with the group size and bits that they
// give for Hopper; f64 is a chain of fused multiply-adds, and integers are exact.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/ptx/types.h"

namespace tilec::ptx {

/// How many products are added at once, and how many bits below an f32's last the terms keep.
struct AccumulateRule {
  int group = 16;
  int extra_bits = 2;
};
AccumulateRule accumulate_rule(Type element);

/// c + sum of a[i] * b[i] by that rule, as f32. Operands are exact values of the element type.
float tensor_sum(std::span<const double> a, std::span<const double> b, float c,
                 AccumulateRule rule);

}  // namespace tilec::ptx
