#include "compiler/codegen/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

namespace tilec::codegen {

namespace fs = std::filesystem;

std::vector<std::string> places_of(const std::string& file, const char* chosen,
                                   const std::string& folder, const std::string& unpacked) {
  if (std::getenv("TILEC_NO_CUDA") != nullptr) return {};
  if (chosen != nullptr) return {chosen};
  std::vector<std::string> out = {file, "/usr/local/cuda/" + folder + "/" + file};
  std::error_code error;
  for (fs::path up = fs::read_symlink("/proc/self/exe", error).parent_path();
       !up.empty() && up != up.root_path(); up = up.parent_path()) {
    const fs::path found = up / ".deps/cuda" / unpacked / file;
    if (fs::exists(found, error)) out.push_back(found.string());
  }
  return out;
}

std::string not_found(const std::string& tool, const std::vector<std::string>& tried) {
  if (tried.empty()) return tool + " was not looked for, since TILEC_NO_CUDA is set";
  return fmt::format("{} was not found; tried {}", tool, fmt::join(tried, ", "));
}

}  // namespace tilec::codegen
