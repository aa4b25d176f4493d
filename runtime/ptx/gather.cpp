#include "runtime/ptx/gather.h"

#include <cstring>

namespace tilec::ptx {

namespace {

// Four lanes' addresses: the loops below are written over these, since left to itself the compiler
// unrolls them into scalars.
using Quad = uint64_t __attribute__((ext_vector_type(4), aligned(32)));
using QuadWord = uint32_t __attribute__((ext_vector_type(4), aligned(16)));
constexpr size_t kQuads = kLanes / 4;

}  // namespace

TILEC_CLONES
void places_of(const Lanes& lanes, uint32_t slot, bool wide, int64_t offset, Places& out) {
  const auto add = static_cast<uint64_t>(offset);
  Quad* to = reinterpret_cast<Quad*>(out.at.data());
  if (slot == kNone) {
    out.at.fill(add);
  } else if (wide) {
    const auto* values = reinterpret_cast<const Quad*>(lanes.registers + slot);
    for (size_t i = 0; i < kQuads; ++i) to[i] = values[i] + add;
  } else {
    const auto* values = reinterpret_cast<const QuadWord*>(lanes.registers + slot);
    for (size_t i = 0; i < kQuads; ++i) to[i] = __builtin_convertvector(values[i], Quad) + add;
  }
}

TILEC_CLONES
void shift(const Places& in, uint64_t add, Places& out) {
  const Quad* from = reinterpret_cast<const Quad*>(in.at.data());
  Quad* to = reinterpret_cast<Quad*>(out.at.data());
  for (size_t i = 0; i < kQuads; ++i) to[i] = from[i] + add;
}

TILEC_CLONES
bool any_outside(const Places& places, uint64_t begin, uint64_t size, uint64_t bytes) {
  if (size < bytes) return true;
  const uint64_t last = size - bytes;
  if (last >> 62) return true;  // no space is that large; keeps the test below signed
  const Quad* at = reinterpret_cast<const Quad*>(places.at.data());
  // Negative, past the last place, or not aligned: each sets a bit that a good lane has not.
  Quad beyond = 0, low = 0;
  for (size_t i = 0; i < kQuads; ++i) {
    const Quad offset = at[i] - begin;
    beyond |= offset | (last - offset);
    low |= at[i];
  }
  const Quad any = (beyond >> 63) | (low & (bytes - 1));
  return (any[0] | any[1] | any[2] | any[3]) != 0;
}

uint32_t outside(const Places& places, uint32_t mask, uint64_t begin, uint64_t size,
                 uint64_t bytes) {
  if (size < bytes) return mask;
  const uint64_t last = size - bytes;
  uint32_t bad = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if (places[lane] - begin > last || (places[lane] & (bytes - 1)) != 0) bad |= 1u << lane;
  return bad & mask;
}

TILEC_CLONES
void distances(const Places& places, uint32_t mask, uint64_t first, Places& out) {
  const Quad* at = reinterpret_cast<const Quad*>(places.at.data());
  Quad* to = reinterpret_cast<Quad*>(out.at.data());
  if (mask == kAllLanes) {
    for (size_t i = 0; i < kQuads; ++i) to[i] = at[i] - first;
    return;
  }
  constexpr Quad kBits = {1, 2, 4, 8};
  for (size_t i = 0; i < kQuads; ++i) {
    const Quad on = Quad(uint64_t{mask} >> (4 * i)) & kBits;
    to[i] = on != 0 ? at[i] - first : Quad(0);
  }
}

TILEC_CLONES
bool equal(const Places& a, const Places& b) {
  const Quad* left = reinterpret_cast<const Quad*>(a.at.data());
  const Quad* right = reinterpret_cast<const Quad*>(b.at.data());
  Quad differ = 0;
  for (size_t i = 0; i < kQuads; ++i) differ |= left[i] ^ right[i];
  return (differ[0] | differ[1] | differ[2] | differ[3]) == 0;
}

namespace {

const std::byte* host(const Places& hosts, size_t lane) {
  return reinterpret_cast<const std::byte*>(hosts[lane]);
}

template <class T, size_t kCount>
void read_words(const Access& access, Lanes& lanes, const Places& hosts) {
  for (size_t k = 0; k < kCount; ++k) {
    T* data = reinterpret_cast<T*>(lanes.registers + access.data[k]);
    for (size_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(data + lane, host(hosts, lane) + k * sizeof(T), sizeof(T));
  }
}

using Four = uint32_t __attribute__((ext_vector_type(4)));

void transpose(Four (&row)[4]) {
  const Four ab_low = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  const Four cd_high = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  row[0] = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  row[1] = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  row[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  row[3] = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

std::array<std::byte*, 4> columns(const Access& access, const Lanes& lanes) {
  return {lanes.registers + access.data[0], lanes.registers + access.data[1],
          lanes.registers + access.data[2], lanes.registers + access.data[3]};
}

// Sixteen bytes a lane into four registers: 4 lanes at a time, transposed.
void read_quads(const Access& access, const Lanes& lanes, const Places& hosts) {
  const auto data = columns(access, lanes);
  for (size_t lane = 0; lane < kLanes; lane += 4) {
    Four row[4];
    for (size_t i = 0; i < 4; ++i) std::memcpy(&row[i], host(hosts, lane + i), 16);
    transpose(row);
    for (size_t k = 0; k < 4; ++k) std::memcpy(data[k] + lane * 4, &row[k], 16);
  }
}

void write_quads(const Access& access, const Lanes& lanes, const Places& hosts) {
  const auto data = columns(access, lanes);
  for (size_t lane = 0; lane < kLanes; lane += 4) {
    Four row[4];
    for (size_t k = 0; k < 4; ++k) std::memcpy(&row[k], data[k] + lane * 4, 16);
    transpose(row);
    for (size_t i = 0; i < 4; ++i)
      std::memcpy(reinterpret_cast<std::byte*>(hosts[lane + i]), &row[i], 16);
  }
}

template <class T, size_t kCount>
void write_words(const Access& access, const Lanes& lanes, const Places& hosts) {
  for (size_t lane = 0; lane < kLanes; ++lane)
    for (size_t k = 0; k < kCount; ++k)
      std::memcpy(reinterpret_cast<std::byte*>(hosts[lane]) + k * sizeof(T),
                  lanes.registers + access.data[k] + lane * sizeof(T), sizeof(T));
}

uint64_t extended(uint64_t value, int from, int to, bool sign) {
  if (sign && from < 8 && (value >> (8 * from - 1) & 1)) value |= ~uint64_t{0} << 8 * from;
  return to < 8 ? value & ((uint64_t{1} << 8 * to) - 1) : value;
}

// Any element into any register.
void read_any(const Access& access, Lanes& lanes, const Places& hosts, uint32_t mask) {
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    for (size_t k = 0; k < access.count; ++k) {
      uint64_t value = 0;
      std::memcpy(&value, host(hosts, lane) + k * access.bytes, access.bytes);
      value = extended(value, access.bytes, access.declared_bytes, access.sign_extend);
      std::byte* data = lanes.registers + access.data[k];
      if (access.register_bytes == 8)
        reinterpret_cast<uint64_t*>(data)[lane] = value;
      else
        reinterpret_cast<uint32_t*>(data)[lane] = static_cast<uint32_t>(value);
    }
  }
}

}  // namespace

void read_lanes(const Access& access, Lanes& lanes, const Places& hosts, uint32_t mask) {
  const bool plain = access.bytes >= 4 && access.bytes == access.register_bytes;
  if (mask == kAllLanes && plain) {
    if (access.bytes == 4 && access.count == 1)
      return read_words<uint32_t, 1>(access, lanes, hosts);
    if (access.bytes == 4 && access.count == 2)
      return read_words<uint32_t, 2>(access, lanes, hosts);
    if (access.bytes == 4 && access.count == 4) return read_quads(access, lanes, hosts);
    if (access.bytes == 8 && access.count == 1)
      return read_words<uint64_t, 1>(access, lanes, hosts);
    if (access.bytes == 8 && access.count == 2)
      return read_words<uint64_t, 2>(access, lanes, hosts);
  }
  read_any(access, lanes, hosts, mask);
}

void write_lanes(const Access& access, const Lanes& lanes, const Places& hosts, uint32_t mask) {
  const bool plain = access.bytes >= 4 && access.bytes == access.register_bytes;
  if (mask == kAllLanes && plain) {
    if (access.bytes == 4 && access.count == 1)
      return write_words<uint32_t, 1>(access, lanes, hosts);
    if (access.bytes == 4 && access.count == 4) return write_quads(access, lanes, hosts);
    if (access.bytes == 8 && access.count == 1)
      return write_words<uint64_t, 1>(access, lanes, hosts);
  }
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const size_t lane = first_lane(left);
    for (size_t k = 0; k < access.count; ++k)
      std::memcpy(reinterpret_cast<std::byte*>(hosts[lane]) + k * access.bytes,
                  lanes.registers + access.data[k] + lane * access.register_bytes, access.bytes);
  }
}

}  // namespace tilec::ptx
