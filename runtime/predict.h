// How long a kernel will take, guessed from its spec alone: what the tuner cuts its space by, and
// what chooses a kernel where nothing was measured. A guess ranks; it is never shown as a result.
//
// A launch takes as long as its slowest bound: the multiply-adds of the busiest SM at the spec's
// ideal share and at the issue rate that its warps can keep up; the bytes that memory and the
// second-level cache have to deliver; and, for each slice, what is left of the latency of memory
// once the stages ahead of it have hidden their part.
#pragma once

#include "compiler/artifact.h"
#include "dsl/derive.h"
#include "dsl/shape.h"
#include "dsl/spec.h"

namespace tilec {

/// The machine as the model sees it.
struct MachineRates {
  int sm_count = 132;
  int lanes_per_sm = 128;    // f32 multiply-adds a clock
  double clock_mhz = 1980;   // while it multiplies
  double memory_gbs = 4000;  // bytes from memory, 10^9 a second
  double cache_gbs = 5500;   // bytes from the second-level cache
};

struct Prediction {
  double us = 0;
  double waves = 0;       // blocks / blocks that the machine holds at once
  double compute_us = 0;  // the bounds that `us` is made of
  double memory_us = 0;
  double exposed_us = 0;  // latency that nothing hides
  double launch_us = 0;   // launches, and the second kernel of split_k
};

/// Of a legal spec. `batch`: matrices of this shape. K = 0 and an empty C take a launch.
Prediction predict(const dsl::Spec& spec, const dsl::Derived& derived, const dsl::GemmShape& shape,
                   int64_t batch, const MachineRates& machine);

}  // namespace tilec
