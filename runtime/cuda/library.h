// A shared object opened at run time, so that one binary starts with or without a GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "runtime/faults.h"

namespace tilec::cuda {

/// Stays open until the process ends: the driver's libraries keep threads and exit handlers of
/// their own, which do not survive being unloaded.
class Library {
 public:
  /// The first of `files` that opens. `what` names it in errors ("the CUDA driver").
  /// Errors: machine, `fault`, with every file tried and the loader's words.
  static dsl::Result<Library> open(std::span<const std::string> files, Fault fault,
                                   const std::string& what);

  const std::string& file() const { return file_; }
  void* symbol(const char* name) const;  // null if there is none

 private:
  Library(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  void* handle_;
  std::string file_;
};

/// Fills function pointers, and remembers the names that were not found.
class Binder {
 public:
  explicit Binder(const Library& library) : library_(library) {}

  template <class Function>
  void bind(const char* name, Function*& function) {
    bind_if_there(name, function);
    if (function == nullptr) missing_.emplace_back(name);
  }
  /// One that there may not be: null then.
  template <class Function>
  void bind_if_there(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(library_.symbol(name));
  }
  /// Errors: machine, `fault`, naming the functions that were not found and the file.
  dsl::Result<void> finish(Fault fault) const;

 private:
  const Library& library_;
  std::vector<std::string> missing_;
};

/// `names` as the loader finds them, then in the directories where CUDA is wont to lie.
std::vector<std::string> usual_places(std::span<const std::string> names);

}  // namespace tilec::cuda
