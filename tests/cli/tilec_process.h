// The built `tilec`, run as a user runs it: words in, exit code and both outputs out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilec {

struct Surroundings {
  std::string input;                     // standard input
  std::vector<std::string> environment;  // NAME=VALUE, over the test's own
  bool bare = false;      // an environment of nothing but `environment`, with an empty PATH
  std::string directory;  // working directory; empty: the test's own
};

struct Outcome {
  int code = -1;   // exit code; -1 if a signal ended it
  int signal = 0;  // the signal; 0 if none
  std::string out;
  std::string err;
};

Outcome tilec(const std::vector<std::string>& words, const Surroundings& surroundings = {});

/// Surroundings that show tilec no toolkit, no driver, no disassembler.
Surroundings nothing_installed();

/// A folder of its own for a test, removed at the end of its scope.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name = "") const;
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  std::vector<std::string> names() const;  // of everything in it, sorted

 private:
  std::filesystem::path root_;
};

// The spec of the main job, and shapes that the CPU is quick with.
inline const std::string kMainSpec = "tile 128x128 warp 64x32 thread 8x8 stages 2";
inline const std::string kSmallSpec = "tile 32x32x8 thread 2x2";
inline const std::string kSmallShape = "33x31x9";

}  // namespace tilec
