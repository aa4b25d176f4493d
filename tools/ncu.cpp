#include "tools/ncu.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

namespace tilec {
namespace {

bool is_program(const std::string& path) {
  return access(path.c_str(), X_OK) == 0;
}

struct Said {
  std::string text;  // both outputs
  int code = -1;     // exit code; -1: it could not be started, or a signal ended it
};

// Runs `words` as a child process, the first a program.
Said run_child(std::vector<std::string> words) {
  Said said;
  int ends[2];
  if (pipe(ends) != 0) return said;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  const int fault = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (fault == 0) {
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = read(ends[0], buffer.data(), buffer.size())) > 0;)
      said.text.append(buffer.data(), static_cast<size_t>(count));
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status)) said.code = WEXITSTATUS(status);
  }
  close(ends[0]);
  return said;
}

// Cells of one line; a quoted cell may hold commas, "" is a quote in it.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out(1);
  bool within = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && within && i + 1 < line.size() && line[i + 1] == '"') {
      out.back() += line[++i];
    } else if (c == '"') {
      within = !within;
    } else if (c == ',' && !within) {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  return out;
}

std::optional<double> number(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

std::string last_lines(const std::string& text) {
  constexpr size_t kMost = 800;
  return text.size() <= kMost ? text : text.substr(text.size() - kMost);
}

}  // namespace

std::optional<std::string> find_ncu() {
  if (const char* named = std::getenv("TILEC_NCU")) {
    if (is_program(named)) return named;
    return std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (is_program(folder + "/ncu")) return folder + "/ncu";
  if (is_program("/usr/local/cuda/bin/ncu")) return "/usr/local/cuda/bin/ncu";
  return std::nullopt;
}

std::map<std::string, double> parse_raw_page(std::string_view csv) {
  std::map<std::string, double> out;
  std::istringstream lines{std::string(csv)};
  std::vector<std::string> names;
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (names.empty()) {
      if (cells.front() == "ID") names = cells;
      continue;
    }
    if (++rows == 1 || cells.size() < names.size()) continue;  // the row of units
    for (size_t i = 0; i < names.size(); ++i)
      if (const std::optional<double> value = number(cells[i])) out.emplace(names[i], *value);
    break;
  }
  return out;
}

dsl::Result<std::map<std::string, double>> profile_launch(const std::string& tool,
                                                          const std::vector<std::string>& metrics,
                                                          const std::string& kernel,
                                                          const std::vector<std::string>& command) {
  std::vector<std::string> words = {tool,
                                    "--csv",
                                    "--page",
                                    "raw",
                                    "--print-units",
                                    "base",
                                    "--clock-control",
                                    "none",
                                    "--target-processes",
                                    "all",
                                    "--kernel-name",
                                    kernel,
                                    "--launch-count",
                                    "1",
                                    "--metrics",
                                    fmt::format("{}", fmt::join(metrics, ","))};
  words.insert(words.end(), command.begin(), command.end());
  const Said said = run_child(std::move(words));
  if (said.text.find("ERR_NVGPUCTRPERM") != std::string::npos)
    return tl::unexpected(dsl::Error::machine(
        "ncu-refused", "the driver keeps performance counters from this user (ERR_NVGPUCTRPERM)",
        "run as root, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"));
  std::map<std::string, double> values = parse_raw_page(said.text);
  if (!values.empty()) return values;
  return tl::unexpected(
      dsl::Error::machine("ncu-failed", fmt::format("{} gave no counters (exit code {}): {}", tool,
                                                    said.code, last_lines(said.text))));
}

}  // namespace tilec
