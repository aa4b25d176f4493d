#include "tools/tune_worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sstream>

#include "runtime/launches.h"
#include "runtime/trial.h"
#include "tools/devices.h"

namespace tilec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsToOpen = 60;  // a device, and the operands

// Every message of a worker is a line of fields with tabs between.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

void send(int to, const std::string& line) {
  const std::string whole = line + "\n";
  for (size_t sent = 0; sent < whole.size();) {
    const ssize_t size = write(to, whole.data() + sent, whole.size() - sent);
    if (size <= 0) _exit(1);  // nobody listens any more
    sent += static_cast<size_t>(size);
  }
}

// A child process and the end of the pipe that it writes to; killed at the end of its scope.
class Child {
 public:
  template <class Work>
  static std::unique_ptr<Child> start(const Work& work) {
    int ends[2];
    if (pipe(ends) != 0) return nullptr;
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      signal(SIGINT, SIG_IGN);  // the parent says when to stop
      work(ends[1]);
      fflush(nullptr);
      _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
      close(ends[0]);
      return nullptr;
    }
    return std::unique_ptr<Child>(new Child(pid, ends[0]));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    close(from_);
    kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
  }

  enum class Heard { line, end, silence, stopped };
  Heard listen(std::string& line, double seconds, const std::function<bool()>& stop) {
    const Clock::time_point until =
        Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
    while (true) {
      const size_t end = heard_.find('\n');
      if (end != std::string::npos) {
        line = heard_.substr(0, end);
        heard_.erase(0, end + 1);
        return Heard::line;
      }
      if (stop && stop()) return Heard::stopped;
      if (Clock::now() >= until) return Heard::silence;
      constexpr int kSliceMs = 100;
      pollfd waiting{from_, POLLIN, 0};
      if (poll(&waiting, 1, kSliceMs) <= 0) continue;
      char part[4096];
      const ssize_t size = read(from_, part, sizeof part);
      if (size <= 0) return Heard::end;
      heard_.append(part, static_cast<size_t>(size));
    }
  }

 private:
  Child(pid_t pid, int from) : pid_(pid), from_(from) {}
  pid_t pid_;
  int from_;
  std::string heard_;
};

dsl::Error cannot_start() {
  return dsl::Error::machine("no-worker",
                             fmt::format("cannot start a process: {}", strerror(errno)));
}

Verdict judge(const Trial& trial, const Artifact& artifact, size_t index) {
  const Result<TrialResult> result = trial.run(artifact, {});
  Verdict out{.index = index};
  if (!result) {
    const dsl::Error& error = result.error();
    out.status = error.road == dsl::Road::user ? "refused" : "failed";
    out.message = error.diagnostics.front().message;
    return out;
  }
  out.status = result->passed ? "ok" : "wrong";
  out.us = result->us;
  out.clock_mhz = result->clock_mhz;
  if (!result->passed) out.message = fmt::format("error {:.3g} of the bound", result->max_error);
  return out;
}

void work(int to, const std::vector<Artifact>& artifacts, size_t first, const GemmProblem& problem,
          const std::string& wanted) {
  dsl::Result<std::unique_ptr<Device>> device = take_device(wanted);
  const auto give_up = [&](const dsl::Error& error) {
    send(to, "give up\t" + one_line(error.diagnostics.front().message));
  };
  if (!device) return give_up(device.error());
  int64_t workspace = 0;
  for (const Artifact& artifact : artifacts)
    workspace = std::max(workspace, workspace_needed(artifact.spec, problem.shape, problem.batch,
                                                     blocks_at_once((*device)->info().sm_count,
                                                                    artifact.blocks_per_sm)));
  const Result<Trial> trial = Trial::prepare(**device, problem, workspace);
  if (!trial) return give_up(trial.error());
  send(to, "ready");
  for (size_t i = first; i < artifacts.size(); ++i) {
    const Verdict verdict = judge(*trial, artifacts[i], i);
    send(to, fmt::format("done\t{}\t{}\t{}\t{}\t{}", i, verdict.status, verdict.us,
                         verdict.clock_mhz, one_line(verdict.message)));
    // After a fault of a kernel the device takes no more calls; a new worker opens it anew.
    if (verdict.status == "failed") return;
  }
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, '\t');) out.push_back(field);
  return out;
}

}  // namespace

dsl::Result<DeviceInfo> ask_device(const std::string& device) {
  const std::unique_ptr<Child> child = Child::start([&](int to) {
    const dsl::Result<std::unique_ptr<Device>> opened = take_device(device);
    if (!opened) {
      const dsl::Diagnostic& why = opened.error().diagnostics.front();
      return send(
          to, fmt::format("no\t{}\t{}\t{}", why.code, one_line(why.message), one_line(why.help)));
    }
    const DeviceInfo& info = (*opened)->info();
    send(to, fmt::format("is\t{}\t{}\t{}\t{}\t{}\t{}\t{}", info.kind == DeviceKind::gpu ? 1 : 0,
                         info.name, info.target, info.driver, info.sm_count, info.lanes_per_sm,
                         (*opened)->free_bytes().value_or(0)));
  });
  std::string line;
  if (child == nullptr) return tl::unexpected(cannot_start());
  if (child->listen(line, kSecondsToOpen, {}) != Child::Heard::line)
    return tl::unexpected(dsl::Error::machine("no-worker", "the device did not open"));
  std::vector<std::string> fields = fields_of(line);
  fields.resize(8);
  if (fields[0] != "is")
    return tl::unexpected(dsl::Error::machine(fields[1], fields[2], fields[3]));
  DeviceInfo info;
  info.kind = fields[1] == "1" ? DeviceKind::gpu : DeviceKind::cpu;
  info.name = fields[2];
  info.target = fields[3];
  info.driver = fields[4];
  info.sm_count = std::stoi(fields[5]);
  info.lanes_per_sm = std::stoi(fields[6]);
  info.memory_bytes = std::stoll(fields[7]);
  return info;
}

dsl::Result<void> run_isolated(const std::vector<Artifact>& artifacts, const GemmProblem& problem,
                               const WorkerOptions& options,
                               const std::function<void(const Verdict&)>& tell) {
  for (size_t next = 0; next < artifacts.size();) {
    const std::unique_ptr<Child> child =
        Child::start([&](int to) { work(to, artifacts, next, problem, options.device); });
    if (child == nullptr) return tl::unexpected(cannot_start());
    std::string line;
    const Child::Heard opened = child->listen(line, kSecondsToOpen, options.is_told_to_stop);
    if (opened == Child::Heard::stopped) return {};
    if (opened != Child::Heard::line || line != "ready")
      return tl::unexpected(dsl::Error::machine(
          "no-worker", opened == Child::Heard::line ? fields_of(line).back()
                                                    : "the worker died before its first kernel"));
    while (next < artifacts.size()) {
      const Child::Heard heard = child->listen(line, options.seconds, options.is_told_to_stop);
      if (heard == Child::Heard::stopped) return {};
      if (heard != Child::Heard::line) {
        const bool hung = heard == Child::Heard::silence;
        tell({.index = next++,
              .status = hung ? "hung" : "crashed",
              .message =
                  hung ? fmt::format("not done in {} s", options.seconds) : "its process died"});
        break;
      }
      std::vector<std::string> fields = fields_of(line);
      fields.resize(6);
      tell({.index = next++,
            .status = fields[2],
            .us = std::stod(fields[3]),
            .clock_mhz = std::stod(fields[4]),
            .message = fields[5]});
      if (fields[2] == "failed") break;
    }
  }
  return {};
}

}  // namespace tilec
