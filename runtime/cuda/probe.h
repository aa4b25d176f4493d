// A look at the GPU without opening it.
#pragma once

#include <string>

#include "runtime/cuda/gpu.h"

namespace tilec::cuda {

/// The target to compile for on the GPU at hand; empty where there is none, or none that we know.
/// Makes no context, which would take half a second and some memory of the device.
std::string probe_target(const GpuOptions& options);

}  // namespace tilec::cuda
