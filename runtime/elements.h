// Elements of a buffer: the types that kernels work on, as bits and as numbers. A float of any
// width is a row of the table, so that one pair of functions turns numbers into bits and back.
//
// Fillings name what a buffer holds before a run. An element depends on its index and the seed
// alone, so a filling is the same in every run, on every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilec {

enum class ElementKind : uint8_t { bits, integer, natural, floating };  // natural: unsigned

struct ElementType {
  std::string_view name;  // "f32", as PTX writes it
  std::string_view npy;   // numpy's name, "<f4"; "<V2" where numpy has no such type
  int bytes = 0;
  ElementKind kind{};
  // Of a float. Its pattern stands in the high bits; the low `unused_bits` are zeros.
  int exponent_bits = 0;
  int mantissa_bits = 0;  // stored
  int unused_bits = 0;
  bool has_infinity = true;  // f8e4m3 has none: all ones are its NaN, and the rest are numbers
};

/// s8 … b64, f16, bf16, tf32, f32, f64, f8e4m3, f8e5m2.
std::span<const ElementType> element_types();
const ElementType* find_element_type(std::string_view name);

uint64_t read_bits(const ElementType& type, const std::byte* from);
void write_bits(const ElementType& type, uint64_t bits, std::byte* to);

/// The number that `bits` stand for; 64-bit integers are rounded to 53 bits.
double number_of(const ElementType& type, uint64_t bits);
/// A float's bits for `number`, rounded to nearest, ties to even; beyond the range infinity, or
/// NaN where there is none. Only for kind `floating`.
uint64_t float_bits(const ElementType& type, double number);
bool is_nan(const ElementType& type, uint64_t bits);

/// A number as a person writes it: integers in decimal or 0x, signed or not, that fit; for floats
/// also inf and nan. None if it does not read or does not fit.
std::optional<uint64_t> parse_element(const ElementType& type, std::string_view text);
/// Shortest decimal form; bits in hexadecimal.
std::string format_element(const ElementType& type, uint64_t bits);

struct Filling {
  enum class Kind : uint8_t {
    zero,
    value,     // `value` everywhere
    index,     // each element is its own index
    random,    // floats uniform in [-1, 1); integers over all their values
    wide,      // floats of random sign and mantissa, exponents spread over up to -20 … 20
    denormal,  // floats of random sign and mantissa, exponent fields 0 … 2
    special,   // zeros, ones, extremes, denormals; 1 element in 32 infinite or NaN
    bits,      // all patterns
  };
  Kind kind = Kind::zero;
  uint64_t seed = 1;   // of the random kinds
  uint64_t value = 0;  // bits, of Kind::value
};

/// The words for kinds, in the order of the enumeration: "zero", "fill", "index", ...
std::span<const std::string_view> filling_words();

/// `count` elements, count >= 0.
std::vector<std::byte> fill_elements(const ElementType& type, int64_t count,
                                     const Filling& filling);

/// Two buffers of one type, element by element.
struct ElementComparison {
  int64_t elements = 0;
  int64_t equal = 0;           // bit for bit
  int64_t both_nan = 0;        // NaNs of different bits
  int64_t within_unit = 0;     // floats that differ by at most one unit in the last place
  int64_t different = 0;       // the rest
  double largest_units = 0;    // largest difference, units in the last place; infinite if one is
                               // NaN or infinite and the other is not
  int64_t first_unequal = -1;  // index of the first that is neither equal nor both NaN
};

/// The unit in the last place of an element is that of the expected one, or where `magnitudes` are
/// given (of the same type and length) of the magnitude at its index: of what a sum was made of,
/// say, where that is known. The least unit is that of the denormals.
ElementComparison compare_elements(const ElementType& type, std::span<const std::byte> got,
                                   std::span<const std::byte> expected,
                                   std::span<const std::byte> magnitudes = {});

}  // namespace tilec
