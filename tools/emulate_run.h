// A run of `tilec emulate` on either device: buffers there, the launch, buffers back.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/ptx/machine.h"
#include "tools/commands.h"
#include "tools/emulate_arguments.h"

namespace tilec {

struct EmulateRun {
  ptx::LaunchResult result;          // empty on a GPU
  std::optional<DeviceInfo> device;  // the GPU
  // By argument; empty where it is no buffer.
  std::vector<std::vector<std::byte>> after;  // a buffer's bytes
  std::vector<int64_t> unwritten;             // bytes of it that nothing wrote; 0 if not known
};

/// Faults of the kernel that the PTX machine finds are part of the result.
/// Errors: those of ptx::launch; on a GPU those of cuda::Loader, a fault of the kernel too.
dsl::Result<EmulateRun> emulate(const EmulateCommand& command, const ptx::Module& module,
                                const std::string& entry,
                                std::span<const EmulateArgument> arguments);

}  // namespace tilec
