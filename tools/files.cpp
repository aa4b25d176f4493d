#include "tools/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace tilec {
namespace {

namespace fs = std::filesystem;

dsl::Error cannot_write(const std::string& what, const std::string& why) {
  return dsl::Error::machine("cannot-write", fmt::format("cannot write {}: {}", what, why));
}

/// Why `bytes` did not get to `path`; empty if they did.
std::string write_one(const fs::path& path, const std::string& bytes) {
  FILE* file = fopen(path.c_str(), "wb");
  if (file == nullptr) return strerror(errno);
  bool whole = fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  std::string why = whole ? "" : strerror(errno);
  if (fclose(file) != 0 && why.empty()) why = strerror(errno);
  return why;
}

}  // namespace

dsl::Result<void> write_files(const std::string& directory, const std::vector<OutputFile>& files) {
  std::error_code fault;
  fs::create_directories(directory, fault);
  if (fault) return tl::unexpected(cannot_write("folder " + directory, fault.message()));

  auto beside = [&](const OutputFile& file) {
    return fs::path(directory) / fmt::format(".{}.{}", file.name, getpid());
  };
  auto give_up = [&](const OutputFile& culprit, const std::string& why) {
    for (const OutputFile& file : files) fs::remove(beside(file), fault);
    fs::path path = fs::path(directory) / culprit.name;
    return tl::unexpected(cannot_write(path.string(), why));
  };
  for (const OutputFile& file : files) {
    // A folder in a file's place is found here, before any rename has been done.
    if (fs::is_directory(fs::path(directory) / file.name, fault)) {
      return give_up(file, "a folder is in its place");
    }
    std::string why = write_one(beside(file), file.bytes);
    if (!why.empty()) return give_up(file, why);
  }
  for (const OutputFile& file : files) {
    fs::rename(beside(file), fs::path(directory) / file.name, fault);
    if (fault) return give_up(file, fault.message());
  }
  return {};
}

dsl::Result<void> write_file(const std::string& path, const std::string& bytes) {
  const std::filesystem::path file(path);
  std::error_code ignored;
  if (!file.has_filename() || std::filesystem::is_directory(file, ignored))
    return tl::unexpected(dsl::Error::machine(
        "cannot-write", fmt::format("{} is a folder, and no name of a file", path)));
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  return write_files(folder, {{file.filename().string(), bytes}});
}

void remove_files(const std::string& directory, const std::vector<std::string>& names) {
  std::error_code ignored;  // a file that was not there is as good as one removed
  for (const std::string& name : names) fs::remove(fs::path(directory) / name, ignored);
}

dsl::Result<void> write_output(std::string_view bytes) {
  bool whole = fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (!whole || fflush(stdout) != 0) {
    return tl::unexpected(cannot_write("to standard output", strerror(errno)));
  }
  return {};
}

dsl::Result<std::string> read_file(const std::string& path, size_t most) {
  std::error_code fault;
  if (path != "-" && !fs::exists(path, fault)) {
    return tl::unexpected(dsl::Error::user("missing-file", fmt::format("no file {}", path)));
  }
  if (path != "-" && fs::is_directory(path, fault)) {
    return tl::unexpected(dsl::Error::user("unreadable-file", fmt::format("{} is a folder", path)));
  }
  FILE* file = path == "-" ? stdin : fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return tl::unexpected(dsl::Error::user(
        "unreadable-file", fmt::format("cannot read {}: {}", path, strerror(errno))));
  }
  std::string bytes;
  char part[1 << 14];
  while (size_t size = fread(part, 1, sizeof part, file)) {
    bytes.append(part, size);
    if (bytes.size() > most) break;
  }
  bool failed = ferror(file) != 0;
  if (path != "-") fclose(file);
  if (bytes.size() > most) {
    return tl::unexpected(dsl::Error::user("source-too-large",
                                           fmt::format("{} holds more than {} bytes", path, most)));
  }
  if (failed) {
    return tl::unexpected(
        dsl::Error::user("unreadable-file", fmt::format("cannot read all of {}", path)));
  }
  return bytes;
}

}  // namespace tilec
