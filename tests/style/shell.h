// A command of the shell, run in the repository's root.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace tilec {

struct Outcome {
  int code = -1;
  std::string output;  // standard output and standard error together
};

inline Outcome shell(const std::string& command) {
  Outcome outcome;
  std::string there = std::string("cd '") + TILEC_SOURCE_DIR + "' && ";
  FILE* pipe = popen(("exec 2>&1; " + there + command).c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.output.append(buffer.data(), size);
  }
  int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace tilec
