// Makes random calls of libtilec and says how they came out, as JSON. Needs nothing but CUDA.
//
// Usage: random_calls [--device gpu|cpu] [--calls N] [--seed S] [--most N] [--jobs N]
//                     [--seconds N] [--call I] [--plant lda|ldb|ldc] [--cache DIR]
//
// Call i depends on the seed, on --most and on i alone, so --call I makes one of them again. The
// calls are shared out to processes, since most of the time goes into compiling kernels; the
// folder of compiled kernels is theirs together. After --seconds no further call is begun.
// Exit codes: 0 all are right, 2 the command line is wrong, 3 a call is wrong, 4 there is no
// device, or a process died.
#include "tests/library/random_calls.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace {

using namespace tilec;
using namespace tilec::random_calls;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostFailures = 20;  // that are described

struct Options {
  std::string device = "gpu";
  int64_t calls = 1000;
  int64_t seed = 1;
  int64_t most = 700;
  int64_t jobs = 1;
  int64_t seconds = 3600;
  int64_t call = -1;  // this one alone
  std::string plant;
  std::string cache;
};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Plant plant_of(const std::string& word) {
  return word == "lda"   ? Plant::lda
         : word == "ldb" ? Plant::ldb
         : word == "ldc" ? Plant::ldc
                         : Plant::none;
}

// False, and words on standard error, where the command line is wrong.
bool parse(int count, char** words, Options& out) {
  const std::pair<std::string, int64_t*> numbers[] = {
      {"--calls", &out.calls}, {"--seed", &out.seed},       {"--most", &out.most},
      {"--jobs", &out.jobs},   {"--seconds", &out.seconds}, {"--call", &out.call}};
  const std::pair<std::string, std::string*> texts[] = {
      {"--device", &out.device}, {"--plant", &out.plant}, {"--cache", &out.cache}};
  for (int i = 1; i < count; i += 2) {
    const std::string word = words[i];
    const std::string value = i + 1 < count ? words[i + 1] : "";
    bool known = false;
    for (const auto& [name, to] : numbers) {
      if (name != word) continue;
      known = !value.empty() && value.size() < 10 &&
              value.find_first_not_of("0123456789") == std::string::npos;
      if (known) *to = std::stoll(value);
    }
    for (const auto& [name, to] : texts) {
      if (name != word) continue;
      known = !value.empty();
      *to = value;
    }
    if (!known) {
      fmt::print(stderr, "random_calls: {} {}: no option, or no value for it\n", word, value);
      return false;
    }
  }
  if (out.device != "gpu" && out.device != "cpu") out.device.clear();
  const bool plants = out.plant.empty() || plant_of(out.plant) != Plant::none;
  if (out.device.empty() || !plants || out.jobs < 1 || out.most < 1) {
    fmt::print(stderr, "random_calls: a value is out of its range\n");
    return false;
  }
  return true;
}

// What came of some of the calls; two tallies add up.
struct Tally {
  struct Kind {
    int64_t calls = 0, wrong = 0, cublas_wrong = 0, bit_equal = 0;
    double error = 0, cublas_error = 0, difference = 0;
  };
  std::map<std::string, Kind> kinds;
  std::set<std::string> specs;
  std::vector<std::string> failures;
  std::vector<std::string> cublas_failures;
  std::string fault;  // of the device, after which no call was made
};

double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

void add(Tally::Kind& to, const Tally::Kind& other) {
  to.calls += other.calls;
  to.wrong += other.wrong;
  to.cublas_wrong += other.cublas_wrong;
  to.bit_equal += other.bit_equal;
  to.error = larger(other.error, to.error);
  to.cublas_error = larger(other.cublas_error, to.cublas_error);
  to.difference = larger(other.difference, to.difference);
}

void add_call(Tally& tally, int64_t index, const RandomCall& call, const CallResult& result) {
  add(tally.kinds[kind_of(call)], {.calls = 1,
                                   .wrong = result.wrong ? 1 : 0,
                                   .cublas_wrong = result.cublas_wrong ? 1 : 0,
                                   .bit_equal = result.bit_equal ? 1 : 0,
                                   .error = result.error,
                                   .cublas_error = result.cublas_error,
                                   .difference = result.difference});
  if (!result.spec.empty()) tally.specs.insert(result.spec);
  if (result.wrong)
    tally.failures.push_back(
        fmt::format("call {}: {}: {}by {}", index, describe(call), result.words, result.spec));
  if (result.cublas_wrong)
    tally.cublas_failures.push_back(
        fmt::format("call {}: {}: {}", index, describe(call), result.cublas_words));
}

// Every `jobs`th call from `first` on.
Tally make_calls(const Options& options, int64_t first, Clock::time_point start) {
  Tally tally;
  const tilec_device kind = options.device == "gpu" ? TILEC_GPU : TILEC_CPU;
  Result<std::unique_ptr<Caller>> caller = Caller::open(kind, options.cache);
  if (!caller) {
    tally.fault = dsl::render(caller.error());
    return tally;
  }
  const int64_t begin = options.call >= 0 ? options.call : first;
  const int64_t end = options.call >= 0 ? options.call + 1 : options.calls;
  for (int64_t i = begin; i < end && since(start) < static_cast<double>(options.seconds);
       i += options.jobs) {
    const RandomCall call = random_call(static_cast<uint64_t>(options.seed), i, options.most);
    Result<CallResult> result = (*caller)->make(call, plant_of(options.plant));
    if (!result) {
      tally.fault = fmt::format("call {}: {}: {}", i, describe(call), dsl::render(result.error()));
      return tally;
    }
    add_call(tally, i, call, *result);
  }
  return tally;
}

// A tally as a process hands it to its parent; JSON has no NaN, so errors travel as text.
std::string packed(const Tally& tally) {
  Json kinds = Json::object();
  for (const auto& [name, kind] : tally.kinds)
    kinds[name] = {kind.calls,
                   kind.wrong,
                   kind.cublas_wrong,
                   kind.bit_equal,
                   fmt::format("{}", kind.error),
                   fmt::format("{}", kind.cublas_error),
                   fmt::format("{}", kind.difference)};
  return Json{{"kinds", kinds},
              {"specs", tally.specs},
              {"failures", tally.failures},
              {"cublas_failures", tally.cublas_failures},
              {"fault", tally.fault}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_packed(Tally& tally, const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    tally.fault = "a process died before it was done";
    return;
  }
  const auto number = [](const Json& value) { return std::stod(value.get<std::string>()); };
  for (const auto& [name, kind] : json["kinds"].items())
    add(tally.kinds[name],
        {kind[0], kind[1], kind[2], kind[3], number(kind[4]), number(kind[5]), number(kind[6])});
  for (const auto& spec : json["specs"]) tally.specs.insert(spec);
  for (const auto& failure : json["failures"]) tally.failures.push_back(failure);
  for (const auto& failure : json["cublas_failures"]) tally.cublas_failures.push_back(failure);
  if (json["fault"] != "") tally.fault = json["fault"];
}

// Processes, since a device belongs to the one that opened it.
Tally share_out(const Options& options, Clock::time_point start) {
  std::vector<int> ends;
  std::vector<pid_t> children;
  Tally tally;
  for (int64_t job = 0; job < options.jobs; ++job) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) {
      tally.fault = "no pipe";
      break;
    }
    const pid_t child = fork();
    if (child == 0) {
      close(pipe_ends[0]);
      const std::string text = packed(make_calls(options, job, start));
      for (size_t done = 0; done < text.size();) {
        const ssize_t written = write(pipe_ends[1], text.data() + done, text.size() - done);
        if (written <= 0) break;
        done += static_cast<size_t>(written);
      }
      _exit(0);
    }
    close(pipe_ends[1]);
    ends.push_back(pipe_ends[0]);
    children.push_back(child);
  }
  for (const int end : ends) {
    std::string text;
    char part[4096];
    for (ssize_t size = 0; (size = read(end, part, sizeof(part))) > 0;)
      text.append(part, static_cast<size_t>(size));
    close(end);
    add_packed(tally, text);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return tally;
}

Json kind_json(const Tally::Kind& kind, bool gpu) {
  const auto on_gpu = [gpu](const Json& value) { return gpu ? value : Json(); };
  return {{"calls", kind.calls},
          {"wrong", kind.wrong},
          {"worst_error", kind.error},
          {"bit_equal", on_gpu(kind.bit_equal)},
          {"worst_difference", on_gpu(kind.difference)},
          {"cublas_wrong", on_gpu(kind.cublas_wrong)},
          {"cublas_worst_error", on_gpu(kind.cublas_error)}};
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!parse(count, words, options)) return 2;
  const Clock::time_point start = Clock::now();
  std::string folder;
  if (options.cache.empty()) {
    folder = (std::filesystem::temp_directory_path() / "random-calls-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return 4;
    options.cache = folder;
  }
  if (options.call >= 0) options.jobs = 1;
  Tally tally = share_out(options, start);
  if (!folder.empty()) std::filesystem::remove_all(folder);

  Tally::Kind all;
  for (const auto& [name, kind] : tally.kinds) add(all, kind);
  const bool gpu = options.device == "gpu";
  Json json = {{"schema", "tilec.random-calls/1"},
               {"device", options.device},
               {"seed", options.seed},
               {"most_extent", options.most},
               {"planted", options.plant.empty() ? Json() : Json(options.plant)}};
  json.update(kind_json(all, gpu));
  json["first_cublas_wrong"] =
      tally.cublas_failures.empty() ? Json() : Json(tally.cublas_failures.front());
  json["kernels"] = tally.specs.size();
  json["seconds"] = since(start);
  Json kinds = Json::object();
  for (const auto& [name, kind] : tally.kinds) kinds[name] = kind_json(kind, gpu);
  json["by_kind"] = kinds;
  fmt::print("{}\n", json.dump(2));
  // Of those of cuBLAS the exit code says nothing.
  tally.failures.insert(tally.failures.end(), tally.cublas_failures.begin(),
                        tally.cublas_failures.end());
  for (size_t i = 0; i < std::min(kMostFailures, tally.failures.size()); ++i)
    fmt::print(stderr, "{}\n", tally.failures[i]);
  if (!tally.fault.empty()) {
    fmt::print(stderr, "{}\n", tally.fault);
    return 4;
  }
  return all.wrong == 0 ? 0 : 3;
}
