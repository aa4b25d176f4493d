#include "runtime/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/random.h"

namespace tilec {
namespace {

constexpr ElementType whole(std::string_view name, std::string_view npy, int bytes,
                            ElementKind kind) {
  return {.name = name, .npy = npy, .bytes = bytes, .kind = kind};
}

constexpr ElementType floating(std::string_view name, std::string_view npy, int bytes, int exponent,
                               int mantissa, bool infinity = true) {
  return {.name = name,
          .npy = npy,
          .bytes = bytes,
          .kind = ElementKind::floating,
          .exponent_bits = exponent,
          .mantissa_bits = mantissa,
          .unused_bits = 8 * bytes - 1 - exponent - mantissa,
          .has_infinity = infinity};
}

constexpr std::array kTypes = {
    whole("s8", "|i1", 1, ElementKind::integer),
    whole("u8", "|u1", 1, ElementKind::natural),
    whole("b8", "|u1", 1, ElementKind::bits),
    whole("s16", "<i2", 2, ElementKind::integer),
    whole("u16", "<u2", 2, ElementKind::natural),
    whole("b16", "<u2", 2, ElementKind::bits),
    whole("s32", "<i4", 4, ElementKind::integer),
    whole("u32", "<u4", 4, ElementKind::natural),
    whole("b32", "<u4", 4, ElementKind::bits),
    whole("s64", "<i8", 8, ElementKind::integer),
    whole("u64", "<u8", 8, ElementKind::natural),
    whole("b64", "<u8", 8, ElementKind::bits),
    floating("f16", "<f2", 2, 5, 10),
    floating("bf16", "<V2", 2, 8, 7),
    floating("tf32", "<f4", 4, 8, 10),
    floating("f32", "<f4", 4, 8, 23),
    floating("f64", "<f8", 8, 11, 52),
    floating("f8e4m3", "|V1", 1, 4, 3, false),
    floating("f8e5m2", "|V1", 1, 5, 2),
};

constexpr std::array<std::string_view, 8> kFillingWords = {"zero", "fill",     "index",   "random",
                                                           "wide", "denormal", "special", "bits"};

uint64_t shifted(uint64_t value, int bits) {
  return bits >= 0 && bits < 64 ? value << bits : 0;
}

uint64_t shifted_down(uint64_t value, int bits) {
  return bits >= 0 && bits < 64 ? value >> bits : 0;
}

uint64_t all_ones(int bits) {
  return shifted(1, bits) - 1;
}

// A float's fields, as numbers of their own.
struct Fields {
  bool negative = false;
  uint64_t exponent = 0;
  uint64_t mantissa = 0;
};

Fields fields_of(const ElementType& type, uint64_t bits) {
  bits = shifted_down(bits, type.unused_bits);
  const uint64_t above = shifted_down(bits, type.mantissa_bits);  // sign and exponent
  return {.negative = shifted_down(above, type.exponent_bits) % 2 != 0,
          .exponent = above & all_ones(type.exponent_bits),
          .mantissa = bits & all_ones(type.mantissa_bits)};
}

uint64_t bits_of(const ElementType& type, const Fields& fields) {
  const uint64_t sign = shifted(fields.negative ? 1 : 0, type.exponent_bits);
  const uint64_t pattern = shifted(sign | fields.exponent, type.mantissa_bits) | fields.mantissa;
  return shifted(pattern, type.unused_bits);
}

int bias(const ElementType& type) {
  return static_cast<int>(all_ones(type.exponent_bits - 1));
}

// The mantissas of the highest exponent that are no numbers: all of them (infinity and NaNs), or
// where there is no infinity only the last.
bool is_number(const ElementType& type, const Fields& fields) {
  if (fields.exponent != all_ones(type.exponent_bits)) return true;
  return !type.has_infinity && fields.mantissa != all_ones(type.mantissa_bits);
}

Fields largest(const ElementType& type) {
  Fields fields{.exponent = all_ones(type.exponent_bits), .mantissa = all_ones(type.mantissa_bits)};
  --(type.has_infinity ? fields.exponent : fields.mantissa);
  return fields;
}

Fields infinity_or_nan(const ElementType& type) {
  return {.exponent = all_ones(type.exponent_bits),
          .mantissa = type.has_infinity ? 0 : all_ones(type.mantissa_bits)};
}

int64_t signed_of(const ElementType& type, uint64_t bits) {
  const int unused = 64 - 8 * type.bytes;
  return static_cast<int64_t>(bits << unused) >> unused;
}

// The part of [-1, 1) that stream `seed` gives to `index`, to 53 bits.
double uniform(uint64_t seed, uint64_t index) {
  return static_cast<double>(static_cast<int64_t>(random_bits(seed, index)) >> 11) * 0x1p-52;
}

uint64_t random_integer_special(const ElementType& type, uint64_t random) {
  const uint64_t ones = all_ones(8 * type.bytes);
  const std::array<uint64_t, 6> values = {0, 1, ones, ones >> 1, (ones >> 1) + 1, random >> 8};
  return values[random % values.size()] & ones;
}

uint64_t random_float_special(const ElementType& type, uint64_t random) {
  Fields fields{.negative = (random >> 63) != 0};
  const uint64_t mantissa = random >> 16 & all_ones(type.mantissa_bits);
  if (random % 32 == 0) {
    fields.exponent = all_ones(type.exponent_bits);
    fields.mantissa =
        (random >> 8) % 2 == 0 ? infinity_or_nan(type).mantissa : all_ones(type.mantissa_bits);
    return bits_of(type, fields);
  }
  const auto one = static_cast<uint64_t>(bias(type));
  const std::array<Fields, 10> values = {{
      {.exponent = 0, .mantissa = 0},
      {.exponent = 0, .mantissa = 1},
      {.exponent = 0, .mantissa = all_ones(type.mantissa_bits)},
      {.exponent = 0, .mantissa = mantissa},
      {.exponent = 1, .mantissa = 0},
      {.exponent = one, .mantissa = 0},
      {.exponent = one, .mantissa = 1},
      {.exponent = one - 1, .mantissa = all_ones(type.mantissa_bits)},
      {.exponent = one, .mantissa = mantissa},
      largest(type),
  }};
  Fields chosen = values[(random >> 8) % values.size()];
  chosen.negative = fields.negative;
  return bits_of(type, chosen);
}

uint64_t random_float(const ElementType& type, Filling::Kind kind, uint64_t seed, uint64_t index) {
  const uint64_t random = random_bits(seed, index);
  Fields fields{.negative = (random >> 63) != 0, .mantissa = random & all_ones(type.mantissa_bits)};
  switch (kind) {
    case Filling::Kind::wide: {
      const int reach = std::min(20, bias(type) - 1);
      const uint64_t choices = 2 * static_cast<uint64_t>(reach) + 1;
      const auto least = static_cast<uint64_t>(bias(type)) - static_cast<uint64_t>(reach);
      fields.exponent = least + (random >> 53 & 0x3FF) % choices;
      return bits_of(type, fields);
    }
    case Filling::Kind::denormal:
      fields.exponent = (random >> 53 & 0x3FF) % 3;
      return bits_of(type, fields);
    case Filling::Kind::special:
      return random_float_special(type, random);
    case Filling::Kind::bits:
      return random & (all_ones(8 * type.bytes) & ~all_ones(type.unused_bits));
    default:
      if (type.bytes == 8) return float_bits(type, uniform(seed, index));
      return float_bits(type, random_operand(seed, index));
  }
}

uint64_t element(const ElementType& type, const Filling& filling, uint64_t index) {
  using Kind = Filling::Kind;
  const bool is_float = type.kind == ElementKind::floating;
  if (filling.kind == Kind::zero) return 0;
  if (filling.kind == Kind::value) return filling.value;
  if (filling.kind == Kind::index)
    return is_float ? float_bits(type, static_cast<double>(index))
                    : index & all_ones(8 * type.bytes);
  if (is_float) return random_float(type, filling.kind, filling.seed, index);
  const uint64_t random = random_bits(filling.seed, index);
  if (filling.kind == Kind::special) return random_integer_special(type, random);
  return random >> (64 - 8 * type.bytes);
}

// Of the binade that |number| lies in; infinity and NaN count as the largest number.
double unit_at(const ElementType& type, double number) {
  const int least = 1 - bias(type);
  int exponent = least;
  if (!std::isfinite(number))
    exponent = static_cast<int>(largest(type).exponent) - bias(type);
  else if (number != 0)
    exponent = std::max(least, std::ilogb(number));
  return std::ldexp(1.0, exponent - type.mantissa_bits);
}

template <class Integer>
std::optional<uint64_t> parse_integer(std::string_view digits, bool negative,
                                      uint64_t most_negative, Integer most) {
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  if (value > (negative ? most_negative : static_cast<uint64_t>(most))) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace

std::span<const ElementType> element_types() {
  return kTypes;
}

const ElementType* find_element_type(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &ElementType::name);
  return found == kTypes.end() ? nullptr : &*found;
}

// Little-endian, as devices and hosts of CUDA are.
uint64_t read_bits(const ElementType& type, const std::byte* from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(type.bytes));
  return bits;
}

void write_bits(const ElementType& type, uint64_t bits, std::byte* to) {
  std::memcpy(to, &bits, static_cast<size_t>(type.bytes));
}

double number_of(const ElementType& type, uint64_t bits) {
  if (type.kind == ElementKind::integer) return static_cast<double>(signed_of(type, bits));
  if (type.kind != ElementKind::floating) return static_cast<double>(bits);
  const Fields fields = fields_of(type, bits);
  double size = 0;
  if (!is_number(type, fields)) {
    const bool infinite = type.has_infinity && fields.mantissa == 0;
    size = infinite ? std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::quiet_NaN();
  } else {
    const bool normal = fields.exponent != 0;
    const uint64_t digits = fields.mantissa | shifted(normal ? 1 : 0, type.mantissa_bits);
    const int exponent = static_cast<int>(normal ? fields.exponent : 1) - bias(type);
    size = std::ldexp(static_cast<double>(digits), exponent - type.mantissa_bits);
  }
  return fields.negative ? -size : size;
}

uint64_t float_bits(const ElementType& type, double number) {
  Fields fields{.negative = std::signbit(number)};
  const double size = std::fabs(number);
  if (std::isnan(number)) {
    fields.exponent = all_ones(type.exponent_bits);
    fields.mantissa =
        type.has_infinity ? shifted(1, type.mantissa_bits - 1) : all_ones(type.mantissa_bits);
    return bits_of(type, fields);
  }
  // `nearbyint` rounds to even; a carry out of the mantissa lands in the exponent, as it should.
  const double unit = std::isinf(size) ? 1 : unit_at(type, size);
  const double digits = std::nearbyint(size / unit);
  const double most = number_of(type, bits_of(type, largest(type)));
  if (std::isinf(size) || digits * unit > most) {
    const Fields over = infinity_or_nan(type);
    fields.exponent = over.exponent;
    fields.mantissa = over.mantissa;
    return bits_of(type, fields);
  }
  const int exponent = std::ilogb(unit) + type.mantissa_bits + bias(type);  // 1 for denormals
  const uint64_t pattern = shifted(static_cast<uint64_t>(exponent - 1), type.mantissa_bits) +
                           static_cast<uint64_t>(digits);
  const Fields made = fields_of(type, shifted(pattern, type.unused_bits));
  fields.exponent = made.exponent;
  fields.mantissa = made.mantissa;
  return bits_of(type, fields);
}

bool is_nan(const ElementType& type, uint64_t bits) {
  return type.kind == ElementKind::floating && std::isnan(number_of(type, bits));
}

std::optional<uint64_t> parse_element(const ElementType& type, std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view rest = text.substr(negative || text.starts_with('+') ? 1 : 0);
  if (rest.empty() || rest.front() == '-' || rest.front() == '+') return std::nullopt;
  if (type.kind != ElementKind::floating) {
    const uint64_t ones = all_ones(8 * type.bytes);
    const uint64_t half = (ones >> 1) + 1;
    const uint64_t below = type.kind == ElementKind::natural ? 0 : half;
    const uint64_t most = type.kind == ElementKind::integer ? half - 1 : ones;
    const std::optional<uint64_t> bits = parse_integer(rest, negative, below, most);
    return bits ? std::optional(*bits & ones) : std::nullopt;
  }
  double number = 0;
  auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || stop != rest.data() + rest.size()) return std::nullopt;
  if (type.bytes == 4 && type.unused_bits == 0) {  // once rounded, not twice
    float single = 0;
    const auto again = std::from_chars(rest.data(), rest.data() + rest.size(), single);
    if (again.ec != std::errc()) return std::nullopt;
    number = single;
  }
  const uint64_t bits = float_bits(type, negative ? -number : number);
  // What was written as a number had better be one.
  if (std::isfinite(number) && !std::isfinite(number_of(type, bits))) return std::nullopt;
  return bits;
}

std::string format_element(const ElementType& type, uint64_t bits) {
  if (type.kind == ElementKind::bits) return fmt::format("{:#0{}x}", bits, 2 + 2 * type.bytes);
  if (type.kind == ElementKind::integer) return fmt::format("{}", signed_of(type, bits));
  if (type.kind == ElementKind::natural) return fmt::format("{}", bits);
  if (type.bytes == 8) return fmt::format("{}", std::bit_cast<double>(bits));
  return fmt::format("{}", static_cast<float>(number_of(type, bits)));
}

std::span<const std::string_view> filling_words() {
  return kFillingWords;
}

std::vector<std::byte> fill_elements(const ElementType& type, int64_t count,
                                     const Filling& filling) {
  const auto size = static_cast<size_t>(type.bytes);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  if (filling.kind == Filling::Kind::zero) return bytes;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    write_bits(type, element(type, filling, i), bytes.data() + i * size);
  return bytes;
}

ElementComparison compare_elements(const ElementType& type, std::span<const std::byte> got,
                                   std::span<const std::byte> expected,
                                   std::span<const std::byte> magnitudes) {
  const auto size = static_cast<size_t>(type.bytes);
  ElementComparison result{.elements = static_cast<int64_t>(expected.size() / size)};
  for (size_t i = 0; i < expected.size() / size; ++i) {
    const uint64_t mine = read_bits(type, got.data() + i * size);
    const uint64_t theirs = read_bits(type, expected.data() + i * size);
    if (mine == theirs) {
      ++result.equal;
      continue;
    }
    if (is_nan(type, mine) && is_nan(type, theirs)) {
      ++result.both_nan;
      continue;
    }
    if (result.first_unequal < 0) result.first_unequal = static_cast<int64_t>(i);
    const double a = number_of(type, mine);
    const double b = number_of(type, theirs);
    const bool is_float = type.kind == ElementKind::floating;
    const double magnitude =
        magnitudes.empty() ? b : number_of(type, read_bits(type, magnitudes.data() + i * size));
    double units = std::fabs(a - b) / (is_float ? unit_at(type, magnitude) : 1);
    if (!std::isfinite(a) || !std::isfinite(b)) units = std::numeric_limits<double>::infinity();
    result.largest_units = std::max(result.largest_units, units);
    ++(is_float && units <= 1 ? result.within_unit : result.different);
  }
  return result;
}

}  // namespace tilec
