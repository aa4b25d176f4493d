// Files that a command leaves: all of them or none, and never half of one.
#pragma once

#include <string>
#include <vector>

#include "dsl/error.h"

namespace tilec {

struct OutputFile {
  std::string name;  // without folder
  std::string bytes;
};

/// Writes `files` into `directory` (made if it is not there). Each is written beside its place and
/// renamed into it once all are whole.
/// Errors: machine, "cannot-write" with the system's words; then no file of these has changed.
dsl::Result<void> write_files(const std::string& directory, const std::vector<OutputFile>& files);

/// Writes one file of any path, in the same way; its folder is made if it is not there.
/// Errors: machine, "cannot-write"; also where `path` is a folder.
dsl::Result<void> write_file(const std::string& path, const std::string& bytes);

/// Removes files of these names from `directory`, those that are there: what an earlier command
/// left must not be taken for what this one failed to make.
void remove_files(const std::string& directory, const std::vector<std::string>& names);

/// Writes to standard output, all of it. Errors: machine, "cannot-write" (a full disk, say).
dsl::Result<void> write_output(std::string_view bytes);

// No spec, no tile IR and no PTX comes near; /dev/zero passes it.
inline constexpr size_t kMostSourceBytes = size_t{16} << 20;

/// All of a file, or of standard input for "-".
/// Errors: user, "missing-file", "unreadable-file" or "source-too-large" (over `most` bytes).
dsl::Result<std::string> read_file(const std::string& path, size_t most = kMostSourceBytes);

}  // namespace tilec
