#include "runtime/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/parallel.h"
#include "runtime/random.h"

namespace tilec {
namespace {

// One task computes a block of this many samples, walking K by slices; the block's two sums and
// the slice of B in float64 stay within a core's caches (96 KiB).
constexpr int64_t kBlockRows = 32;
constexpr int64_t kBlockColumns = 128;
constexpr int64_t kSlice = 32;

// What a sample costs beside its products (its epilogue and comparison), in multiply-adds.
constexpr double kCostOfASample = 64;

// Element (i, j) of op(X) lies at i * row_step + j * column_step.
struct View {
  const float* data = nullptr;
  int64_t row_step = 0;
  int64_t column_step = 0;
  double at(int64_t i, int64_t j) const { return data[i * row_step + j * column_step]; }
};

View view(const Image& image, bool transposed) {
  const int64_t ld = image.stored().ld;
  return transposed ? View{image.elements(), 1, ld} : View{image.elements(), ld, 1};
}

std::vector<int64_t> all_of(int64_t extent) {
  std::vector<int64_t> out(static_cast<size_t>(extent));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// The first, the last and `per_tile` random places of every tile along one axis.
std::vector<int64_t> sample_axis(int64_t extent, int64_t tile, int64_t per_tile, uint64_t seed) {
  if (extent == 0 || per_tile >= tile) return all_of(extent);
  std::vector<int64_t> out = {0, extent - 1};
  for (int64_t begin = 0; begin < extent; begin += tile) {
    const int64_t size = std::min(tile, extent - begin);
    for (int64_t i = 0; i < per_tile; ++i) {
      const uint64_t bits = random_bits(seed, static_cast<uint64_t>(begin + i));
      out.push_back(begin + static_cast<int64_t>(bits % static_cast<uint64_t>(size)));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

struct Block {
  double product[kBlockRows][kBlockColumns] = {};
  double magnitude[kBlockRows][kBlockColumns] = {};
  double b[kSlice][kBlockColumns] = {};
};

// Adds one slice of K to a row's sums. Four steps of K at a time, so that a sum is loaded and
// stored once for four products.
void add_slice(const double* a, const double (*b)[kBlockColumns], double* product,
               double* magnitude) {
  for (int64_t k = 0; k < kSlice; k += 4)
    for (int64_t j = 0; j < kBlockColumns; ++j) {
      const double p0 = a[k] * b[k][j];
      const double p1 = a[k + 1] * b[k + 1][j];
      const double p2 = a[k + 2] * b[k + 2][j];
      const double p3 = a[k + 3] * b[k + 3][j];
      product[j] += (p0 + p1) + (p2 + p3);
      magnitude[j] += (std::abs(p0) + std::abs(p1)) + (std::abs(p2) + std::abs(p3));
    }
}

// Sums of a block of samples: `rows` and `columns` point at the block's first.
void sum_block(const View& a, const View& b, int64_t k, const int64_t* rows, int64_t row_count,
               const int64_t* columns, int64_t column_count, Block& block) {
  double a_slice[kSlice];
  for (int64_t k0 = 0; k0 < k; k0 += kSlice) {
    const int64_t depth = std::min(kSlice, k - k0);
    for (int64_t i = 0; i < kSlice; ++i)
      for (int64_t j = 0; j < column_count; ++j)
        block.b[i][j] = i < depth ? b.at(k0 + i, columns[j]) : 0;
    for (int64_t row = 0; row < row_count; ++row) {
      for (int64_t i = 0; i < kSlice; ++i) a_slice[i] = i < depth ? a.at(rows[row], k0 + i) : 0;
      add_slice(a_slice, block.b, block.product[row], block.magnitude[row]);
    }
  }
}

std::vector<double> norms(const View& view, int64_t count, int64_t k) {
  std::vector<double> out(static_cast<size_t>(count));
  // Walks K in the outer loop of a piece so that either storage order is read in runs.
  parallel_ranges(count, 64, [&](int64_t begin, int64_t end) {
    for (int64_t j = 0; j < k; ++j)
      for (int64_t i = begin; i < end; ++i) {
        const double value = view.at(i, j);
        out[static_cast<size_t>(i)] += value * value;
      }
    for (int64_t i = begin; i < end; ++i)
      out[static_cast<size_t>(i)] = std::sqrt(out[static_cast<size_t>(i)]);
  });
  return out;
}

}  // namespace

Samples choose_samples(const dsl::GemmShape& shape, const dsl::Extent& tile, int64_t budget,
                       uint64_t seed) {
  // In float64, since m * n * k can pass 2^63.
  const double cost_a_sample = static_cast<double>(shape.k) + kCostOfASample;
  const double work = static_cast<double>(shape.m) * static_cast<double>(shape.n) * cost_a_sample;
  if (work <= static_cast<double>(budget)) return {all_of(shape.m), all_of(shape.n), true};
  const double tiles = std::ceil(static_cast<double>(shape.m) / tile.m) *
                       std::ceil(static_cast<double>(shape.n) / tile.n);
  const double samples_a_tile = static_cast<double>(budget) / cost_a_sample / tiles;
  const auto per_tile = std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(samples_a_tile)));
  return {sample_axis(shape.m, tile.m, per_tile, random_bits(seed, 101)),
          sample_axis(shape.n, tile.n, per_tile, random_bits(seed, 102)), false};
}

ReferenceSums reference_sums(const GemmProblem& problem, const Operands& operands,
                             const Samples& samples) {
  const View a = view(operands.a, problem.layout.a_transposed);
  const View b = view(operands.b, problem.layout.b_transposed);
  const auto rows = static_cast<int64_t>(samples.rows.size());
  const auto columns = static_cast<int64_t>(samples.columns.size());
  ReferenceSums out;
  out.product.resize(static_cast<size_t>(rows * columns));
  out.magnitude.resize(static_cast<size_t>(rows * columns));
  const int64_t blocks_across = (columns + kBlockColumns - 1) / kBlockColumns;
  const int64_t blocks_down = (rows + kBlockRows - 1) / kBlockRows;
  parallel_for(blocks_down * blocks_across, [&](int64_t task) {
    const int64_t row0 = task / blocks_across * kBlockRows;
    const int64_t column0 = task % blocks_across * kBlockColumns;
    const int64_t row_count = std::min(kBlockRows, rows - row0);
    const int64_t column_count = std::min(kBlockColumns, columns - column0);
    const auto block = std::make_unique<Block>();
    sum_block(a, b, problem.shape.k, samples.rows.data() + row0, row_count,
              samples.columns.data() + column0, column_count, *block);
    for (int64_t row = 0; row < row_count; ++row) {
      const int64_t to = (row0 + row) * columns + column0;
      std::copy_n(block->product[row], column_count, out.product.begin() + to);
      std::copy_n(block->magnitude[row], column_count, out.magnitude.begin() + to);
    }
  });
  return out;
}

std::vector<double> row_norms_a(const GemmProblem& problem, const Operands& operands) {
  return norms(view(operands.a, problem.layout.a_transposed), problem.shape.m, problem.shape.k);
}

std::vector<double> column_norms_b(const GemmProblem& problem, const Operands& operands) {
  const View b = view(operands.b, problem.layout.b_transposed);
  return norms({b.data, b.column_step, b.row_step}, problem.shape.n, problem.shape.k);
}

}  // namespace tilec
