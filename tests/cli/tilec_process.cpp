#include "tests/cli/tilec_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

extern char** environ;

namespace tilec {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> environment_of(const Surroundings& surroundings) {
  std::map<std::string, std::string> values;
  auto set = [&values](const std::string& row) {
    size_t at = row.find('=');
    values[row.substr(0, at)] = row.substr(at + 1);
  };
  if (!surroundings.bare) {
    for (char** row = environ; *row != nullptr; ++row) set(*row);
  }
  for (const std::string& row : surroundings.environment) set(row);
  std::vector<std::string> rows;
  for (const auto& [name, value] : values) rows.push_back(name + "=" + value);
  return rows;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

void redirect(const std::string& path, int flags, int descriptor) {
  int file = open(path.c_str(), flags, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(127);
  close(file);
}

}  // namespace

Outcome tilec(const std::vector<std::string>& words, const Surroundings& surroundings) {
  Folder files;
  files.write("in", surroundings.input);
  std::vector<std::string> arguments = {TILEC_BINARY};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> environment = environment_of(surroundings);
  std::vector<char*> argument_pointers = pointers(arguments);
  std::vector<char*> environment_pointers = pointers(environment);

  pid_t child = fork();
  if (child == 0) {
    redirect(files.path("in"), O_RDONLY, STDIN_FILENO);
    redirect(files.path("out"), O_WRONLY | O_CREAT, STDOUT_FILENO);
    redirect(files.path("err"), O_WRONLY | O_CREAT, STDERR_FILENO);
    if (!surroundings.directory.empty() && chdir(surroundings.directory.c_str()) != 0) _exit(127);
    execve(TILEC_BINARY, argument_pointers.data(), environment_pointers.data());
    _exit(127);
  }
  Outcome outcome;
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return outcome;
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.out = files.read("out");
  outcome.err = files.read("err");
  return outcome;
}

Surroundings nothing_installed() {
  return {.environment = {"PATH=/nonexistent", "TILEC_NO_CUDA=1", "TILEC_NVDISASM=/nonexistent"},
          .bare = true};
}

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "tilec_test_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) abort();
  root_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string Folder::path(const std::string& name) const {
  return (root_ / name).string();
}

void Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(root_ / name, std::ios::binary) << text;
}

std::string Folder::read(const std::string& name) const {
  return text_of(root_ / name);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(root_)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace tilec
