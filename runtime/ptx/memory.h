// The machine's global memory: allocations far apart in a 64-bit address space, each with a record
// of which of its bytes were ever written. Addresses look like a GPU's and mean nothing to the
// host; an address between two allocations belongs to nobody, so that an access out of bounds is
// always seen and never lands in a neighbour.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dsl/error.h"

namespace tilec::ptx {

/// Generic addresses: global memory has its own addresses; shared and local memory are windows.
inline constexpr uint64_t kSharedWindow = 0x7e00'0000'0000;
inline constexpr uint64_t kLocalWindow = 0x7e80'0000'0000;
inline constexpr uint64_t kWindowBytes = 1ull << 32;
inline constexpr uint64_t kGlobalBase = 0x7f00'0000'0000;

/// One allocation. `written` has a byte for each aligned 4-byte word, bit i for byte i of it.
struct Allocation {
  uint64_t begin = 0;  // device address
  uint64_t bytes = 0;
  bool read_only = false;  // to kernels: module-scope `.const`, and what the host says
  std::unique_ptr<std::byte[]> data;
  std::unique_ptr<uint8_t[]> written;
  std::unique_ptr<std::atomic<uint32_t>[]> owners;  // two a word, see global_shadow.h
};

/// Host and kernels share it; a launch must have it to itself.
class Memory {
 public:
  /// Device address of `bytes` fresh, unwritten bytes. 0 bytes give an address that no access may
  /// use. Errors: bytes < 0, align not a power of two, host memory exhausted (machine).
  dsl::Result<uint64_t> allocate(int64_t bytes, int64_t align = 256);

  /// Errors: `address` is not the begin of an allocation.
  dsl::Result<void> free(uint64_t address);

  /// Copies between host and device; the whole range must lie in one allocation, else an error.
  dsl::Result<void> write(uint64_t address, std::span<const std::byte> bytes);
  dsl::Result<void> read(uint64_t address, std::span<std::byte> bytes) const;

  /// From here on a kernel's store to this allocation is a fault (or is none again).
  /// Errors: `address` is not the begin of an allocation.
  dsl::Result<void> set_read_only(uint64_t address, bool read_only);

  /// The allocation that holds `address`, or that ends nearest before it; null if there is none.
  const Allocation* find(uint64_t address) const;
  Allocation* find(uint64_t address);

  std::span<Allocation> allocations() { return allocations_; }

 private:
  std::vector<Allocation> allocations_;  // by address
  uint64_t next_ = kGlobalBase;
};

}  // namespace tilec::ptx
