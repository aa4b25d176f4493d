// The order in which the instructions of a steady loop issue.
//
// Multiply-adds run step by step, row by row, each row walked back and forth: within a row the
// row's element stays in the reuse cache, and where rows change the column's does. Fragment loads
// of a step stand one by one within the step before it, early enough to arrive, apart from each
// other. All other instructions are spread between them, as their dependences allow; waits and
// barriers come late.
#pragma once

#include "compiler/sass/loop/products.h"

namespace tilec::sass {

/// Distances in multiply-adds, which issue one a cycle. Measured on an H200.
struct OrderRules {
  int arrival = 44;  // from a step's last load to its first multiply-add
  int gap = 14;      // between the loads of a step
  int spread = 20;   // at most, between two of the other instructions
  int read = 0;      // from an access to memory to what changes the registers of its address
  /// Between two block barriers no byte of shared memory is both read and written, by whichever
  /// thread: rules R8 and R9 of tile IR, which its verifier proves. Then no load passes a barrier,
  /// and that is enough; else none passes any store, copy or wait either.
  bool slots_apart = false;
};

/// A permutation of the indices of `body.ops`; the jumps stay last.
/// Errors: a load that cannot be issued before its step.
OrWhyNot<std::vector<size_t>> order_loop(const Body& body, const Products& products,
                                         const OrderRules& rules);

}  // namespace tilec::sass
