// The outer products in a loop body: which multiply-adds belong to one step of K, and which
// fragment loads feed them.
#pragma once

#include "compiler/sass/loop/body.h"

namespace tilec::sass {

/// One register of a fragment: element `element` (0 .. 3) of what the load `load` brings.
struct FragmentElement {
  size_t load = 0;  // index into Body::ops
  int element = 0;
  bool operator==(const FragmentElement&) const = default;
};

/// One rank-1 update: every row's element times every column's, onto the accumulators.
struct Step {
  std::vector<FragmentElement> rows;     // m of them
  std::vector<FragmentElement> columns;  // n of them
  std::vector<size_t> fmas;              // m x n, row by row: indices into Body::ops
  std::vector<size_t> loads;             // that bring its elements, in order of the code
  bool carried = false;                  // its loads are those of the trip before
};

/// All multiply-adds of a body as steps in the order of each accumulator's sum.
/// Rows and columns are those of the accumulators in every step; there are at least as many columns
/// as rows. Rows that one load brings stand together, in order, in every step alike; so do columns.
struct Products {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<int> accumulators;  // registers, rows x columns, row by row
  std::vector<Step> steps;        // a carried one first: it reads before its loads are issued
};

/// Errors: the rule that the body does not keep.
OrWhyNot<Products> find_products(const Body& body);

}  // namespace tilec::sass
