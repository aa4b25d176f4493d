#include "runtime/cuda/headers.h"
#if TILEC_HAS_CUDA_HEADERS

#include "runtime/cuda/graphs.h"
#include "runtime/try.h"

namespace tilec::cuda {

Graphs::~Graphs() {
  const Driver& api = context_->driver();
  for (const auto& [id, recorded] : recorded_) api.graph_exec_destroy(recorded.graph);
  if (start_ != nullptr) api.event_destroy(start_);
  if (stop_ != nullptr) api.event_destroy(stop_);
}

Result<void> Graphs::ready_events() {
  const Driver& api = context_->driver();
  for (CUevent* event : {&start_, &stop_})
    if (*event == nullptr)
      TILEC_TRY(context_->check(api.event_create(event, CU_EVENT_DEFAULT), "cuEventCreate"));
  return {};
}

Result<SequenceId> Graphs::record(int64_t launches, const std::function<Result<void>()>& enqueue) {
  const Driver& api = context_->driver();
  TILEC_TRY(
      context_->check(api.stream_begin_capture(context_->stream(), CU_STREAM_CAPTURE_MODE_RELAXED),
                      "cuStreamBeginCapture"));
  const Result<void> enqueued = enqueue();
  // The capture is ended in any case, or the stream stays unusable.
  CUgraph graph = nullptr;
  const CUresult ended = api.stream_end_capture(context_->stream(), &graph);
  if (!enqueued || ended != CUDA_SUCCESS) {
    if (graph != nullptr) api.graph_destroy(graph);
    return tl::unexpected(enqueued ? context_->check(ended, "cuStreamEndCapture").error()
                                   : enqueued.error());
  }
  Recorded recorded{.launches = launches};
  const CUresult status = api.graph_instantiate(&recorded.graph, graph, 0);
  api.graph_destroy(graph);
  TILEC_TRY(context_->check(status, "cuGraphInstantiateWithFlags"));
  const auto id = static_cast<SequenceId>(next_id_++);
  recorded_.emplace(id, recorded);
  return id;
}

Result<BurstTime> Graphs::play(SequenceId sequence, int times) {
  const auto found = recorded_.find(sequence);
  if (found == recorded_.end() || times < 1)
    return tl::unexpected(dsl::Error::internal("a sequence played that was never recorded"));
  const auto& [graph, launches] = found->second;
  const Driver& api = context_->driver();
  TILEC_TRY(ready_events());
  // The first play is not timed. It keeps the device busy while the host enqueues the rest, which
  // takes up to a millisecond for thousands of launches, and it settles clock and caches.
  TILEC_TRY(context_->check(api.graph_launch(graph, context_->stream()), "cuGraphLaunch"));
  TILEC_TRY(context_->check(api.event_record(start_, context_->stream()), "cuEventRecord"));
  for (int i = 0; i < times; ++i)
    TILEC_TRY(context_->check(api.graph_launch(graph, context_->stream()), "cuGraphLaunch"));
  TILEC_TRY(context_->check(api.event_record(stop_, context_->stream()), "cuEventRecord"));
  BurstTime burst;
  if (const std::optional<Nvml>& nvml = *nvml_) {
    // The calls above only enqueue, so the device is at work while these are read.
    burst.clock_mhz = nvml->sm_clock_mhz();
    burst.watts = nvml->watts();
  }
  TILEC_TRY(context_->check(api.event_synchronize(stop_), "cuEventSynchronize"));
  float ms = 0;
  TILEC_TRY(context_->check(api.event_elapsed_time(&ms, start_, stop_), "cuEventElapsedTime"));
  burst.us_per_launch =
      static_cast<double>(ms) * 1e3 / static_cast<double>(launches) / static_cast<double>(times);
  return burst;
}

void Graphs::forget(SequenceId sequence) {
  const auto found = recorded_.find(sequence);
  if (found == recorded_.end()) return;
  context_->driver().graph_exec_destroy(found->second.graph);
  recorded_.erase(found);
}

}  // namespace tilec::cuda

#endif
