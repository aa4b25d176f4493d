// Compiled kernels on disk, shared by all processes of a user.
//
// An entry is a file named by the hash of its key. It is written beside its place and renamed into
// it, so that a reader sees a whole entry or none; it holds its key and a hash of all its bytes, so
// that an entry that was cut short, overwritten or mixed up is seen to be one, dropped, and made
// anew. A cache that cannot be written (a full disk, no rights) costs the time of compiling and
// nothing else.
#pragma once

#include <optional>
#include <string>

#include "compiler/artifact.h"

namespace tilec {

class KernelCache {
 public:
  /// An empty folder name: nothing is kept.
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  /// `key`: all that the kernel's code depends on. None where there is no valid entry.
  std::optional<Artifact> load(const std::string& key) const;
  /// Whether it was kept.
  bool store(const std::string& key, const Artifact& artifact) const;
  /// Where the entry of a key is or would be.
  std::string path_of(const std::string& key) const;

 private:
  std::string folder_;
};

/// The parts of an artifact that a launch needs: entries, PTX, cubin, spec. `pack` then `unpack` is
/// the identity on them; `unpack` gives none for bytes that `pack` did not make of this key.
std::string pack(const std::string& key, const Artifact& artifact);
std::optional<Artifact> unpack(const std::string& key, const std::string& bytes);

/// TILEC_CACHE, else tilec/kernels in the user's cache folder; empty where there is none.
std::string usual_cache_folder();

}  // namespace tilec
