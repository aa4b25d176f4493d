// A driver, cuBLAS and NVML in one shared object, over host memory: what runtime/cuda opens in its
// tests. Its kernel is the one of naive_kernel.cpp in spirit: "naive" multiplies row-major
// matrices. A test looks these functions up by name, since it must open the same file as the code
// under test.
#pragma once

#include <cstdint>

extern "C" {

/// Forgets failures and counts; live memory is kept.
void fake_reset();
/// From now on, after `skip` more calls, `function` returns `status` (0: works again).
void fake_fail(const char* function, int status, int skip);
/// Calls of `function` since the last reset.
int fake_calls(const char* function);
/// Allocations, modules, streams, events, graphs and cuBLAS handles not given back.
int fake_live();
/// The dynamic shared memory of the last launch, and what was asked for by attribute, bytes.
int64_t fake_shared_bytes();
int64_t fake_shared_limit_asked();

}  // extern "C"
