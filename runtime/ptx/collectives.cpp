#include "runtime/ptx/collectives.h"

#include <algorithm>

#include "runtime/ptx/matrix.h"

namespace tilec::ptx {
namespace {

using Words = std::array<uint32_t, kLanes>;

const Collective& collective_of(const Op& op, const Lanes& lanes) {
  return lanes.code->collectives[op.extra];
}

Words words_of(const Lanes& lanes, uint32_t slot) {
  Words out;
  std::copy_n(reinterpret_cast<const uint32_t*>(lanes.registers + slot), kLanes, out.begin());
  return out;
}

void write_words(Lanes& lanes, uint32_t slot, const Words& values) {
  if (slot == kNone) return;
  auto* to = reinterpret_cast<uint32_t*>(lanes.registers + slot);
  for (uint32_t left = lanes.mask; left != 0; left &= left - 1)
    to[first_lane(left)] = values[first_lane(left)];
}

void write_predicate(Lanes& lanes, uint32_t slot, uint32_t truth) {
  if (slot == kNone) return;
  uint32_t& to = lanes.predicates[slot];
  to = (to & ~lanes.mask) | (truth & lanes.mask);
}

void nothing(const Op&, Lanes&) {}

struct ShuffleSource {
  uint32_t from = 0;
  bool inside = false;  // of the segment
};

// PTX ISA, shfl: the lane to read from, and whether it lies within the segment.
ShuffleSource shuffle_source(CollectiveMode mode, uint32_t lane, uint32_t b, uint32_t c) {
  const uint32_t by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  const uint32_t last = (lane & segment) | (clamp & ~segment);
  uint32_t from = lane;
  bool inside = false;
  switch (mode) {
    case CollectiveMode::up:
      from = lane - by;
      inside = static_cast<int32_t>(from) >= static_cast<int32_t>(last);
      break;
    case CollectiveMode::down:
      from = lane + by;
      inside = from <= last;
      break;
    case CollectiveMode::butterfly:
      from = lane ^ by;
      inside = from <= last;
      break;
    default:
      from = (lane & segment) | (by & ~segment);
      inside = from <= last;
      break;
  }
  return {.from = inside ? from : lane, .inside = inside};
}

void shuffle(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  const Words a = words_of(lanes, how.parts[2]), b = words_of(lanes, how.parts[3]),
              c = words_of(lanes, how.parts[4]);
  Words out = a;
  uint32_t inside = 0;
  for (uint32_t left = lanes.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(first_lane(left));
    const ShuffleSource source = shuffle_source(how.mode, lane, b[lane], c[lane]);
    out[lane] = a[source.from];
    if (source.inside) inside |= 1u << lane;
  }
  write_words(lanes, how.parts[0], out);
  write_predicate(lanes, how.parts[1], inside);
}

void vote(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  uint32_t truth = lanes.predicates[how.parts[1]];
  if (how.negated) truth = ~truth;
  truth &= lanes.mask;
  switch (how.mode) {
    case CollectiveMode::ballot: {
      Words out;
      out.fill(truth);
      return write_words(lanes, how.parts[0], out);
    }
    case CollectiveMode::all:
      return write_predicate(lanes, how.parts[0], truth == lanes.mask ? kAllLanes : 0);
    case CollectiveMode::any:
      return write_predicate(lanes, how.parts[0], truth != 0 ? kAllLanes : 0);
    default:
      return write_predicate(lanes, how.parts[0],
                             truth == 0 || truth == lanes.mask ? kAllLanes : 0);
  }
}

void match(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  const bool wide = how.type == Type::b64;
  const std::byte* at = lanes.registers + how.parts[2];
  const auto value = [&](size_t lane) {
    return wide ? reinterpret_cast<const uint64_t*>(at)[lane]
                : reinterpret_cast<const uint32_t*>(at)[lane];
  };
  Words out{};
  for (uint32_t left = lanes.mask; left != 0; left &= left - 1)
    for (uint32_t other = lanes.mask; other != 0; other &= other - 1)
      if (value(first_lane(left)) == value(first_lane(other)))
        out[first_lane(left)] |= 1u << first_lane(other);
  if (how.mode == CollectiveMode::all) {
    const bool same = out[first_lane(lanes.mask)] == lanes.mask;
    out.fill(same ? lanes.mask : 0);
    write_predicate(lanes, how.parts[1], same ? kAllLanes : 0);
  }
  write_words(lanes, how.parts[0], out);
}

uint32_t reduce(CollectiveMode mode, bool is_signed, uint32_t a, uint32_t b) {
  const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (mode) {
    case CollectiveMode::add:
      return a + b;
    case CollectiveMode::minimum:
      return (is_signed ? y < x : b < a) ? b : a;
    case CollectiveMode::maximum:
      return (is_signed ? y > x : b > a) ? b : a;
    case CollectiveMode::and_:
      return a & b;
    case CollectiveMode::or_:
      return a | b;
    default:
      return a ^ b;
  }
}

void redux(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  const Words a = words_of(lanes, how.parts[1]);
  uint32_t left = lanes.mask;
  uint32_t total = a[first_lane(left)];
  for (left &= left - 1; left != 0; left &= left - 1)
    total = reduce(how.mode, how.type == Type::s32, total, a[first_lane(left)]);
  Words out;
  out.fill(total);
  write_words(lanes, how.parts[0], out);
}

void elect(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  const auto leader = static_cast<uint32_t>(first_lane(lanes.mask));
  Words out;
  out.fill(leader);
  write_words(lanes, how.parts[0], out);
  write_predicate(lanes, how.parts[1], 1u << leader);
}

}  // namespace

std::array<uint8_t, kLanes> shuffle_sources(const Op& op, const Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  const Words b = words_of(lanes, how.parts[3]), c = words_of(lanes, how.parts[4]);
  std::array<uint8_t, kLanes> from{};
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    from[lane] = static_cast<uint8_t>(shuffle_source(how.mode, lane, b[lane], c[lane]).from);
  return from;
}

Handler collective_handler(const Collective& collective) {
  switch (collective.kind) {
    case CollectiveKind::shuffle:
      return shuffle;
    case CollectiveKind::vote:
      return vote;
    case CollectiveKind::match:
      return match;
    case CollectiveKind::redux:
      return redux;
    case CollectiveKind::elect:
      return elect;
    case CollectiveKind::sync:
      return nothing;
    default:
      return matrix_handler(collective);
  }
}

}  // namespace tilec::ptx
