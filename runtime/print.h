// Says a result: as text for people, as JSON with a versioned schema for programs.
#pragma once

#include <span>
#include <string>

#include "runtime/run.h"

namespace tilec {

/// "NVIDIA H200 (sm_90a, 132 SMs, driver 580.159.04, cuBLAS 13.1.0)"
std::string describe(const DeviceInfo& device);

/// Several lines, with a line end. What was predicted is not in here: all of it was measured.
std::string run_text(const RunResult& result);

/// Schema "tilec.run/1". A number that is NaN or infinite is null; so is what does not apply.
std::string run_json(const RunResult& result);

/// A table, one row a result: spec, shape, microseconds, cuBLAS's, ratio, clock, share of peak.
std::string bench_text(std::span<const RunResult> results);

/// Schema "tilec.bench/1": `rows` with spec, shape, kernel_us, cublas_us, ratio, clock_mhz,
/// share_of_peak, bit_equal and provenance.
std::string bench_json(std::span<const RunResult> results);

}  // namespace tilec
