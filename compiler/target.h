// The machines we make code for: limits and rates of each SM.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "dsl/limits.h"

namespace tilec {

struct Target {
  dsl::Limits limits;      // limits.target is the name
  int lanes_per_sm = 128;  // f32 FMA lanes; FLOP per clock and SM = 2 * lanes
  int schedulers = 4;      // warp schedulers per SM
  int ptx_version = 80;    // lowest PTX version that knows the target, times ten
};

/// sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120a.
std::span<const Target> targets();
const Target* find_target(std::string_view name);  // null if unknown

/// The target to use for a device of compute capability `major`.`minor`; null if none fits.
const Target* target_of_capability(int major, int minor);

}  // namespace tilec
