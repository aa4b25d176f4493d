// Launches recorded once into a graph and played between two events. Only for the files of this
// folder.
//
// Capture is relaxed: cuBLAS may load its kernels or set their attributes while it is recorded.
//
// Both sides of a comparison are recorded by stream capture, ours and cuBLAS's alike, so that the
// device goes from launch to launch in the same way and no host call lies between them.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "runtime/cuda/blas.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/nvml.h"

namespace tilec::cuda {

class Graphs {
 public:
  /// The clock is read while there is an `nvml`. Both must outlive this.
  Graphs(const Context& context, const std::optional<Nvml>& nvml)
      : context_(&context), nvml_(&nvml) {}
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;
  ~Graphs();

  /// Records what `enqueue` puts on the context's stream; `launches` is for the mean.
  Result<SequenceId> record(int64_t launches, const std::function<Result<void>()>& enqueue);
  Result<BurstTime> play(SequenceId sequence, int times);
  void forget(SequenceId sequence);

 private:
  struct Recorded {
    CUgraphExec graph = nullptr;
    int64_t launches = 0;
  };
  Result<void> ready_events();

  const Context* context_;
  const std::optional<Nvml>* nvml_;
  std::map<SequenceId, Recorded> recorded_;
  int next_id_ = 1;
  CUevent start_ = nullptr;
  CUevent stop_ = nullptr;
};

}  // namespace tilec::cuda
