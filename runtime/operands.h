// The memory of the three operands, as the host sees it before and after a run.
//
// Each operand lies in an image: guard zone, offset, rows with gaps between them where the leading
// dimension is larger than the row, guard zone. Every word that holds no element is a NaN with a
// payload of its own: whatever reads there poisons its result, and whatever writes there is found.
// C's elements start as such NaNs too where the kernel has no business reading them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/problem.h"

namespace tilec {

/// What lies at word `index` of an image where no element does: a quiet NaN, bits.
uint32_t guard_word(uint64_t index);

/// Words of 4 bytes; `guard` of them before and after.
class Image {
 public:
  enum class Fill { random, poison };
  /// `seed` names the stream of numbers; elements are poisoned with guard words under `poison`.
  static Image make(const Stored& stored, int64_t guard, Fill fill, uint64_t seed);

  const Stored& stored() const { return stored_; }
  int64_t words() const { return words_; }
  int64_t first() const { return guard_ + stored_.offset; }  // index of element (0, 0)
  std::span<float> all() { return {data_.get(), static_cast<size_t>(words_)}; }
  std::span<const float> all() const { return {data_.get(), static_cast<size_t>(words_)}; }
  float* elements() { return data_.get() + first(); }
  const float* elements() const { return data_.get() + first(); }

  /// Another image of the same layout, contents undefined: for what comes back from a device.
  Image same_layout() const;
  Image copy() const;

 private:
  Stored stored_;
  int64_t guard_ = 0;
  int64_t words_ = 0;
  std::unique_ptr<float[]> data_;
};

/// A word that a kernel had no business writing.
struct Touched {
  Operand operand = Operand::a;
  std::string where;    // "row gap after row 3, column 65", "guard before, word -2"
  uint32_t before = 0;  // bits
  uint32_t after = 0;
};

/// Words that differ outside the elements (C) or anywhere (A and B: kernels only read them).
/// At most `most` findings are described; the count is of all.
struct TouchedWords {
  int64_t count = 0;
  std::vector<Touched> first;
};
TouchedWords find_touched(const Image& before, const Image& after, Operand operand, int most);

struct Operands {
  Image a;
  Image b;
  Image c;
};

/// Of a completed problem. `reads_c`: whether C's values matter, so must be numbers.
/// `guarded` is false for a device that finds accesses outside an allocation by itself.
Operands make_operands(const GemmProblem& problem, bool reads_c, bool guarded);

}  // namespace tilec
