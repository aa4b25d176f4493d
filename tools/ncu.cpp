#include "tools/ncu.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace tilec {
namespace {

bool is_program(const std::string& path) {
  return access(path.c_str(), X_OK) == 0;
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
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
  std::string line = fmt::format(
      "{} --csv --page raw --print-units base --clock-control none --target-processes all "
      "--kernel-name {} --launch-count 1 --metrics {}",
      quoted(tool), quoted(kernel), quoted(fmt::format("{}", fmt::join(metrics, ","))));
  for (const std::string& word : command) line += " " + quoted(word);
  line += " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr)
    return tl::unexpected(dsl::Error::machine("ncu-failed", "ncu could not be started"));
  std::string said;
  char buffer[4096];
  while (const size_t count = fread(buffer, 1, sizeof buffer, pipe)) said.append(buffer, count);
  const int status = pclose(pipe);
  if (said.find("ERR_NVGPUCTRPERM") != std::string::npos)
    return tl::unexpected(dsl::Error::machine(
        "ncu-refused", "the driver keeps performance counters from this user (ERR_NVGPUCTRPERM)",
        "run as root, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"));
  std::map<std::string, double> values = parse_raw_page(said);
  if (!values.empty()) return values;
  return tl::unexpected(dsl::Error::machine(
      "ncu-failed",
      fmt::format("{} gave no counters (exit code {}): {}", tool,
                  WIFEXITED(status) ? WEXITSTATUS(status) : status, last_lines(said))));
}

}  // namespace tilec
