#include "runtime/ptx/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace tilec::ptx {
namespace {

using dsl::Error;

// Unused addresses after each allocation: an index that is off by a row of a large matrix still
// falls into nobody's memory.
constexpr uint64_t kGap = 1ull << 24;

constexpr int64_t kMaxBytes = int64_t{1} << 40;

tl::unexpected<Error> out_of_range(uint64_t address, size_t bytes) {
  return tl::unexpected(
      Error::machine("ptx-memory-range",
                     fmt::format("no allocation holds the {} bytes at {:#x}", bytes, address)));
}

void mark_written(Allocation& allocation, uint64_t offset, uint64_t bytes) {
  for (uint64_t at = offset; at < offset + bytes;) {
    if (at % 4 == 0 && offset + bytes - at >= 4) {
      const uint64_t words = (offset + bytes - at) / 4;
      std::memset(allocation.written.get() + at / 4, 0xF, words);
      at += words * 4;
    } else {
      allocation.written[at / 4] = static_cast<uint8_t>(allocation.written[at / 4] | 1u << at % 4);
      ++at;
    }
  }
}

}  // namespace

dsl::Result<uint64_t> Memory::allocate(int64_t bytes, int64_t align) {
  if (bytes < 0 || bytes > kMaxBytes)
    return tl::unexpected(Error::machine(
        "ptx-memory-size", fmt::format("cannot allocate {} bytes of global memory", bytes)));
  if (align < 1 || !std::has_single_bit(static_cast<uint64_t>(align)) || align > (1 << 20))
    return tl::unexpected(Error::machine(
        "ptx-memory-align", fmt::format("alignment {} is not a power of two up to 2^20", align)));
  Allocation made;
  made.bytes = static_cast<uint64_t>(bytes);
  // `new` without initialisers: large allocations then cost nothing until they are touched.
  made.data.reset(new (std::nothrow) std::byte[made.bytes + 16]);
  made.written.reset(new (std::nothrow) uint8_t[made.bytes / 4 + 1]());
  if (!made.data || !made.written)
    return tl::unexpected(
        Error::machine("ptx-memory-size", fmt::format("the host has no room for {} bytes", bytes)));
  // Fresh memory reads as a NaN with a known pattern, the same in every run.
  std::memset(made.data.get(), 0xFF, made.bytes + 16);
  const uint64_t mask = static_cast<uint64_t>(align) - 1;
  made.begin = (next_ + mask) & ~mask;
  next_ = made.begin + made.bytes + kGap;
  const uint64_t begin = made.begin;
  allocations_.push_back(std::move(made));
  return begin;
}

dsl::Result<void> Memory::free(uint64_t address) {
  Allocation* allocation = find(address);
  if (!allocation || allocation->begin != address)
    return tl::unexpected(Error::machine(
        "ptx-memory-free", fmt::format("{:#x} is not the begin of an allocation", address)));
  allocations_.erase(allocations_.begin() + (allocation - allocations_.data()));
  return {};
}

dsl::Result<void> Memory::set_read_only(uint64_t address, bool read_only) {
  Allocation* allocation = find(address);
  if (!allocation || allocation->begin != address)
    return tl::unexpected(Error::machine(
        "ptx-memory-range", fmt::format("{:#x} is not the begin of an allocation", address)));
  allocation->read_only = read_only;
  return {};
}

dsl::Result<void> Memory::write(uint64_t address, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  Allocation* allocation = find(address);
  if (!allocation || address - allocation->begin > allocation->bytes ||
      allocation->bytes - (address - allocation->begin) < bytes.size())
    return out_of_range(address, bytes.size());
  const uint64_t offset = address - allocation->begin;
  std::memcpy(allocation->data.get() + offset, bytes.data(), bytes.size());
  mark_written(*allocation, offset, bytes.size());
  return {};
}

dsl::Result<void> Memory::read(uint64_t address, std::span<std::byte> bytes) const {
  if (bytes.empty()) return {};
  const Allocation* allocation = find(address);
  if (!allocation || address - allocation->begin > allocation->bytes ||
      allocation->bytes - (address - allocation->begin) < bytes.size())
    return out_of_range(address, bytes.size());
  std::memcpy(bytes.data(), allocation->data.get() + (address - allocation->begin), bytes.size());
  return {};
}

const Allocation* Memory::find(uint64_t address) const {
  auto after = std::upper_bound(
      allocations_.begin(), allocations_.end(), address,
      [](uint64_t value, const Allocation& allocation) { return value < allocation.begin; });
  return after == allocations_.begin() ? nullptr : &*std::prev(after);
}

Allocation* Memory::find(uint64_t address) {
  return const_cast<Allocation*>(static_cast<const Memory*>(this)->find(address));
}

}  // namespace tilec::ptx
