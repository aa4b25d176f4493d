// The scalar types of PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilec::ptx {

enum class Kind : uint8_t { bits, unsigned_, signed_, floating, predicate };

enum class Type : uint8_t {
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  u16x2,
  s16x2,
  pred,
};

struct TypeInfo {
  std::string_view name;  // without the dot
  Kind kind;
  int bytes;  // 0 for predicates
};

const TypeInfo& info(Type type);

/// By name without the dot.
std::optional<Type> find_type(std::string_view name);

inline int bytes_of(Type type) {
  return info(type).bytes;
}
inline bool is_signed(Type type) {
  return info(type).kind == Kind::signed_;
}
inline bool is_floating(Type type) {
  return info(type).kind == Kind::floating;
}

/// Whether a register declared as `declared` may stand where an instruction wants `wanted`: same
/// size, and equal kinds, or one of them bits, or both integers (PTX ISA, "Operand type checking").
bool agrees(Type declared, Type wanted);

/// The same for loads, stores and conversions, which take wider registers ("Operand size exceeding
/// instruction-type size").
bool agrees_relaxed(Type declared, Type wanted);

}  // namespace tilec::ptx
