// What a handle of tilec.h stands for: a device, the kernels loaded onto it, and their workspace.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/device.h"
#include "runtime/problem.h"
#include "tools/library/cache.h"
#include "tools/library/tilec.h"

namespace tilec {

/// One call of the interface, as row-major matrices: a column-major C is the transpose of a
/// row-major one, so that its A and B have changed places.
struct Call {
  GemmProblem problem;        // offsets hold what the addresses are aligned to
  KernelArguments arguments;  // without a workspace
  bool checks_overlap = true;
};

}  // namespace tilec

struct tilec_context {
 public:
  static tilec::Result<std::unique_ptr<tilec_context>> open(tilec_device kind, int index);

  tilec::Result<void> multiply(tilec::Call call);
  tilec::Device& device() { return *device_; }
  void set_stream(void* stream) { stream_ = stream; }
  void set_cache(const std::string& folder) { cache_ = tilec::KernelCache(folder); }

  std::mutex mutex;        // held during a call
  std::string last_error;  // words of the last failure
  std::string last_spec;   // of the last launch
  std::string last_choice;

 private:
  struct Loaded {
    tilec::dsl::Spec spec;
    int blocks_per_sm = 1;
    tilec::KernelId kernel{};
    std::string text;  // the completed spec
    std::string why;
  };
  tilec::Result<const Loaded*> kernel_for(const tilec::GemmProblem& problem);
  tilec::Result<tilec::Artifact> artifact_of(const tilec::dsl::Spec& spec, tilec::dsl::Batch batch);
  tilec::Result<void> give_workspace(const Loaded& kernel, tilec::Call& call);

  std::unique_ptr<tilec::Device> device_;
  std::string target_;
  std::string version_;
  void* stream_ = nullptr;
  tilec::KernelCache cache_{tilec::usual_cache_folder()};
  std::map<std::string, Loaded> kernels_;      // by shape, layout, alignment and batch
  std::map<void*, tilec::Buffer> workspaces_;  // by stream: launches of one do not overlap
};
