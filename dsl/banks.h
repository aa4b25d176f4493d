// The banks of shared memory, and what an access costs there.
//
// Shared memory has 32 banks of 4 bytes; word w lies in bank w mod 32. A warp's access is served in
// phases: all 32 lanes at once for 4-byte accesses, half-warps for 8 and 16 bytes. Within a phase
// lanes that read the same word share it, and distinct words of one bank follow one another: each
// such turn is a wavefront. (CUDA C++ programming guide, "Shared memory"; the halves are what
// hardware counters showed for 16-byte loads, 3.0 and 5.0 wavefronts in the ladder's kernels. The
// PTX machine counts by the same rule.)
#pragma once

#include <cstdint>
#include <span>

#include "dsl/derive.h"
#include "dsl/spec.h"

namespace tilec::dsl {

inline constexpr int kBanks = 32;
inline constexpr int64_t kInactive = -1;  // the offset of a lane that takes no part

/// Wavefronts of one warp-wide access: lane l touches `vector` (1, 2 or 4) elements of 4 bytes from
/// element offsets[l] on, a multiple of `vector`. At most 32 lanes.
int wavefronts(std::span<const int64_t> offsets, int vector);

/// Shared accesses of one kind by the warps of one block, for one slice of K.
struct Traffic {
  int64_t accesses = 0;  // warp-wide instructions
  int64_t wavefronts = 0;
  int64_t least = 0;  // wavefronts if each phase's words lay evenly over the banks
  double per_access() const;
};

/// Stores of the copy, and loads of fragments. All zero where copy is `none`.
/// `most_samples` bounds the work: that many warps and passes are looked at, evenly spread, and
/// their sum is scaled up; 0 looks at all.
Traffic copy_stores(const Spec& spec, const Derived& derived, bool operand_a, int most_samples = 0);
Traffic fragment_loads(const Spec& spec, const Derived& derived, bool operand_a,
                       int most_samples = 0);

/// Where thread `thread` of the block finds element `i` of its tile along m (or n), within the
/// block tile.
int thread_element(const Spec& spec, const Derived& derived, bool along_m, int thread, int i);

}  // namespace tilec::dsl
