// How far a right f32 kernel may be from the exact result: the standard forward error bound.
//
// Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, SIAM 2002,
// section 3.1. An inner product of length K in any order of evaluation, with or without fused
// multiply-adds, has an error of at most gamma_K * sum |a||b|, where gamma_k = k u / (1 - k u) and
// u = 2^-24. For the usual epilogue alpha*acc + beta*c this gives
//
//   |c - r| <= gamma_{K+2} |alpha| sum |a||b| + gamma_2 |beta c0|
//
// For any other epilogue the same bound is carried through its tree. Every node holds its exact
// value v, its magnitude w >= |v| (the value of the tree with all its terms made positive) and the
// bound e on the error of the computed value, and an operation rounds once (Higham, eq. 2.4):
//
//   x + y, x - y:  w = wx + wy,  e = (1 + u) (ex + ey) + u w
//   x * y:         w = wx * wy,  e = (1 + u) (wx ey + wy ex + ex ey) + u w + 2^-149
//   number:        w = |v|,      e = |v - f32(v)|
//
// 2^-149 stands for products that underflow (Higham, eq. 2.8). For alpha*acc + beta*c the tree
// gives no more than the formula above, and the same to first order in u.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dsl/expression.h"

namespace tilec {

constexpr double kUnitRoundoff = 0x1p-24;

/// k u / (1 - k u). Infinite from k u = 1 on: nothing can be promised there.
double gamma(int64_t k);

/// The formula as a line of text, to be printed beside a result.
std::string bound_formula();

struct Bounded {
  double value = 0;      // exact, up to float64
  double magnitude = 0;  // >= |value|
  double error = 0;      // of a computed f32 value, at most
};

/// What one element's epilogue is fed with.
struct EpilogueInputs {
  Bounded acc;
  double c = 0;  // only read if the epilogue reads it
  double alpha = 1;
  double beta = 0;
};

/// acc of an element from the float64 sums of reference.h.
Bounded bounded_sum(double product, double magnitude, int64_t k);

/// An epilogue flattened for speed: one walk over a list, each step after the ones it needs.
class Epilogue {
 public:
  explicit Epilogue(const dsl::Expression& expression) { append(expression); }
  Bounded evaluate(const EpilogueInputs& inputs) const;

 private:
  struct Step {
    dsl::ExpressionKind kind;
    double number;
    size_t left;  // steps whose values it takes, as many as its kind has children
    size_t right;
  };
  size_t append(const dsl::Expression& expression);
  std::vector<Step> steps_;
};

}  // namespace tilec
