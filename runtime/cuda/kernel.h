// A kernel on a GPU: loaded from its cubin, or assembled by the driver where there is none. Only
// for the files of this folder.
#pragma once

#include <optional>

#include "runtime/cuda/context.h"
#include "runtime/launches.h"

namespace tilec::cuda {

class Kernel {
 public:
  /// The cubin if the artifact has one; else the driver's JIT assembles its PTX, as the last
  /// resort, and its log is kept in the error.
  /// Errors: machine, "device-load"; "shared-memory-refused" where the device allows less.
  static Result<Kernel> load(const Context& context, const Artifact& artifact);
  Kernel(Kernel&& other) noexcept;
  Kernel& operator=(Kernel&&) = delete;
  ~Kernel();

  /// Enqueues it on the context's stream; nothing for an empty C.
  /// Errors: user, those of dsl::grid_blocks; machine, "device-call".
  Result<void> launch(const KernelArguments& arguments) const;
  /// Of the first kernel function, on one SM; none: the driver would not say.
  std::optional<int> blocks_per_sm() const;
  const std::string& name() const { return code_.spec.name; }

 private:
  explicit Kernel(const Context& context) : context_(&context) {}
  Result<void> load_module(const Artifact& artifact);
  Result<void> allow_shared_memory();
  Result<void> launch_one(const Launch& launch, CUstream stream) const;
  dsl::Error launch_error(CUresult status, const Launch& launch) const;

  const Context* context_;
  CUmodule module_ = nullptr;
  std::vector<CUfunction> functions_;  // by entry
  KernelCode code_;
  int sm_count_ = 1;
};

}  // namespace tilec::cuda
