#include "compiler/sass/disassemble.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <utility>

// The environment of this process, handed to the child.
extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX asks for it

namespace tilec::sass {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<uint64_t> parse_hex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// The number of the last comment of `line`: `/* 0x0000001404037211 */`.
std::optional<uint64_t> trailing_word(std::string_view line) {
  constexpr std::string_view kOpen = "/* 0x";
  const size_t open = line.rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  const size_t close = line.find(" */", open);
  if (close == std::string_view::npos) return std::nullopt;
  return parse_hex(line.substr(open + kOpen.size(), close - open - kOpen.size()));
}

// `/*00a0*/   LEA.HI R3, R20, R20.reuse, RZ, 0x1 ;   /* 0x0000001414037211 */`, without the upper
// half of the word, which stands on the next line.
std::optional<TextLine> parse_line(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("/*")) return std::nullopt;
  const size_t close = line.find("*/");
  if (close == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> offset = parse_hex(line.substr(2, close - 2));
  const std::optional<uint64_t> low = trailing_word(line.substr(close + 2));
  if (!offset || !low || *offset > UINT32_MAX) return std::nullopt;
  std::string_view text = line.substr(close + 2);
  text = trimmed(text.substr(0, text.rfind("/* 0x")));
  if (text.ends_with(';')) text = trimmed(text.substr(0, text.size() - 1));
  TextLine out{.offset = static_cast<uint32_t>(*offset), .word = {.lo = *low}};
  for (const char c : text)
    if (c != ' ' || (!out.text.empty() && out.text.back() != ' ')) out.text.push_back(c);
  return out;
}

// A file that goes away with this value.
struct TemporaryFile {
  std::string path;
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path.empty()) unlink(path.c_str());
  }
};

bool write_temporary(std::span<const uint8_t> bytes, TemporaryFile& file) {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) return false;
  std::string path = folder / "tilec-XXXXXX";
  const int handle = mkstemp(path.data());
  if (handle < 0) return false;
  file.path = path;
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(handle, bytes.data() + done, bytes.size() - done);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  return close(handle) == 0 && done == bytes.size();
}

std::string read_all(int handle) {
  std::string text;
  char buffer[1 << 16];
  for (ssize_t count = 0; (count = read(handle, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

struct Finished {
  int status = -1;     // exit status; -1 if it could not be started or died
  std::string output;  // standard output and standard error together
};

Finished run(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Finished finished;
  if (error == 0) {
    finished.output = read_all(ends[0]);
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status))
      finished.status = WEXITSTATUS(status);
  }
  close(ends[0]);
  return finished;
}

}  // namespace

const TextKernel* Disassembly::find(std::string_view name) const {
  const auto at = std::ranges::find(kernels, name, &TextKernel::name);
  return at == kernels.end() ? nullptr : &*at;
}

std::optional<std::string> find_nvdisasm() {
  if (const char* named = std::getenv("TILEC_NVDISASM"); named != nullptr && *named != '\0')
    return is_program(named) ? std::optional<std::string>(named) : std::nullopt;
  std::error_code error;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
       !folder.empty() && folder != folder.root_path(); folder = folder.parent_path()) {
    const fs::path program = folder / ".deps" / "nvdisasm" / "nvdisasm";
    if (is_program(program)) return program.string();
  }
  const char* path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "" : path;
  while (!folders.empty()) {
    const size_t colon = std::min(folders.find(':'), folders.size());
    const fs::path program = fs::path(folders.substr(0, colon)) / "nvdisasm";
    if (is_program(program)) return program.string();
    folders.remove_prefix(std::min(colon + 1, folders.size()));
  }
  const fs::path toolkit = "/usr/local/cuda/bin/nvdisasm";
  if (is_program(toolkit)) return toolkit.string();
  return std::nullopt;
}

Disassembly parse_disassembly(std::string_view text) {
  constexpr std::string_view kSection = ".section\t.text.";
  Disassembly out;
  std::vector<std::string> labels;  // since the last instruction
  std::optional<TextLine> pending;  // lacks the upper half of its word, which the next line has
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::optional<TextLine> instruction = std::exchange(pending, std::nullopt);
    const std::optional<uint64_t> high = instruction ? trailing_word(line) : std::nullopt;
    if (high && !out.kernels.empty()) {
      instruction->word.hi = *high;
      for (std::string& label : labels)
        out.kernels.back().labels.push_back({std::move(label), instruction->offset});
      labels.clear();
      out.kernels.back().lines.push_back(std::move(*instruction));
      continue;
    }
    if (const size_t at = line.find(kSection); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + kSection.size());
      labels.clear();
      out.kernels.push_back({.name = std::string(rest.substr(0, rest.find_first_of(",\t ")))});
    } else if (line.starts_with('.') && line.ends_with(':')) {
      labels.emplace_back(line.substr(0, line.size() - 1));
    } else {
      pending = parse_line(line);
    }
  }
  return out;
}

dsl::Result<Disassembly> disassemble(std::span<const uint8_t> cubin, const std::string& tool) {
  TemporaryFile file;
  if (!write_temporary(cubin, file))
    return tl::unexpected(
        dsl::Error::machine("temporary-file", "cannot write a temporary file for nvdisasm"));
  Finished finished = run({tool, "-c", "-hex", "-ndf", file.path});
  if (finished.status != 0) {
    const std::string words(trimmed(finished.output.substr(0, finished.output.find('\n'))));
    return tl::unexpected(dsl::Error::machine(
        "nvdisasm-failed",
        fmt::format("{} failed: {}", tool, words.empty() ? "it said nothing" : words),
        "an nvdisasm at least as new as the assembler reads its cubins"));
  }
  Disassembly out = parse_disassembly(finished.output);
  out.tool = tool;
  return out;
}

}  // namespace tilec::sass
