// How a tensor core adds up.
//
// Products of f16, bf16 and tf32 numbers are exact. A group of them and the accumulator are added
// at once: all are aligned to the largest exponent among them, what falls more than two bits below
// an f32's last is cut off, the rest is summed exactly, and the sum is cut off again to f32
// (rounded to nearest for an f16 result). A product's exponent is the sum of its factors' fields,
// so a subnormal factor counts as much as the least normal one. A group is 16 products, 8 of tf32;
// longer rows of k go group by group.
//
// Hopper has no mma.sync of 8-bit floats: the assembler widens them to f16, two of a register at a
// time. So k % 4 < 2 makes the first group and k % 4 >= 2 the second; they are added up from zero,
// and the accumulator is added last, rounded to nearest.
//
// The rule is that of Fasi et al. (2021) and of Li et al. (FTTN, 2024); group sizes, subnormals and
// 8-bit floats are as an H200 gave them, bit for bit (examples/results/matrix_h200.json). f64 is a
// chain of fused multiply-adds, and integers are exact.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/ptx/types.h"

namespace tilec::ptx {

struct AccumulateRule {
  int group = 16;            // products that are added at once
  int extra_bits = 2;        // below an f32's last that the terms keep
  int least_exponent = -14;  // of the elements: a subnormal one is aligned as if it had this
  bool to_half = false;      // the sum of each group is rounded to f16
  bool by_pairs = false;     // of 8-bit floats that were widened two of a register at a time
};
AccumulateRule accumulate_rule(Type element, Type sum);

/// c + sum of a[i] * b[i] by that rule, as f32. Operands are exact values of the element type.
float tensor_sum(std::span<const double> a, std::span<const double> b, float c,
                 const AccumulateRule& rule);

}  // namespace tilec::ptx
