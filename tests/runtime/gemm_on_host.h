// What the tests of the check hold to be right: the product in f32, one multiply-add at a time, and
// a kernel in PTX that does the same on a device.
#pragma once

#include <cmath>
#include <string>

#include "compiler/artifact.h"
#include "runtime/operands.h"
#include "runtime/problem.h"

namespace tilec::test {

inline float element_of(const Image& image, bool transposed, int64_t row, int64_t column) {
  const int64_t ld = image.stored().ld;
  return image.elements()[transposed ? column * ld + row : row * ld + column];
}

/// alpha*acc + beta*c into the elements of `c`; c is not read where beta is 0.
inline void multiply_on_host(const GemmProblem& problem, const Operands& operands, Image& c) {
  for (int64_t row = 0; row < problem.shape.m; ++row)
    for (int64_t column = 0; column < problem.shape.n; ++column) {
      float acc = 0;
      for (int64_t k = 0; k < problem.shape.k; ++k)
        acc = std::fma(element_of(operands.a, problem.layout.a_transposed, row, k),
                       element_of(operands.b, problem.layout.b_transposed, k, column), acc);
      float& out = c.elements()[row * c.stored().ld + column];
      out = problem.beta == 0 ? problem.alpha * acc
                              : std::fma(problem.alpha, acc, problem.beta * out);
    }
}

/// What a right kernel leaves in memory.
inline Operands right_result(const GemmProblem& problem, const Operands& before) {
  Operands after{before.a.copy(), before.b.copy(), before.c.copy()};
  multiply_on_host(problem, before, after.c);
  return after;
}

/// One thread an element, 16x16 tiles, layout nn, any shape.
Artifact naive_artifact();

/// The same with one piece of its PTX changed; fails the test if the piece is not there.
Artifact spoilt_artifact(const std::string& from, const std::string& to);

}  // namespace tilec::test
