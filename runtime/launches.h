// From a kernel and its arguments to what the devices launch: the grids of its entries, and their
// parameters in the order that compiler/artifact.h states.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "compiler/artifact.h"
#include "runtime/device.h"

namespace tilec {

/// What a device keeps of an artifact.
struct KernelCode {
  dsl::Spec spec;
  dsl::Batch batch = dsl::Batch::none;
  std::vector<Entry> entries;
  int blocks_per_sm = 1;  // that fit one SM, by the model
};
KernelCode code_of(const Artifact& artifact);

using Parameter = std::variant<uint64_t, int64_t, int32_t, float>;

struct Launch {
  size_t entry = 0;  // index into KernelCode::entries
  std::array<uint32_t, 3> grid{1, 1, 1};
  bool early = false;  // may start while the one before is at work: it waits for its end by itself
  std::vector<Parameter> parameters;
};

/// Matrices of a batch that one launch takes at most; a larger batch takes several.
inline constexpr int64_t kMostMatrices = 65535;

/// Blocks that a device of `sm_count` multiprocessors (0: the CPU, which counts as one) holds at
/// once, `blocks_per_sm` on each.
int64_t blocks_at_once(int sm_count, int blocks_per_sm);

/// Bytes that KernelArguments::workspace has to have for these extents and this batch, on a device
/// that holds so many blocks at once.
int64_t workspace_needed(const dsl::Spec& spec, const dsl::GemmShape& shape, int64_t batch,
                         int64_t at_once);

/// The launches in their order; none where C is empty. `sm_count`: of the device, for persistent
/// kernels, which have as many blocks as it holds at once.
/// Errors: those of dsl::grid_blocks; batch-differs; workspace-too-small.
Result<std::vector<Launch>> plan_launches(const KernelCode& code, const KernelArguments& arguments,
                                          int sm_count);

}  // namespace tilec
