// A list of launches recorded once, to be played many times.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "runtime/device.h"
#include "runtime/problem.h"

namespace tilec {

constexpr int64_t kMostLaunches = 4096;  // nodes of a graph

/// Forgotten at the end of its scope.
class Sequence {
 public:
  Sequence(Stopwatch& stopwatch, SequenceId id, int64_t launches)
      : stopwatch_(&stopwatch), id_(id), launches_(launches) {}
  Sequence(Sequence&& other) noexcept
      : stopwatch_(std::exchange(other.stopwatch_, nullptr)),
        id_(other.id_),
        launches_(other.launches_) {}
  Sequence& operator=(Sequence&&) = delete;
  ~Sequence() {
    if (stopwatch_ != nullptr) stopwatch_->forget(id_);
  }
  Result<BurstTime> play() const { return stopwatch_->play(id_, 1); }
  int64_t launches() const { return launches_; }

 private:
  Stopwatch* stopwatch_;
  SequenceId id_;
  int64_t launches_;
};

/// What is launched: our kernel, or cuBLAS.
struct Recorded {
  std::optional<KernelId> kernel;  // none: cuBLAS
  CublasWay way = kCublasSgemm;
};

/// `launches` of them, over `sets` of operands in turn.
Result<Sequence> record(Stopwatch& stopwatch, const Recorded& what, const GemmProblem& problem,
                        const std::vector<KernelArguments>& sets, int64_t launches);

}  // namespace tilec
