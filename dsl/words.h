// The words of the clauses' arguments beside their values: one table for reading and printing.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "dsl/spec.h"

namespace tilec::dsl {

template <class Value>
struct Word {
  std::string_view word;
  Value value;
};

inline constexpr Word<CopyMode> kCopyWords[] = {{"none", CopyMode::none},
                                                {"register", CopyMode::through_registers},
                                                {"async", CopyMode::async}};
inline constexpr Word<LaneOrder> kLaneWords[] = {{"rows", LaneOrder::rows},
                                                 {"columns", LaneOrder::columns},
                                                 {"interleaved", LaneOrder::interleaved}};
inline constexpr Word<FragmentShape> kFragmentWords[] = {{"whole", FragmentShape::whole},
                                                         {"split", FragmentShape::split}};
inline constexpr Word<RasterOrder> kRasterWords[] = {{"rows", RasterOrder::rows},
                                                     {"columns", RasterOrder::columns},
                                                     {"swizzle", RasterOrder::swizzle}};
inline constexpr Word<Edges> kEdgesWords[] = {{"guard", Edges::guard}, {"exact", Edges::exact}};
inline constexpr Word<OperandLayout> kLayoutWords[] = {
    {"nn", {false, false}}, {"nt", {false, true}}, {"tn", {true, false}}, {"tt", {true, true}}};
inline constexpr Word<bool> kOrientationWords[] = {{"plain", false}, {"transposed", true}};

template <class Value, size_t kSize>
std::string_view word_for(const Word<Value> (&table)[kSize], const Value& value) {
  for (const Word<Value>& row : table) {
    if (row.value == value) return row.word;
  }
  return table[0].word;
}

template <class Value, size_t kSize>
std::optional<Value> value_of(const Word<Value> (&table)[kSize], std::string_view word) {
  for (const Word<Value>& row : table) {
    if (row.word == word) return row.value;
  }
  return std::nullopt;
}

}  // namespace tilec::dsl
