#include "runtime/ptx/atomics.h"

#include <algorithm>
#include <cstring>

#include "runtime/ptx/access.h"
#include "runtime/ptx/access_checks.h"
#include "runtime/ptx/small_floats.h"

namespace tilec::ptx {
namespace {

template <class T>
uint64_t integers(AtomicKind kind, uint64_t old_bits, uint64_t b_bits, uint64_t c_bits) {
  const T old = static_cast<T>(old_bits), b = static_cast<T>(b_bits);
  using U = std::make_unsigned_t<T>;
  const auto bits = [](T value) { return uint64_t{static_cast<U>(value)}; };
  switch (kind) {
    case AtomicKind::add:
      return bits(static_cast<T>(static_cast<U>(old) + static_cast<U>(b)));
    case AtomicKind::and_:
      return bits(old & b);
    case AtomicKind::or_:
      return bits(old | b);
    case AtomicKind::xor_:
      return bits(old ^ b);
    case AtomicKind::exchange:
      return bits(b);
    case AtomicKind::cas:
      return old == b ? bits(static_cast<T>(c_bits)) : bits(old);
    case AtomicKind::minimum:
      return bits(std::min(old, b));
    case AtomicKind::maximum:
      return bits(std::max(old, b));
    case AtomicKind::increment:
      return static_cast<U>(old) >= static_cast<U>(b) ? 0 : bits(old) + 1;
    case AtomicKind::decrement:
      return old == 0 || static_cast<U>(old) > static_cast<U>(b) ? bits(b) : bits(old) - 1;
  }
  return 0;
}

// min and max of numbers give the number where one operand is NaN.
template <class F>
F floats(AtomicKind kind, F old, F b) {
  if (kind == AtomicKind::exchange) return b;
  if (kind == AtomicKind::add) return old + b;
  if (std::isnan(old)) return b;
  if (std::isnan(b)) return old;
  return (kind == AtomicKind::minimum) == (b < old) ? b : old;
}

uint64_t halves(AtomicKind kind, const SmallFormat& format, uint64_t old, uint64_t b) {
  const double result = floats(kind, widen_small(static_cast<uint32_t>(old), format),
                               widen_small(static_cast<uint32_t>(b), format));
  return narrow_small(result, format, SmallRounding::nearest, false);
}

uint64_t packed(AtomicKind kind, const SmallFormat& format, uint64_t old, uint64_t b) {
  return halves(kind, format, old & 0xFFFF, b & 0xFFFF) | halves(kind, format, old >> 16, b >> 16)
                                                              << 16;
}

uint64_t read_register(const Lanes& lanes, uint32_t slot, size_t lane, int bytes) {
  const std::byte* at = lanes.registers + slot;
  if (bytes == 8) return reinterpret_cast<const uint64_t*>(at)[lane];
  const uint32_t value = reinterpret_cast<const uint32_t*>(at)[lane];
  return bytes == 2 ? value & 0xFFFF : value;
}

void write_register(Lanes& lanes, uint32_t slot, size_t lane, int bytes, uint64_t value) {
  std::byte* at = lanes.registers + slot;
  if (bytes == 8)
    reinterpret_cast<uint64_t*>(at)[lane] = value;
  else
    reinterpret_cast<uint32_t*>(at)[lane] = static_cast<uint32_t>(value);
}

// One after another in the order of lanes: PTX leaves the order open, this one repeats.
void carry_out(const Access& access, Lanes& lanes, const Places& hosts, uint32_t mask) {
  const size_t count = access.count;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    for (size_t k = 0; k < count; ++k) {
      auto* at = reinterpret_cast<std::byte*>(hosts[lane]) + k * access.bytes;
      uint64_t old = 0;
      std::memcpy(&old, at, access.bytes);
      const uint64_t b = read_register(lanes, access.data[count + k], lane, access.bytes);
      const uint64_t c = access.atomic == AtomicKind::cas
                             ? read_register(lanes, access.data[2 * count + k], lane, access.bytes)
                             : 0;
      const uint64_t fresh = combine(access.atomic, access.type, old, b, c);
      std::memcpy(at, &fresh, access.bytes);
      if (access.data[k] != kNone) write_register(lanes, access.data[k], lane, access.bytes, old);
    }
  }
}

template <bool kCheck>
void atomic_in(const Op& op, Lanes& lanes, const Access& access, Space space, const Places& places,
               uint32_t mask) {
  if (mask == 0) return;
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  BlockRun& run = *lanes.warp->run;
  Places hosts;
  const uint32_t good = place(op, lanes, op.extra, space, places, mask, bytes, true, hosts);
  const bool shared = space == Space::shared;
  if (shared || space == Space::global) {
    const Pattern& pattern =
        pattern_of(run.patterns[op.extra], shared ? PatternKind::wavefronts : PatternKind::sectors,
                   places, mask, bytes, shared && kCheck ? run.grain() : 0);
    add_request(run.counts.accesses[op.extra], pattern, places, mask, bytes, shared);
  }
  if (kCheck && good != 0) check_access(op, lanes, access, space, places, good);
  if (space == Space::global) run.note_sync();
  carry_out(access, lanes, hosts, good);
}

template <bool kCheck>
void atomic(const Op& op, Lanes& lanes) {
  const Access& access = lanes.code->accesses[op.extra];
  Places places, moved;
  places_of(lanes, access.address, access.wide_address, access.offset, places);
  if (access.space != Space::generic)
    return atomic_in<kCheck>(op, lanes, access, access.space, places, lanes.mask);
  uint32_t shared = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if (places[lane] - kSharedWindow < kWindowBytes) shared |= 1u << lane;
  const uint32_t mask = lanes.mask;
  atomic_in<kCheck>(op, lanes, access, Space::global, places, mask & ~shared);
  shift(places, 0 - kSharedWindow, moved);
  atomic_in<kCheck>(op, lanes, access, Space::shared, moved, mask & shared);
}

}  // namespace

uint64_t combine(AtomicKind kind, Type type, uint64_t old, uint64_t b, uint64_t c) {
  switch (type) {
    case Type::f32:
      return std::bit_cast<uint32_t>(floats(kind, std::bit_cast<float>(static_cast<uint32_t>(old)),
                                            std::bit_cast<float>(static_cast<uint32_t>(b))));
    case Type::f64:
      return std::bit_cast<uint64_t>(
          floats(kind, std::bit_cast<double>(old), std::bit_cast<double>(b)));
    case Type::f16:
      return halves(kind, kHalf, old, b);
    case Type::bf16:
      return halves(kind, kBfloat, old, b);
    case Type::f16x2:
      return packed(kind, kHalf, old, b);
    case Type::bf16x2:
      return packed(kind, kBfloat, old, b);
    case Type::s32:
      return integers<int32_t>(kind, old, b, c);
    case Type::s64:
      return integers<int64_t>(kind, old, b, c);
    case Type::b16:
      return integers<uint16_t>(kind, old, b, c);
    case Type::b64:
    case Type::u64:
      return integers<uint64_t>(kind, old, b, c);
    default:
      return integers<uint32_t>(kind, old, b, c);
  }
}

Handler atomic_handler(const LaunchConfig& config) {
  return config.checks == Checks::all ? atomic<true> : atomic<false>;
}

}  // namespace tilec::ptx
