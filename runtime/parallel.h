// Work shared among the machine's cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tilec {

/// Calls work(i) once for each i in [0, count), on every core, in no order. `work` must not throw.
template <class Work>
void parallel_for(int64_t count, const Work& work) {
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::atomic<int64_t> next = 0;
  const auto worker = [&] {
    for (int64_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> helpers;
  for (int64_t core = 1; core < std::min(cores, count); ++core) helpers.emplace_back(worker);
  worker();
}

/// Calls work(begin, end) for pieces of [0, count) of at most `piece` each.
template <class Work>
void parallel_ranges(int64_t count, int64_t piece, const Work& work) {
  parallel_for((count + piece - 1) / piece,
               [&](int64_t i) { work(i * piece, std::min(count, (i + 1) * piece)); });
}

/// Calls work(row) for each row of a matrix, in pieces large enough to be worth a core.
template <class Work>
void parallel_rows(int64_t rows, int64_t columns, const Work& work) {
  constexpr int64_t kPiece = 1 << 15;  // elements
  parallel_ranges(rows, std::max<int64_t>(1, kPiece / std::max<int64_t>(1, columns)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) work(row);
                  });
}

}  // namespace tilec
