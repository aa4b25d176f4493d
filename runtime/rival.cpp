#include "runtime/rival.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/sequence.h"

namespace tilec {
namespace {

constexpr double kBurstUs = 3e3;
constexpr double kMostUs = 250e3;  // for the whole choice, if enough were tried by then
constexpr int kLeastTried = 4;

// The error of a call of cuBLAS is that algorithm's alone; any other is the device's.
bool is_own(const dsl::Error& error) {
  return error.diagnostics.front().code == "cublas-call";
}

Result<double> us_per_launch(Stopwatch& stopwatch, CublasWay way, const GemmProblem& problem,
                             const std::vector<KernelArguments>& sets, int64_t launches) {
  const Result<Sequence> sequence = record(stopwatch, {.way = way}, problem, sets, launches);
  if (!sequence) return tl::unexpected(sequence.error());
  const Result<BurstTime> time = sequence->play();
  if (!time) return tl::unexpected(time.error());
  return std::max(time->us_per_launch, 1e-3);
}

}  // namespace

std::string to_string(const LtChoice& choice) {
  const int tens = choice.way / 10 % 10;
  const int ones = choice.way % 10;
  const char* const endings[] = {"th", "st", "nd", "rd"};
  const char* ending = tens == 1 || ones > 3 ? endings[0] : endings[ones];
  return fmt::format("cublasLt, {}{} of {}", choice.way, ending, choice.tried);
}

Result<std::optional<LtChoice>> choose_lt(Stopwatch& stopwatch, const GemmProblem& problem,
                                          const std::vector<KernelArguments>& sets) {
  const Result<int> listed =
      stopwatch.cublaslt_algorithms(problem.layout, problem.batched, sets.front());
  if (!listed && !is_own(listed.error())) return tl::unexpected(listed.error());
  if (!listed || *listed == 0) return std::nullopt;
  const Result<double> sgemm = us_per_launch(stopwatch, kCublasSgemm, problem, sets, 1);
  if (!sgemm) return tl::unexpected(sgemm.error());
  const auto launches =
      std::clamp<int64_t>(static_cast<int64_t>(kBurstUs / *sgemm), 1, kMostLaunches);
  std::optional<LtChoice> best;
  double best_us = 0;
  double spent_us = 0;
  int tried = 0;
  while (tried < *listed && (tried < kLeastTried || spent_us < kMostUs)) {
    const CublasWay way = ++tried;
    const Result<double> us = us_per_launch(stopwatch, way, problem, sets, launches);
    if (!us && !is_own(us.error())) return tl::unexpected(us.error());
    if (!us) continue;
    spent_us += 2 * *us * static_cast<double>(launches);  // a play is one untimed and one timed
    if (best && best_us <= *us) continue;
    best = LtChoice{.way = way};
    best_us = *us;
  }
  if (best) best->tried = tried;
  return best;
}

}  // namespace tilec
