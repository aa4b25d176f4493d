#include "runtime/cuda/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>

#include <algorithm>

namespace tilec::cuda {
namespace {

// cuBLAS needs its other half; where both lie in a directory that the loader does not search, the
// half has to be open first.
void open_companion(const std::string& file) {
  const std::string cublas = "/libcublas.so";
  const size_t at = file.find(cublas);
  if (at == std::string::npos) return;
  const std::string companion =
      file.substr(0, at) + "/libcublasLt.so" + file.substr(at + cublas.size());
  static_cast<void>(dlopen(companion.c_str(), RTLD_LAZY | RTLD_GLOBAL));
}

void add_matches(const std::string& pattern, std::vector<std::string>& files) {
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
}

}  // namespace

dsl::Result<Library> Library::open(std::span<const std::string> files, Fault fault,
                                   const std::string& what) {
  std::vector<std::string> absent;
  std::string message = fmt::format("{} could not be opened", what);
  for (const std::string& file : files) {
    open_companion(file);
    void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) return Library(handle, file);
    const char* words = dlerror();
    // A file that is not there needs no words of its own. A library that it depends on does: then
    // the loader's words begin with that one's name.
    if (words == nullptr || std::string_view(words).starts_with(file + ": cannot open shared"))
      absent.push_back(file);
    else
      message += fmt::format("; {}", words);
  }
  if (!absent.empty()) message += fmt::format("; not found: {}", fmt::join(absent, ", "));
  return refuse(fault, std::move(message));
}

void* Library::symbol(const char* name) const {
  return dlsym(handle_, name);
}

dsl::Result<void> Binder::finish(Fault fault) const {
  if (missing_.empty()) return {};
  return refuse(fault, fmt::format("{} lacks {}: it is too old or too new", library_.file(),
                                   fmt::join(missing_, ", ")));
}

std::vector<std::string> usual_places(std::span<const std::string> names) {
  // The last ones are patterns: toolkits lie side by side under their versions.
  static constexpr const char* kDirectories[] = {
      "/usr/local/nvidia/lib64",
      "/usr/local/nvidia/lib",
      "/usr/lib/x86_64-linux-gnu",
      "/usr/lib/aarch64-linux-gnu",
      "/usr/lib64",
      "/usr/lib/wsl/lib",
      "/usr/local/cuda/lib64",
      "/usr/local/cuda*/targets/*/lib",
      "/usr/local/lib/python3*/*-packages/nvidia/*/lib",
  };
  std::vector<std::string> files(names.begin(), names.end());
  for (const char* directory : kDirectories)
    for (const std::string& name : names) {
      const std::string pattern = fmt::format("{}/{}", directory, name);
      if (pattern.find('*') == std::string::npos)
        files.push_back(pattern);
      else
        add_matches(pattern, files);
    }
  return files;
}

}  // namespace tilec::cuda
