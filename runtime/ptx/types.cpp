#include "runtime/ptx/types.h"

#include <array>

namespace tilec::ptx {
namespace {

// In the order of the enumeration.
constexpr std::array<TypeInfo, 28> kTypes = {{
    {"b8", Kind::bits, 1},        {"b16", Kind::bits, 2},        {"b32", Kind::bits, 4},
    {"b64", Kind::bits, 8},       {"b128", Kind::bits, 16},      {"u8", Kind::unsigned_, 1},
    {"u16", Kind::unsigned_, 2},  {"u32", Kind::unsigned_, 4},   {"u64", Kind::unsigned_, 8},
    {"s8", Kind::signed_, 1},     {"s16", Kind::signed_, 2},     {"s32", Kind::signed_, 4},
    {"s64", Kind::signed_, 8},    {"f16", Kind::floating, 2},    {"f16x2", Kind::floating, 4},
    {"bf16", Kind::floating, 2},  {"bf16x2", Kind::floating, 4}, {"tf32", Kind::floating, 4},
    {"f32", Kind::floating, 4},   {"f32x2", Kind::floating, 8},  {"f64", Kind::floating, 8},
    {"e4m3", Kind::bits, 1},      {"e5m2", Kind::bits, 1},       {"e4m3x2", Kind::bits, 2},
    {"e5m2x2", Kind::bits, 2},    {"u16x2", Kind::unsigned_, 4}, {"s16x2", Kind::signed_, 4},
    {"pred", Kind::predicate, 0},
}};

bool kinds_agree(Kind declared, Kind wanted) {
  if (declared == Kind::predicate || wanted == Kind::predicate) return declared == wanted;
  if (declared == Kind::bits || wanted == Kind::bits || declared == wanted) return true;
  return declared != Kind::floating && wanted != Kind::floating;
}

}  // namespace

const TypeInfo& info(Type type) {
  return kTypes[static_cast<size_t>(type)];
}

std::optional<Type> find_type(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].name == name) return static_cast<Type>(i);
  return std::nullopt;
}

bool agrees(Type declared, Type wanted) {
  return kinds_agree(info(declared).kind, info(wanted).kind) &&
         bytes_of(declared) == bytes_of(wanted);
}

bool agrees_relaxed(Type declared, Type wanted) {
  const Kind kind = info(declared).kind;
  if (kind == Kind::predicate || info(wanted).kind == Kind::predicate) return declared == wanted;
  if (kind == Kind::floating) return agrees(declared, wanted);
  return bytes_of(declared) >= bytes_of(wanted);
}

}  // namespace tilec::ptx
