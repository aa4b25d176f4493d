#include "tools/tune_search.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <set>
#include <thread>

#include "compiler/compile.h"
#include "dsl/format.h"
#include "runtime/launches.h"
#include "runtime/parallel.h"
#include "runtime/try.h"
#include "tools/choice/candidates.h"
#include "tools/choice/choose.h"
#include "tools/read_specs.h"
#include "tools/tune_worker.h"

namespace tilec {
namespace {

using Clock = std::chrono::steady_clock;

volatile sig_atomic_t interrupted = 0;

void note_interrupt(int) {
  interrupted = 1;
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, size};
}

// One line on a terminal, written over and over.
class Progress {
 public:
  explicit Progress(size_t all) : all_(all), start_(Clock::now()) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\n");
  }
  void show(size_t done, double best_us) {
    if (isatty(STDERR_FILENO) == 0 || done == 0) return;
    const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
    const double left = spent / static_cast<double>(done) * static_cast<double>(all_ - done);
    fmt::print(stderr, "\r{} of {} candidates, best {:.4g}, about {:.0f} s left   ", done, all_,
               best_us, left);
    shown_ = true;
  }

 private:
  size_t all_;
  Clock::time_point start_;
  bool shown_ = false;
};

// Candidates of this shard that the file does not know yet.
std::vector<Candidate> left_to_do(const std::vector<Candidate>& all, const TuningKey& key,
                                  const TuningFile& file, const SearchOptions& options,
                                  SearchResult& result) {
  std::set<std::string> known;
  if (const Result<std::vector<TuningRow>> rows = file.rows(key); rows && !options.again)
    for (const TuningRow& row : *rows) known.insert(row.spec);
  std::vector<Candidate> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (static_cast<int>(i % static_cast<size_t>(options.shards)) != options.shard) continue;
    ++result.candidates;
    if (known.contains(dsl::format(all[i].spec))) {
      ++result.known;
    } else {
      out.push_back(all[i]);
    }
  }
  return out;
}

struct Compiled {
  std::vector<Artifact> artifacts;
  std::vector<TuningRow> refused;  // what could not be compiled
};

Compiled compile_all(std::span<const Candidate> batch, const TuningKey& key, bool gpu,
                     dsl::Batch batched) {
  std::vector<dsl::Result<Artifact>> made(batch.size(), tl::unexpected(dsl::Error()));
  CompileOptions options;
  options.batch = batched;
  options.assembler = gpu ? Assembler::automatic : Assembler::none;
  parallel_for(static_cast<int64_t>(batch.size()), [&](int64_t i) {
    const dsl::Spec& spec = batch[static_cast<size_t>(i)].spec;
    made[static_cast<size_t>(i)] = compile(spec, target_of(spec), options);
  });
  Compiled out;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i]) {
      out.artifacts.push_back(std::move(*made[i]));
    } else {
      out.refused.push_back({.key = key,
                             .spec = dsl::format(batch[i].spec),
                             .status = "not-compiled",
                             .message = made[i].error().diagnostics.front().message,
                             .measured = now()});
    }
  }
  return out;
}

dsl::Result<void> fits(const Candidate& candidate, const GemmProblem& problem,
                       const DeviceInfo& device) {
  const int64_t free = device.memory_bytes;
  const dsl::Derived derived = dsl::derive(candidate.spec, target_of(candidate.spec).limits);
  int64_t bytes = workspace_needed(candidate.spec, problem.shape, problem.batch,
                                   blocks_at_once(device.sm_count, derived.blocks_per_sm));
  for (Operand operand : {Operand::a, Operand::b, Operand::c})
    bytes += problem.batch * stored(problem, operand).extent() * 4;
  if (free == 0 || bytes <= free) return {};
  return tl::unexpected(dsl::Error::machine(
      "not-enough-memory", fmt::format("{} needs {} bytes of device memory, and {} are left",
                                       to_string(problem.shape), bytes, free)));
}

}  // namespace

bool is_interrupted() {
  static const bool set_up = [] {
    struct sigaction action{};
    action.sa_handler = note_interrupt;
    sigaction(SIGINT, &action, nullptr);
    return true;
  }();
  return set_up && interrupted != 0;
}

dsl::Result<SearchResult> search(const std::vector<dsl::SpecAst>& space, const GemmProblem& problem,
                                 const DeviceInfo& device, const std::string& version,
                                 TuningFile& file, const SearchOptions& options) {
  SearchResult result{.problem = problem};
  const bool gpu = device.kind == DeviceKind::gpu;
  dsl::Result<Candidates> found = find_candidates(space, problem, gpu ? device.target : "sm_90a",
                                                  rates_of(device), options.most);
  if (!found) return tl::unexpected(std::move(found.error()));
  result.members = found->members;
  result.refused = found->refused;
  TILEC_TRY(fits(found->list.front(), problem, device));
  std::erase_if(found->list,
                [&](const Candidate& candidate) { return !fits(candidate, problem, device); });
  const TuningKey key = tuning_key(device, version, problem);
  const std::vector<Candidate> todo = left_to_do(found->list, key, file, options, result);
  const WorkerOptions worker{options.device, options.seconds, is_interrupted};
  Progress progress(todo.size());
  double best = 0;
  const size_t at_once = 8 * std::max<size_t>(1, std::thread::hardware_concurrency());
  for (size_t first = 0; first < todo.size() && !is_interrupted(); first += at_once) {
    const auto batch = std::span(todo).subspan(first, std::min(at_once, todo.size() - first));
    const Compiled compiled = compile_all(batch, key, gpu, problem.batched);
    for (const TuningRow& row : compiled.refused) {
      TILEC_TRY(file.put(row));
      ++result.run;
      ++result.failed;
    }
    dsl::Result<void> kept;
    const dsl::Result<void> done =
        run_isolated(compiled.artifacts, problem, worker, [&](const Verdict& verdict) {
          const bool ok = verdict.status == "ok";
          ++result.run;
          result.failed += ok ? 0 : 1;
          if (ok && (best == 0 || verdict.us < best)) best = verdict.us;
          const dsl::Result<void> put =
              file.put({.key = key,
                        .spec = dsl::format(compiled.artifacts[verdict.index].spec),
                        .status = verdict.status,
                        .us = verdict.us,
                        .clock_mhz = verdict.clock_mhz,
                        .message = verdict.message,
                        .measured = now()});
          if (!put) kept = put;
          progress.show(static_cast<size_t>(result.run), best);
        });
    TILEC_TRY(done);
    TILEC_TRY(kept);
  }
  result.stopped = is_interrupted();
  dsl::Result<std::vector<TuningRow>> rows = file.rows(key);
  if (!rows) return tl::unexpected(std::move(rows.error()));
  std::erase_if(*rows, [](const TuningRow& row) { return row.status != "ok"; });
  std::ranges::sort(*rows, {}, &TuningRow::us);
  result.rows = std::move(*rows);
  return result;
}

}  // namespace tilec
