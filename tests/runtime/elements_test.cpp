// Elements: bits and numbers, fillings, comparisons.
#include "runtime/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace tilec {
namespace {

const ElementType& type_of(std::string_view name) {
  const ElementType* type = find_element_type(name);
  if (type == nullptr) abort();
  return *type;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Elements, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const ElementType& type : element_types()) {
    EXPECT_EQ(find_element_type(type.name), &type);
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
  }
  EXPECT_EQ(find_element_type("f33"), nullptr);
  EXPECT_EQ(find_element_type(""), nullptr);
}

// Every pattern of every small float, to a number and back.
TEST(Elements, SmallFloatsComeBack) {
  for (const ElementType& type : element_types()) {
    if (type.kind != ElementKind::floating || type.bytes > 2) continue;
    for (uint64_t bits = 0; bits < uint64_t{1} << 8 * type.bytes; ++bits) {
      if (is_nan(type, bits)) {
        EXPECT_TRUE(is_nan(type, float_bits(type, number_of(type, bits)))) << type.name;
      } else {
        ASSERT_EQ(float_bits(type, number_of(type, bits)), bits) << type.name;
      }
    }
  }
}

// Between two neighbours the nearer one is taken, and half way the one with an even last bit.
TEST(Elements, RoundsToNearestEven) {
  for (const ElementType& type : element_types()) {
    if (type.kind != ElementKind::floating || type.bytes > 2) continue;
    for (uint64_t bits = 0;; ++bits) {
      const double low = number_of(type, bits), high = number_of(type, bits + 1);
      if (!std::isfinite(high)) break;
      ASSERT_EQ(float_bits(type, low + (high - low) * 0.25), bits) << type.name << " " << bits;
      ASSERT_EQ(float_bits(type, low + (high - low) * 0.75), bits + 1) << type.name << " " << bits;
      ASSERT_EQ(float_bits(type, (low + high) / 2), bits + bits % 2) << type.name << " " << bits;
      ASSERT_EQ(float_bits(type, -high),
                float_bits(type, high) | uint64_t{1} << (8 * type.bytes - 1));
    }
  }
}

TEST(Elements, AgreesWithTheHostsFloats) {
  for (uint64_t i = 0; i < 200000; ++i) {
    const auto bits = static_cast<uint32_t>(i * 2654435761U);
    const auto single = std::bit_cast<float>(bits);
    if (std::isnan(single)) continue;
    EXPECT_EQ(number_of(type_of("f32"), bits), single);
    ASSERT_EQ(float_bits(type_of("f32"), single), bits);
    const double wide = std::bit_cast<double>(i * 0x9e3779b97f4a7c15ULL);
    if (std::isnan(wide)) continue;
    ASSERT_EQ(float_bits(type_of("f64"), wide), std::bit_cast<uint64_t>(wide));
    const auto narrowed = static_cast<float>(wide);
    ASSERT_EQ(float_bits(type_of("f32"), wide), std::bit_cast<uint32_t>(narrowed)) << wide;
  }
}

TEST(Elements, KnownNumbers) {
  struct Case {
    const char* type;
    uint64_t bits;
    double number;
  };
  for (const Case& c :
       {Case{"f16", 0x3C00, 1}, Case{"f16", 0x7BFF, 65504}, Case{"f16", 1, 0x1p-24},
        Case{"f16", 0x7C00, kInfinity}, Case{"bf16", 0x3F80, 1}, Case{"bf16", 0xFF80, -kInfinity},
        Case{"f8e4m3", 0x7E, 448}, Case{"f8e4m3", 0x01, 0x1p-9}, Case{"f8e4m3", 0x38, 1},
        Case{"f8e5m2", 0x7B, 57344}, Case{"f8e5m2", 0x7C, kInfinity},
        Case{"tf32", 0x3F802000, 1 + 0x1p-10}, Case{"s8", 0x80, -128}, Case{"u8", 0x80, 128},
        Case{"s64", ~uint64_t{0}, -1}}) {
    EXPECT_EQ(number_of(type_of(c.type), c.bits), c.number) << c.type;
    if (type_of(c.type).kind == ElementKind::floating)
      EXPECT_EQ(float_bits(type_of(c.type), c.number), c.bits) << c.type;
  }
  EXPECT_TRUE(is_nan(type_of("f8e4m3"), 0x7F));
  EXPECT_TRUE(is_nan(type_of("f8e4m3"), float_bits(type_of("f8e4m3"), 1e9)));
  EXPECT_EQ(float_bits(type_of("f16"), 65520), 0x7C00U);  // half way to the next: infinity
  EXPECT_EQ(float_bits(type_of("f16"), 65519.9), 0x7BFFU);
}

TEST(Elements, Parse) {
  struct Case {
    const char* type;
    const char* text;
    std::optional<uint64_t> bits;
  };
  for (const Case& c : {
           Case{"u32", "42", 42},
           Case{"u32", "+42", 42},
           Case{"u32", "0xFF", 255},
           Case{"u32", "4294967295", 0xFFFFFFFF},
           Case{"u32", "4294967296", std::nullopt},
           Case{"u32", "-1", std::nullopt},
           Case{"u32", "1.5", std::nullopt},
           Case{"u32", "", std::nullopt},
           Case{"u32", "--1", std::nullopt},
           Case{"u32", "12 ", std::nullopt},
           Case{"s32", "-1", 0xFFFFFFFF},
           Case{"s32", "2147483648", std::nullopt},
           Case{"s32", "-2147483648", 0x80000000},
           Case{"s32", "-2147483649", std::nullopt},
           Case{"b32", "-1", 0xFFFFFFFF},
           Case{"s64", "-9223372036854775808", uint64_t{1} << 63},
           Case{"u64", "18446744073709551615", ~uint64_t{0}},
           Case{"u64", "18446744073709551616", std::nullopt},
           Case{"s8", "-129", std::nullopt},
           Case{"f32", "1.5", 0x3FC00000},
           Case{"f32", "-0", 0x80000000},
           Case{"f32", "inf", 0x7F800000},
           Case{"f32", "-inf", 0xFF800000},
           Case{"f32", "1e39", std::nullopt},
           Case{"f32", "0.1", 0x3DCCCCCD},
           Case{"f32", "1.5f", std::nullopt},
           Case{"f16", "70000", std::nullopt},
           Case{"f16", "1", 0x3C00},
           Case{"f64", "0.1", 0x3FB999999999999A},
       })
    EXPECT_EQ(parse_element(type_of(c.type), c.text), c.bits) << c.type << " " << c.text;
  EXPECT_TRUE(is_nan(type_of("f16"), parse_element(type_of("f16"), "nan").value_or(0)));
}

TEST(Elements, Format) {
  EXPECT_EQ(format_element(type_of("f32"), 0x3DCCCCCD), "0.1");
  EXPECT_EQ(format_element(type_of("s8"), 0x80), "-128");
  EXPECT_EQ(format_element(type_of("u64"), ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(format_element(type_of("b16"), 0xAB), "0x00ab");
  EXPECT_EQ(format_element(type_of("f64"), 0x3FB999999999999A), "0.1");
}

std::vector<uint64_t> filled(std::string_view type, Filling::Kind kind, int64_t count = 4096,
                             uint64_t seed = 1, uint64_t value = 0) {
  const auto bytes =
      fill_elements(type_of(type), count, {.kind = kind, .seed = seed, .value = value});
  std::vector<uint64_t> elements;
  for (size_t i = 0; i < bytes.size(); i += static_cast<size_t>(type_of(type).bytes))
    elements.push_back(read_bits(type_of(type), bytes.data() + i));
  EXPECT_EQ(elements.size(), static_cast<size_t>(count));
  return elements;
}

TEST(Fillings, PlainOnes) {
  for (const ElementType& type : element_types()) {
    EXPECT_EQ(filled(type.name, Filling::Kind::zero, 3), std::vector<uint64_t>(3, 0));
    EXPECT_EQ(filled(type.name, Filling::Kind::value, 2, 1, 7), std::vector<uint64_t>(2, 7));
    const auto index = filled(type.name, Filling::Kind::index, 5);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(number_of(type, index[i]), static_cast<double>(i));
    EXPECT_TRUE(filled(type.name, Filling::Kind::random, 0).empty());
  }
}

TEST(Fillings, DependOnSeedAndIndexAlone) {
  for (const ElementType& type : element_types()) {
    for (auto kind : {Filling::Kind::random, Filling::Kind::wide, Filling::Kind::denormal,
                      Filling::Kind::special, Filling::Kind::bits}) {
      const auto all = filled(type.name, kind, 300, 5);
      const auto some = filled(type.name, kind, 200, 5);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << type.name;
      EXPECT_NE(filled(type.name, kind, 300, 6), all) << type.name;
    }
  }
}

TEST(Fillings, AreWhatTheySay) {
  for (const ElementType& type : element_types()) {
    if (type.kind != ElementKind::floating) continue;
    for (uint64_t bits : filled(type.name, Filling::Kind::random)) {
      EXPECT_GE(number_of(type, bits), -1) << type.name;
      EXPECT_LE(number_of(type, bits), 1) << type.name;  // what is next to 1 may round to it
    }
    double least = kInfinity, most = 0;
    for (uint64_t bits : filled(type.name, Filling::Kind::wide)) {
      const double size = std::fabs(number_of(type, bits));
      ASSERT_TRUE(std::isfinite(size)) << type.name;
      least = std::min(least, size);
      most = std::max(most, size);
    }
    EXPECT_GT(most / least, type.exponent_bits > 4 ? 0x1p25 : 0x1p10) << type.name;
    int zeros = 0, odd = 0, finite = 0;
    for (uint64_t bits : filled(type.name, Filling::Kind::special)) {
      const double number = number_of(type, bits);
      zeros += number == 0;
      odd += !std::isfinite(number);
      finite += std::isfinite(number);
    }
    EXPECT_GT(zeros, 100) << type.name;
    EXPECT_GT(odd, 60) << type.name;
    EXPECT_GT(finite, 3500) << type.name;
    // Exponent fields up to 2: all below four times the least normal number.
    const double least_normal =
        number_of(type, uint64_t{1} << (type.mantissa_bits + type.unused_bits));
    for (uint64_t bits : filled(type.name, Filling::Kind::denormal))
      ASSERT_LT(std::fabs(number_of(type, bits)), 4 * least_normal) << type.name;
    for (uint64_t bits : filled(type.name, Filling::Kind::bits, 256))
      EXPECT_EQ(bits & ((uint64_t{1} << type.unused_bits) - 1), 0U) << type.name;
  }
}

struct Pair {
  const char* type;
  uint64_t got, expected;
  std::optional<uint64_t> magnitude;
  const char* what;  // equal, nan, unit, different
  double units;
};

TEST(Comparisons, OfOneElement) {
  const Pair table[] = {
      {"f32", 0x3F800000, 0x3F800000, {}, "equal", 0},
      {"f32", 0x3F800001, 0x3F800000, {}, "unit", 1},
      {"f32", 0x3F800002, 0x3F800000, {}, "different", 2},
      {"f32", 0x7FC00000, 0x7FFFFFFF, {}, "nan", 0},
      {"f32", 0x7FC00000, 0x3F800000, {}, "different", kInfinity},
      {"f32", 0x7F800000, 0x7F7FFFFF, {}, "different", kInfinity},
      {"f32", 0x7F800000, 0xFF800000, {}, "different", kInfinity},
      {"f32", 0x00000001, 0x00000000, {}, "unit", 1},
      {"f32", 0x80000000, 0x00000000, {}, "unit", 0},          // -0 is not bit for bit 0
      {"f32", 0x3F800002, 0x3F800000, 0x40000000, "unit", 1},  // a unit of 2.0 is twice that of 1.0
      {"f32", 0x00000000, 0x3F800000, 0x4B000000, "unit", 1},
      {"f16", 0x3C01, 0x3C00, {}, "unit", 1},
      {"bf16", 0x3F81, 0x3F80, {}, "unit", 1},
      {"tf32", 0x3F802000, 0x3F800000, {}, "unit", 1},
      {"s32", 5, 4, {}, "different", 1},
      {"u8", 255, 0, {}, "different", 255},
      {"b16", 3, 3, {}, "equal", 0},
  };
  for (const Pair& c : table) {
    const ElementType& type = type_of(c.type);
    std::vector<std::byte> got(static_cast<size_t>(type.bytes)), expected = got, magnitude;
    write_bits(type, c.got, got.data());
    write_bits(type, c.expected, expected.data());
    if (c.magnitude) {
      magnitude.resize(got.size());
      write_bits(type, *c.magnitude, magnitude.data());
    }
    const ElementComparison made = compare_elements(type, got, expected, magnitude);
    const std::string_view what = made.equal == 1         ? "equal"
                                  : made.both_nan == 1    ? "nan"
                                  : made.within_unit == 1 ? "unit"
                                                          : "different";
    EXPECT_EQ(what, c.what) << c.type << " " << c.got;
    EXPECT_EQ(made.largest_units, c.units) << c.type << " " << c.got;
    EXPECT_EQ(made.elements, 1);
    EXPECT_EQ(made.equal + made.both_nan + made.within_unit + made.different, 1);
    EXPECT_EQ(made.first_unequal, made.equal + made.both_nan == 1 ? -1 : 0);
  }
}

TEST(Comparisons, OfManyNameTheFirst) {
  const ElementType& type = type_of("f32");
  auto got = fill_elements(type, 100, {.kind = Filling::Kind::index});
  const auto expected = got;
  write_bits(type, 0x7FC00000, got.data() + 4 * 40);
  write_bits(type, 0x7FC00000, got.data() + 4 * 70);
  const ElementComparison made = compare_elements(type, got, expected);
  EXPECT_EQ(made.equal, 98);
  EXPECT_EQ(made.different, 2);
  EXPECT_EQ(made.first_unequal, 40);
}

}  // namespace
}  // namespace tilec
