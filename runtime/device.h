// What kernels run on. There is one interface and there are two devices: a GPU, through the CUDA
// driver opened at run time (cuda/), and the CPU, which executes the emitted PTX itself (ptx/), so
// that what ships is what was tested. Whoever holds a Device need not know which it is; what only
// one of them can do is asked for: `counters` on the CPU, `stopwatch` and cuBLAS on a GPU.
//
// The road of a run, one file a step: `problem` says what is multiplied, `operands` lays it out
// with guards, the device runs it, `reference` and `bound` say what is right, `check` judges,
// `bench` times, `run` does all of this in order and `print` says it.
//
// A Device belongs to the thread that opened it. Errors are values: Road::machine where a driver,
// a library or a launch failed, with the call's name and the driver's own words; Road::user where
// the request cannot work (a shape too large, say).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "dsl/error.h"

namespace tilec {

namespace ptx {
struct Counters;  // runtime/ptx/counters.h
}

using dsl::Result;

enum class DeviceKind { gpu, cpu };

struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;      // "NVIDIA H200"
  std::string target;    // what to compile for, "sm_90a"; empty: any target runs
  int sm_count = 0;      // 0 on the CPU
  int lanes_per_sm = 0;  // f32 FMA lanes; 0 on the CPU or if unknown
  double clock_mhz = 0;  // highest SM clock, megahertz; 0 on the CPU
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;                // 0 on the CPU
  int64_t shared_bytes_per_block = 0;  // with opt-in; 0: no limit of its own
  std::string driver;                  // versions as their makers print them; empty: not there
  std::string cublas;
  std::string nvml;
  std::vector<std::string> missing;  // what could not be opened, and why; all else works
  bool knows_bounds = false;         // finds every access outside an allocation by itself
};

/// An address in the device's memory, bytes. Allocations are aligned to 256 bytes.
using Address = uint64_t;

/// A loaded kernel of one device.
enum class KernelId : int {};

/// The kernel's parameters, as compiler/artifact.h lists them.
struct KernelArguments {
  Address a = 0;
  Address b = 0;
  Address c = 0;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t lda = 0;  // elements from one stored row to the next
  int64_t ldb = 0;
  int64_t ldc = 0;
  float alpha = 1;
  float beta = 0;
  Address workspace = 0;  // of split_k: aligned to 16, as large as workspace_needed says
  int64_t workspace_bytes = 0;
  int64_t batch = 1;     // matrices; of a batch by pointers a, b and c are arrays of addresses
  int64_t stride_a = 0;  // strided: elements from one matrix to the next
  int64_t stride_b = 0;
  int64_t stride_c = 0;
  void* stream = nullptr;  // of a GPU: where to enqueue; null: the device's own
};

/// What the CPU counted in one launch. Instructions are warp instructions: one for all 32 lanes.
struct Counters {
  int64_t warp_instructions = 0;
  int64_t fma = 0;                        // warp instructions that are f32 multiply-adds
  double fma_share = 0;                   // fma / warp_instructions
  double sectors_per_request = 0;         // 32-byte sectors a global load or store touches, mean
  double wavefronts_per_shared_load = 0;  // passes a shared load takes, mean; 1 is best for 4 bytes
  int64_t bank_conflicts = 0;  // wavefronts beyond what the bytes moved need, loads and stores
  int64_t blocks = 0;
  int64_t barriers = 0;  // warp instructions that are barriers
};

/// A recorded list of launches.
enum class SequenceId : int {};

/// One burst: a sequence played some times without a pause, after once untimed.
struct BurstTime {
  double us_per_launch = 0;  // microseconds, elapsed / launches
  double clock_mhz = 0;      // SM clock read while it ran; 0: could not be read
  double watts = 0;          // board power read while it ran; 0: could not be read
};

/// How cuBLAS multiplies: 0 is cublasSgemm, i the i-th algorithm of cublasLt's list.
using CublasWay = int;
constexpr CublasWay kCublasSgemm = 0;

/// Times launches on the device. Both sides of a comparison are recorded and played alike.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  virtual Result<SequenceId> record(KernelId kernel, std::span<const KernelArguments> launches) = 0;
  /// Algorithms that cublasLt lists for launches like this one, best first as it sees it; 0 where
  /// there is no cublasLt or it has none (for a batch by pointers, say).
  virtual Result<int> cublaslt_algorithms(dsl::OperandLayout layout, dsl::Batch batch,
                                          const KernelArguments& launch) = 0;
  /// Also calls cuBLAS once, so that its kernels are loaded by then.
  virtual Result<SequenceId> record_cublas(CublasWay way, dsl::OperandLayout layout,
                                           dsl::Batch batch,
                                           std::span<const KernelArguments> launches) = 0;
  virtual Result<BurstTime> play(SequenceId sequence, int times) = 0;
  virtual void forget(SequenceId sequence) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Memory that can still be allocated; none: nobody knows.
  virtual std::optional<int64_t> free_bytes() const { return std::nullopt; }

  /// At least one byte is allocated. Contents are undefined.
  virtual Result<Address> allocate(int64_t bytes) = 0;
  virtual Result<void> free(Address address) = 0;
  virtual Result<void> upload(Address to, std::span<const std::byte> from) = 0;
  virtual Result<void> download(std::span<std::byte> to, Address from) = 0;
  /// Sets `words` 32-bit words.
  virtual Result<void> fill(Address to, uint32_t word, int64_t words) = 0;

  /// Errors: no code that the device takes (the assembler's or the driver's words are kept).
  virtual Result<KernelId> load(const Artifact& artifact) = 0;
  /// Starts the kernel; its own faults may show at `synchronise` only. Does nothing for an empty C.
  virtual Result<void> launch(KernelId kernel, const KernelArguments& arguments) = 0;
  virtual Result<void> synchronise() = 0;
  virtual Result<void> unload(KernelId kernel) = 0;
  /// Blocks of it that one SM holds at once, as the driver says; none on the CPU, or not known.
  virtual std::optional<int> blocks_per_sm(KernelId /*kernel*/) const { return std::nullopt; }

  /// C = alpha * op(A) * op(B) + beta * C by cuBLAS, in true f32, then synchronises.
  /// Errors: machine, code "no-cublas", where there is none.
  virtual Result<void> cublas(dsl::OperandLayout layout, dsl::Batch batch,
                              const KernelArguments& arguments) = 0;

  /// Of the last launch; none on a GPU.
  virtual std::optional<Counters> counters() const { return std::nullopt; }
  /// All that was counted in the last launch, also line by line; null on a GPU.
  virtual const ptx::Counters* counted() const { return nullptr; }
  /// Null where launches cannot be timed.
  virtual Stopwatch* stopwatch() { return nullptr; }
};

/// Memory of a device, given back at the end of its scope. The device must outlive it.
class Buffer {
 public:
  static Result<Buffer> allocate(Device& device, int64_t bytes) {
    Result<Address> address = device.allocate(bytes);
    if (!address) return tl::unexpected(std::move(address.error()));
    return Buffer(device, *address, bytes);
  }
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    // A device that failed cannot free; the failure was reported where it happened.
    if (device_ != nullptr) static_cast<void>(device_->free(address_));
  }

  Address address() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  Buffer(Device& device, Address address, int64_t bytes)
      : device_(&device), address_(address), bytes_(bytes) {}
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }

  Device* device_ = nullptr;
  Address address_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace tilec
