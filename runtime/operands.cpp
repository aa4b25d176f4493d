#include "runtime/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "runtime/parallel.h"
#include "runtime/random.h"

namespace tilec {
namespace {

constexpr uint64_t kGuardSeed = 0x6775617264;
constexpr int64_t kPiece = 1 << 16;  // words a task fills or compares

// A kernel that forgets its bounds runs on by up to a tile of rows; 128 is the usual tile. Kept
// between 16 KiB and 4 MiB, and a multiple of 256 bytes so that the offset alone unaligns a base.
int64_t guard_words(const Stored& stored) {
  const int64_t rows = std::clamp<int64_t>(128 * stored.ld, 4096, 1 << 20);
  return (rows + 63) / 64 * 64;
}

uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

std::string describe(const Image& image, int64_t word) {
  const Stored& stored = image.stored();
  const int64_t at = word - image.first();
  if (at < 0) return fmt::format("guard before the first element, word {}", at);
  if (at >= stored.extent())
    return fmt::format("guard after the last element, word {}", at - stored.extent());
  const int64_t row = at / stored.ld;
  const int64_t column = at % stored.ld;
  if (column < stored.columns) return fmt::format("element [{}, {}]", row, column);
  return fmt::format("gap after row {}, column {}", row, column);
}

// Whether a kernel may write word `at` (from the first element on).
bool is_element(const Stored& stored, int64_t at) {
  return at >= 0 && at < stored.extent() && at % stored.ld < stored.columns;
}

}  // namespace

uint32_t guard_word(uint64_t index) {
  return 0x7fc00000U | static_cast<uint32_t>(random_bits(kGuardSeed, index) & 0x3fffffU);
}

Image Image::make(const Stored& stored, int64_t guard, Fill fill, uint64_t seed) {
  Image image;
  image.stored_ = stored;
  image.guard_ = guard;
  image.words_ = 2 * guard + stored.offset + stored.extent();
  image.data_ = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(image.words_));
  float* data = image.data_.get();
  parallel_ranges(image.words_, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      data[i] = std::bit_cast<float>(guard_word(static_cast<uint64_t>(i)));
  });
  if (fill == Fill::poison) return image;
  parallel_rows(stored.rows, stored.columns, [&](int64_t row) {
    float* out = image.elements() + row * stored.ld;
    const auto first = static_cast<uint64_t>(row * stored.columns);
    for (int64_t column = 0; column < stored.columns; ++column)
      out[column] = random_operand(seed, first + static_cast<uint64_t>(column));
  });
  return image;
}

Image Image::same_layout() const {
  Image image;
  image.stored_ = stored_;
  image.guard_ = guard_;
  image.words_ = words_;
  image.data_ = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(words_));
  return image;
}

Image Image::copy() const {
  Image image = same_layout();
  if (words_ > 0) std::memcpy(image.data_.get(), data_.get(), all().size_bytes());
  return image;
}

TouchedWords find_touched(const Image& before, const Image& after, Operand operand, int most) {
  const Stored& stored = before.stored();
  const float* old_words = before.all().data();
  const float* new_words = after.all().data();
  const auto may_change = [&](int64_t word) {
    return operand == Operand::c && is_element(stored, word - before.first());
  };
  std::vector<int64_t> words;
  int64_t count = 0;
  std::mutex lock;
  parallel_ranges(before.words(), kPiece, [&](int64_t begin, int64_t end) {
    const auto size = static_cast<size_t>(end - begin) * sizeof(float);
    if (std::memcmp(old_words + begin, new_words + begin, size) == 0) return;
    std::vector<int64_t> found;
    for (int64_t i = begin; i < end; ++i)
      if (bits(old_words[i]) != bits(new_words[i]) && !may_change(i)) found.push_back(i);
    const std::scoped_lock hold(lock);
    count += static_cast<int64_t>(found.size());
    const size_t kept = std::min(found.size(), static_cast<size_t>(most));
    words.insert(words.end(), found.begin(), found.begin() + static_cast<int64_t>(kept));
  });
  std::sort(words.begin(), words.end());
  if (words.size() > static_cast<size_t>(most)) words.resize(static_cast<size_t>(most));
  TouchedWords out{.count = count};
  for (int64_t word : words)
    out.first.push_back(
        {operand, describe(before, word), bits(old_words[word]), bits(new_words[word])});
  return out;
}

Operands make_operands(const GemmProblem& problem, bool reads_c, bool guarded) {
  const auto make = [&](Operand operand, Image::Fill fill) {
    const Stored matrix = stored(problem, operand);
    const uint64_t stream = random_bits(problem.seed, static_cast<uint64_t>(operand));
    return Image::make(matrix, guarded ? guard_words(matrix) : 0, fill, stream);
  };
  return {make(Operand::a, Image::Fill::random), make(Operand::b, Image::Fill::random),
          make(Operand::c, reads_c ? Image::Fill::random : Image::Fill::poison)};
}

}  // namespace tilec
