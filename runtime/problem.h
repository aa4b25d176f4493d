// What is multiplied: C = epilogue(alpha, op(A) op(B), beta, C), and how it lies in memory.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/artifact.h"
#include "dsl/error.h"
#include "dsl/shape.h"
#include "dsl/spec.h"

namespace tilec {

using dsl::Result;

enum class Operand { a, b, c };
char operand_letter(Operand operand);  // 'A', 'B', 'C'

/// Sizes in elements of 4 bytes. Every matrix is row-major as stored; see dsl::OperandLayout.
struct GemmProblem {
  dsl::GemmShape shape;
  dsl::OperandLayout layout;
  int64_t lda = 0;  // from one stored row to the next; 0: the row's own length
  int64_t ldb = 0;
  int64_t ldc = 0;
  float alpha = 1;
  float beta = 0;
  int64_t offset_a = 0;  // from a 256-byte boundary to the first element, to leave a base unaligned
  int64_t offset_b = 0;
  int64_t offset_c = 0;
  uint64_t seed = 1;
  int64_t batch = 1;  // matrices, each of this shape
  dsl::Batch batched = dsl::Batch::none;
};

/// One operand as it lies in memory: element (row, column) at offset + row * ld + column.
struct Stored {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t ld = 0;
  int64_t offset = 0;

  /// Elements from the first to one past the last; 0 for an empty matrix.
  int64_t extent() const { return rows == 0 || columns == 0 ? 0 : (rows - 1) * ld + columns; }
};
Stored stored(const GemmProblem& problem, Operand operand);

/// The problem with every leading dimension filled in.
/// Errors: bad-shape (also of a batch), shape-too-large, leading-dimension-too-small, bad-offset,
/// bad-scalar.
Result<GemmProblem> complete(const GemmProblem& problem);

/// Whether the kernel may run a completed problem.
/// Errors: layout-differs; batch-differs; those of dsl::grid_blocks; under `edges exact` also
/// operand-not-aligned, which names the operand.
Result<void> accepts(const Artifact& artifact, const GemmProblem& problem);

/// Elements, a power of two up to `most`, that every aligned group of the operand's rows starts on
/// a multiple of: what a vector access may be as wide as.
int allowed_vector(const Stored& stored, int most);

/// The variant of the spec to compile for this problem. A kernel with `edges guard` is right for
/// any alignment, but takes its slow guarded path where an operand is less aligned than its vectors
/// are wide; with vectors narrowed to what A and B allow it takes the fast one. C is left out: it
/// is touched once, A and B once a slice. `edges exact` stays as it is: there `accepts` refuses.
dsl::Spec narrowed(const dsl::Spec& spec, const GemmProblem& problem);

/// "4096x4096x4096"
std::string to_string(const dsl::GemmShape& shape);

}  // namespace tilec
