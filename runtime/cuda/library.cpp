#include "runtime/cuda/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

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

}  // namespace

dsl::Result<Library> Library::open(std::span<const std::string> files, const std::string& code,
                                   const std::string& what) {
  std::vector<std::string> tried;
  for (const std::string& file : files) {
    open_companion(file);
    void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) return Library(handle, file);
    const char* words = dlerror();
    std::string why = words == nullptr ? "no reason given" : words;
    // The loader mostly begins with the file's name.
    if (!why.starts_with(file)) why = file + ": " + why;
    tried.push_back(std::move(why));
  }
  return tl::unexpected(dsl::Error::machine(
      code, fmt::format("{} could not be opened; tried\n  {}", what, fmt::join(tried, "\n  "))));
}

void* Library::symbol(const char* name) const {
  return dlsym(handle_, name);
}

dsl::Result<void> Binder::finish(const std::string& code) const {
  if (missing_.empty()) return {};
  return tl::unexpected(
      dsl::Error::machine(code, fmt::format("{} lacks {}: it is too old or too new",
                                            library_.file(), fmt::join(missing_, ", "))));
}

std::vector<std::string> usual_places(std::span<const std::string> names) {
  static constexpr const char* kDirectories[] = {
      "/usr/local/nvidia/lib64",
      "/usr/local/nvidia/lib",
      "/usr/lib/x86_64-linux-gnu",
      "/usr/lib64",
      "/usr/lib/wsl/lib",
      "/usr/local/cuda/lib64",
      "/usr/local/cuda/targets/x86_64-linux/lib",
      "/usr/local/cuda/compat",
  };
  std::vector<std::string> files(names.begin(), names.end());
  for (const char* directory : kDirectories)
    for (const std::string& name : names) files.push_back(fmt::format("{}/{}", directory, name));
  return files;
}

}  // namespace tilec::cuda
