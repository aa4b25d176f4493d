#include "runtime/sequence.h"

namespace tilec {

Result<Sequence> record(Stopwatch& stopwatch, const Recorded& what, const GemmProblem& problem,
                        const std::vector<KernelArguments>& sets, int64_t launches) {
  std::vector<KernelArguments> list;
  list.reserve(static_cast<size_t>(launches));
  for (int64_t i = 0; i < launches; ++i) list.push_back(sets[static_cast<size_t>(i) % sets.size()]);
  Result<SequenceId> id =
      what.kernel ? stopwatch.record(*what.kernel, list)
                  : stopwatch.record_cublas(what.way, problem.layout, problem.batched, list);
  if (!id) return tl::unexpected(std::move(id.error()));
  return Sequence(stopwatch, *id, launches);
}

}  // namespace tilec
