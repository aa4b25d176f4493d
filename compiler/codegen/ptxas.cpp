// ptxas as a child process: the fallback where nvJitLink cannot be opened.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "compiler/codegen/assemble.h"
#include "compiler/codegen/places.h"

extern char** environ;

namespace tilec::codegen {
namespace {

namespace fs = std::filesystem;

// A folder of our own, gone with the object.
class Scratch {
 public:
  Scratch() {
    std::error_code ignored;
    std::string pattern = (fs::temp_directory_path(ignored) / "tilec-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  fs::path file(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> places() {
  return places_of("ptxas", std::getenv("TILEC_PTXAS"), "bin", "bin");
}

// Runs `command`, both outputs into `log`. Exit status, or -1 if it could not be started.
int run(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 255;
  return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

std::string version_of(const std::string& ptxas, const fs::path& log) {
  if (run({ptxas, "--version"}, log) != 0) return "";
  std::smatch found;
  const std::string text = read_text(log);
  return std::regex_search(text, found, std::regex("V([0-9.]+)")) ? found[1].str() : "";
}

}  // namespace

dsl::Result<Assembled> assemble_with_ptxas(const std::string& ptx, const std::string& target) {
  const Scratch scratch;
  const fs::path source = scratch.file("kernel.ptx");
  const fs::path cubin = scratch.file("kernel.cubin");
  const fs::path log = scratch.file("log");
  std::ofstream(source) << ptx;
  for (const std::string& ptxas : places()) {
    const int status = run(
        {ptxas, "-arch=" + target, "-O3", "-v", "-lineinfo", source.string(), "-o", cubin.string()},
        log);
    if (status == -1) continue;
    const std::string words = read_text(log);
    if (status != 0)
      return tl::unexpected(assembler_failed(
          fmt::format("{} -arch={} -O3 -v -lineinfo (status {})", ptxas, target, status), words,
          ptx));
    const std::string bytes = read_text(cubin);
    Assembled out{{bytes.begin(), bytes.end()}, read_assembler_log(words, first_entry(ptx))};
    out.report.tool = "ptxas";
    out.report.version = version_of(ptxas, log);
    return out;
  }
  return tl::unexpected(dsl::Error::machine("no-assembler", not_found("ptxas", places()), ""));
}

}  // namespace tilec::codegen
