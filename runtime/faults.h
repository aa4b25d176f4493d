// What the runtime refuses or fails with: one row a code. Codes are stable; a test holds that each
// is provoked.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "dsl/error.h"

namespace tilec {

enum class Fault {
  bad_shape,
  shape_too_large,
  leading_dimension_too_small,
  bad_offset,
  bad_scalar,
  layout_differs,
  operand_not_aligned,
  batch_differs,
  workspace_too_small,
  not_enough_memory,
  no_driver,
  bad_driver,
  no_gpu,
  no_cuda_support,
  no_cublas,
  no_nvml,
  no_stopwatch,
  device_call,
  device_load,
  shared_memory_refused,
  cublas_call,
};

struct FaultRow {
  Fault fault;
  std::string_view code;
  dsl::Road road;
  std::string_view rule;
};

/// In the order of the enumeration.
inline constexpr std::array<FaultRow, 21> kFaults = {{
    {Fault::bad_shape, "bad-shape", dsl::Road::user, "extents are 0 or more"},
    {Fault::shape_too_large, "shape-too-large", dsl::Road::user,
     "extents and leading dimensions are at most 2^31 - 1"},
    {Fault::leading_dimension_too_small, "leading-dimension-too-small", dsl::Road::user,
     "a leading dimension is at least the stored row"},
    {Fault::bad_offset, "bad-offset", dsl::Road::user, "an offset is 0 to 63 elements"},
    {Fault::bad_scalar, "bad-scalar", dsl::Road::user, "alpha and beta are finite"},
    {Fault::layout_differs, "layout-differs", dsl::Road::user,
     "a kernel takes operands of the layout it was compiled for"},
    {Fault::operand_not_aligned, "operand-not-aligned", dsl::Road::user,
     "`edges exact` takes operands as aligned as its vectors are wide"},
    {Fault::batch_differs, "batch-differs", dsl::Road::user,
     "a kernel takes a batch of the kind it was compiled for"},
    {Fault::workspace_too_small, "workspace-too-small", dsl::Road::user,
     "the workspace holds a part for each block that shares a tile"},
    {Fault::not_enough_memory, "not-enough-memory", dsl::Road::machine,
     "the operands and the workspace fit the device's memory"},
    {Fault::no_driver, "no-driver", dsl::Road::machine, "a GPU needs the CUDA driver"},
    {Fault::bad_driver, "bad-driver", dsl::Road::machine, "the driver has the functions we use"},
    {Fault::no_gpu, "no-gpu", dsl::Road::machine, "the driver sees the GPU asked for"},
    {Fault::no_cuda_support, "no-cuda-support", dsl::Road::machine,
     "a build with CUDA's header is needed for a GPU"},
    {Fault::no_cublas, "no-cublas", dsl::Road::machine, "the comparison needs cuBLAS"},
    {Fault::no_nvml, "no-nvml", dsl::Road::machine, "the clock is read through NVML"},
    {Fault::no_stopwatch, "no-stopwatch", dsl::Road::machine, "only a GPU can time launches"},
    {Fault::device_call, "device-call", dsl::Road::machine, "calls of the driver succeed"},
    {Fault::device_load, "device-load", dsl::Road::machine, "the driver takes the kernel's code"},
    {Fault::shared_memory_refused, "shared-memory-refused", dsl::Road::machine,
     "a block has no more shared memory than the device allows"},
    {Fault::cublas_call, "cublas-call", dsl::Road::machine, "calls of cuBLAS succeed"},
}};

inline dsl::Error make_error(Fault fault, std::string message, std::string help = "") {
  const FaultRow& row = kFaults[static_cast<size_t>(fault)];
  std::string code(row.code);
  return row.road == dsl::Road::user
             ? dsl::Error::user(std::move(code), std::move(message), std::move(help))
             : dsl::Error::machine(std::move(code), std::move(message), std::move(help));
}

/// Ready to be returned from a function that gives a Result.
inline tl::unexpected<dsl::Error> refuse(Fault fault, std::string message, std::string help = "") {
  return tl::unexpected(make_error(fault, std::move(message), std::move(help)));
}

}  // namespace tilec
