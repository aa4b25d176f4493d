// The command line: words to a command, the command to an outcome, the outcome to an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "tools/commands.h"
#include "tools/files.h"

namespace tilec {
namespace {

int exit_code(dsl::Road road) {
  switch (road) {
    case dsl::Road::user:
      return 1;
    case dsl::Road::check:
      return 3;
    case dsl::Road::machine:
      return 4;
    case dsl::Road::internal:
      return 70;
  }
  return 70;
}

/// What a report of a fault of ours needs: the words, the input and what was said.
void write_reproducer(int count, const char* const* words, const dsl::Error& error) {
  std::string text = "tilec " TILEC_VERSION "\n";
  for (int i = 0; i < count; ++i) text += fmt::format("word {}: {}\n", i, words[i]);
  for (int i = 2; i < count; ++i) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(words[i], ignored)) continue;
    if (auto bytes = read_file(words[i])) text += fmt::format("file {}:\n{}\n", words[i], *bytes);
  }
  text += dsl::render(error);
  std::string name = fmt::format("tilec-fault-{}.txt", getpid());
  std::error_code fault;
  std::string folder = std::filesystem::temp_directory_path(fault).string();
  if (!fault && write_files(folder, {{name, text}})) {
    fmt::print(stderr, "  reproducer: {}/{}\n", folder, name);
  }
}

int run_command_line(int count, const char* const* words) {
  tl::expected<Command, int> command = parse_command_line(count, words);
  if (!command) return command.error();
  dsl::Result<void> done = std::visit([](const auto& chosen) { return run(chosen); }, *command);
  if (done) done = write_output("");  // what is still buffered may not fit the disk
  if (done) return 0;
  fmt::print(stderr, "{}", dsl::render(done.error()));
  if (done.error().road == dsl::Road::internal) write_reproducer(count, words, done.error());
  return exit_code(done.error().road);
}

}  // namespace
}  // namespace tilec

int main(int count, char** words) {
  try {
    return tilec::run_command_line(count, words);
  } catch (const std::exception& error) {
    tilec::dsl::Error fault = tilec::dsl::Error::internal(error.what());
    fmt::print(stderr, "{}", tilec::dsl::render(fault));
    tilec::write_reproducer(count, words, fault);
    return 70;
  }
}
