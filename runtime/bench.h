// Times a kernel beside cuBLAS, turn by turn in one process.
//
// A launch from the host costs microseconds, more than a small kernel runs. So each side's launches
// are recorded once into a graph, cuBLAS's by the same stream capture as ours, and a burst plays
// that graph between two events: the device goes from launch to launch by itself (about half a
// microsecond, the same for both sides), and the burst's own start is spread over milliseconds.
// Successive launches use sets of operands in turn, together more than twice the second-level
// cache, so that no launch finds its operands there; a set larger than that needs no company.
// Bursts are short, since long ones run into the power limit, and alternate between the sides, so
// that drift meets all alike. The clock is read while a burst runs. The median is reported.
//
// The rival is the faster of cublasSgemm and the fastest algorithm of cublasLt's list, which short
// bursts choose (rival.h); both are timed turn by turn with the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/device_operands.h"
#include "runtime/operands.h"
#include "runtime/problem.h"

namespace tilec {

struct BenchOptions {
  double burst_ms = 10;    // about how long one burst lasts
  int bursts = 11;         // of each side
  double warm_up_ms = 60;  // an idle GPU takes this long to raise its clock
  int64_t cache_multiple =
      2;               // operand sets together are larger than this many second-level caches
  bool cublas = true;  // beside the kernel, where there is one
};

/// Microseconds a launch, over the bursts of one side.
struct Timing {
  double median_us = 0;
  double fastest_us = 0;
  double slowest_us = 0;
  double clock_mhz = 0;  // median of the readings; 0: the clock could not be read
  double watts = 0;      // the same
};

struct BenchResult {
  Timing kernel;
  std::optional<Timing> cublas;  // the faster of its ways; none where there is no cuBLAS
  std::string cublas_way;        // which that is: "cublasSgemm", "cublasLt, 3rd of 8"
  double cublas_sgemm_us = 0;    // medians of both ways; 0: it was not there
  double cublaslt_us = 0;
  double ratio = 0;          // cublas / kernel, above 1: the kernel is faster; 0 without cuBLAS
  double tflops = 0;         // 2 m n k / kernel time, 10^12 per second
  double share_of_peak = 0;  // of SMs x lanes x 2 x the clock read; 0 if any is unknown
  int64_t launches_a_burst = 0;
  int64_t operand_sets = 0;
};

double median(std::vector<double> values);  // of the middle two where the count is even; 0 if empty

/// Operand sets that together pass `cache_multiple` caches.
int64_t sets_to_rotate(int64_t bytes_a_set, int64_t l2_bytes, int64_t cache_multiple);

/// Achieved FLOP/s / (SMs x lanes x 2 x clock); 0 if the device or the clock is not known.
double share_of_peak(const dsl::GemmShape& shape, double us, const DeviceInfo& device,
                     double clock_mhz);

/// `problem` is completed and accepted. Operands are uploaded from `operands`, those of each matrix
/// of the batch. All sets share one workspace.
/// Errors: machine, "no-stopwatch" where the device cannot time; those of the device.
Result<BenchResult> bench_gemm(Device& device, KernelId kernel, const GemmProblem& problem,
                               std::span<const Operands> operands, int64_t workspace_bytes,
                               const BenchOptions& options);

/// Sets of the operands on the device, enough that launches which use them in turn find none in the
/// cache; `bench_sets` times on them, and `workspace` is the kernel's.
Result<std::vector<DeviceOperands>> upload_sets(Device& device, const GemmProblem& problem,
                                                std::span<const Operands> operands,
                                                int64_t cache_multiple);
Result<BenchResult> bench_sets(Device& device, KernelId kernel, const GemmProblem& problem,
                               std::span<const DeviceOperands> sets, const Buffer& workspace,
                               const BenchOptions& options);

}  // namespace tilec
