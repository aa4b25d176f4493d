#include "runtime/ptx/matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/ptx/access.h"
#include "runtime/ptx/access_checks.h"
#include "runtime/ptx/matrix_math.h"
#include "runtime/ptx/small_floats.h"

namespace tilec::ptx {
namespace {

constexpr uint32_t kMaxSide = 32;
using Matrix = std::array<std::array<double, kMaxSide>, 16>;  // exact for every element type

const Collective& collective_of(const Op& op, const Lanes& lanes) {
  return lanes.code->collectives[op.extra];
}

uint32_t& word(const Lanes& lanes, uint32_t slot, size_t lane) {
  return reinterpret_cast<uint32_t*>(lanes.registers + slot)[lane];
}
double& wide(const Lanes& lanes, uint32_t slot, size_t lane) {
  return reinterpret_cast<double*>(lanes.registers + slot)[lane];
}

// The value of packed element `element` of a register.
double element_of(uint32_t bits, uint32_t element, Type type) {
  switch (type) {
    case Type::f16:
      return widen_small(bits >> (16 * element) & 0xFFFF, kHalf);
    case Type::bf16:
      return bfloat_to_float(bits >> (16 * element) & 0xFFFF);
    case Type::tf32:  // the lower 13 bits are not looked at
      return std::bit_cast<float>(bits & 0xFFFFE000u);
    case Type::e4m3:
      return widen_small(bits >> (8 * element) & 0xFF, kE4m3);
    case Type::e5m2:
      return widen_small(bits >> (8 * element) & 0xFF, kE5m2);
    case Type::s8:
      return static_cast<int8_t>(bits >> (8 * element));
    case Type::u8:
      return static_cast<uint8_t>(bits >> (8 * element));
    case Type::s32:
      return static_cast<int32_t>(bits);
    default:
      return std::bit_cast<float>(bits);
  }
}

uint32_t per_register(Type type) {
  return type == Type::tf32 || type == Type::f64 ? 1 : 4 / static_cast<uint32_t>(bytes_of(type));
}

// A, or B as its transpose.
void gather(const Lanes& lanes, const uint32_t* slots, uint32_t registers, Type type, uint32_t rows,
            Matrix& to) {
  const uint32_t count = per_register(type);
  for (uint32_t reg = 0; reg < registers; ++reg)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t element = 0; element < count; ++element) {
        const Place2 place = place_in_operand(lane, reg, element, rows, count);
        to[place.row][place.column] =
            type == Type::f64 ? wide(lanes, slots[reg], lane)
                              : element_of(word(lanes, slots[reg], lane), element, type);
      }
}

// One element of an accumulator, by its index among the lane's.
double accumulator_of(const Lanes& lanes, const uint32_t* slots, Type type, uint32_t lane,
                      uint32_t index) {
  if (type == Type::f64) return wide(lanes, slots[index], lane);
  if (type == Type::f16) return element_of(word(lanes, slots[index / 2], lane), index % 2, type);
  return element_of(word(lanes, slots[index], lane), 0, type);
}

int32_t add_integers(const double* a, const double* b, uint32_t k, double c, bool saturate) {
  auto sum = static_cast<int64_t>(c);
  for (uint32_t i = 0; i < k; ++i) sum += static_cast<int64_t>(a[i] * b[i]);
  if (saturate) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
  return static_cast<int32_t>(static_cast<uint32_t>(sum));
}

double add_doubles(const double* a, const double* b, uint32_t k, double c) {
  for (uint32_t i = 0; i < k; ++i) c = std::fma(a[i], b[i], c);
  return c;
}

void store_accumulator(Lanes& lanes, const uint32_t* slots, const MatrixShape& shape, uint32_t lane,
                       uint32_t index, const double* a, const double* b, double c) {
  if (shape.d == Type::f64) {
    wide(lanes, slots[index], lane) = add_doubles(a, b, shape.k, c);
  } else if (shape.d == Type::s32) {
    word(lanes, slots[index], lane) =
        static_cast<uint32_t>(add_integers(a, b, shape.k, c, shape.saturate));
  } else {
    const float sum = tensor_sum(std::span(a, shape.k), std::span(b, shape.k),
                                 static_cast<float>(c), accumulate_rule(shape.a, shape.d));
    if (shape.d == Type::f32) {
      word(lanes, slots[index], lane) = std::bit_cast<uint32_t>(sum);
    } else {
      uint32_t& packed = word(lanes, slots[index / 2], lane);
      const uint32_t shift = 16 * (index % 2);
      packed = (packed & ~(0xFFFFu << shift)) |
               (narrow_small(sum, kHalf, SmallRounding::nearest, false) << shift);
    }
  }
}

void multiply(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  const MatrixShape& shape = how.shape;
  const uint32_t* d = how.parts.data();
  const uint32_t* a = d + shape.d_registers;
  const uint32_t* b = a + shape.a_registers;
  const uint32_t* c = b + shape.b_registers;
  Matrix rows{}, columns{};
  gather(lanes, a, shape.a_registers, shape.a, shape.m, rows);
  gather(lanes, b, shape.b_registers, shape.b, 8, columns);
  // C is read whole before D is written: they may share registers.
  const uint32_t elements = shape.m / 4u;
  std::array<std::array<double, 4>, kLanes> before{};
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t i = 0; i < elements; ++i)
      before[lane][i] = accumulator_of(lanes, c, shape.c, lane, i);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t i = 0; i < elements; ++i) {
      const Place2 place = place_in_accumulator(lane, i);
      store_accumulator(lanes, d, shape, lane, i, rows[place.row].data(),
                        columns[place.column].data(), before[lane][i]);
    }
  lanes.warp->run->counts.matrix_multiply_adds[op.index] += uint64_t{shape.m} * shape.n * shape.k;
}

// Addresses of the rows of all matrices: lane 8 i + r has row r of matrix i.
uint32_t place_rows(const Op& op, Lanes& lanes, const Collective& how, const Access& access,
                    Places& places, Places& hosts) {
  BlockRun& run = *lanes.warp->run;
  places_of(lanes, access.address, access.wide_address, access.offset, places);
  if (access.space == Space::generic) shift(places, 0 - kSharedWindow, places);
  const uint32_t mask = how.count == 4 ? kAllLanes : (1u << (8 * how.count)) - 1;
  Op with_access = op;
  with_access.extra = how.access;
  const uint32_t good = place(with_access, lanes, how.access, Space::shared, places, mask, 16,
                              access.kind == AccessKind::store, hosts);
  const bool watched = run.launch().config.checks == Checks::all;
  const Pattern& pattern = pattern_of(run.patterns[how.access], PatternKind::wavefronts, places,
                                      mask, 16, watched ? run.grain() : 0);
  add_request(run.counts.accesses[how.access], pattern, places, mask, 16, true);
  if (watched && good != 0) check_access(with_access, lanes, access, Space::shared, places, good);
  return good;
}

// Element (row, column) of an 8 x 8 matrix of 16-bit elements, as lanes hold it: each lane two
// neighbours of a row, or of a column if transposed.
struct Pair {
  uint32_t row[2], column[2];
};
Pair pair_of(uint32_t lane, bool transposed) {
  const uint32_t outer = lane / 4, inner = lane % 4 * 2;
  if (transposed) return {{inner, inner + 1}, {outer, outer}};
  return {{outer, outer}, {inner, inner + 1}};
}

void load_matrix(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  Places places, hosts;
  const uint32_t good = place_rows(op, lanes, how, lanes.code->accesses[how.access], places, hosts);
  for (uint32_t matrix = 0; matrix < how.count; ++matrix)
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const Pair pair = pair_of(lane, how.transposed);
      uint32_t value = 0;
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t row = matrix * 8 + pair.row[half];
        uint16_t element = 0;
        if (good >> row & 1)
          std::memcpy(&element,
                      reinterpret_cast<const std::byte*>(hosts[row]) + 2 * pair.column[half], 2);
        value |= uint32_t{element} << (16 * half);
      }
      word(lanes, how.parts[matrix], lane) = value;
    }
}

void store_matrix(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  Places places, hosts;
  const uint32_t good = place_rows(op, lanes, how, lanes.code->accesses[how.access], places, hosts);
  for (uint32_t matrix = 0; matrix < how.count; ++matrix)
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const Pair pair = pair_of(lane, how.transposed);
      const uint32_t value = word(lanes, how.parts[matrix], lane);
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t row = matrix * 8 + pair.row[half];
        const auto element = static_cast<uint16_t>(value >> (16 * half));
        if (good >> row & 1)
          std::memcpy(reinterpret_cast<std::byte*>(hosts[row]) + 2 * pair.column[half], &element,
                      2);
      }
    }
}

void move_matrix(const Op& op, Lanes& lanes) {
  const Collective& how = collective_of(op, lanes);
  std::array<std::array<uint16_t, 8>, 8> elements;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t half = 0; half < 2; ++half)
      elements[lane / 4][lane % 4 * 2 + half] =
          static_cast<uint16_t>(word(lanes, how.parts[1], lane) >> (16 * half));
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t row = lane / 4, column = lane % 4 * 2;
    word(lanes, how.parts[0], lane) = elements[column][row] | uint32_t{elements[column + 1][row]}
                                                                  << 16;
  }
}

}  // namespace

// A lane's group is lane / 4, its place in it lane % 4. Registers go by 8 rows first, then by
// columns.
Place2 place_in_operand(uint32_t lane, uint32_t reg, uint32_t element, uint32_t rows,
                        uint32_t per_register_) {
  const uint32_t group = lane / 4, within = lane % 4;
  const uint32_t row_parts = rows / 8;
  return {.row = group + 8 * (reg % row_parts),
          .column = within * per_register_ + element + reg / row_parts * 4 * per_register_};
}

Place2 place_in_accumulator(uint32_t lane, uint32_t index) {
  return {.row = lane / 4 + 8 * (index / 2), .column = lane % 4 * 2 + index % 2};
}

Handler matrix_handler(const Collective& collective) {
  switch (collective.kind) {
    case CollectiveKind::load_matrix:
      return load_matrix;
    case CollectiveKind::store_matrix:
      return store_matrix;
    case CollectiveKind::move_matrix:
      return move_matrix;
    default:
      return multiply;
  }
}

}  // namespace tilec::ptx
