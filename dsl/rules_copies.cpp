// Vectors, and the layout of slices in shared memory.
#include <algorithm>
#include <bit>

#include "dsl/defaults.h"
#include "dsl/rules.h"

namespace tilec::dsl {
namespace {

using enum ClauseKind;

// "A, whose slice is stored 128x6"
std::string operand_text(const Spec& spec, bool operand_a) {
  int length = global_row_length(spec, operand_a);
  int x = operand_a ? spec.tile.m : spec.tile.n;
  bool along_k = operand_a ? !spec.layout.a_transposed : spec.layout.b_transposed;
  return fmt::format("{}, whose slice is stored as {} rows of {} elements", operand_a ? "A" : "B",
                     along_k ? x : spec.tile_k, length);
}

// The width that padded rows of the operand must be a multiple of, as far as it was demanded.
int demanded_vector(const Subject& s, bool operand_a) {
  const Spec& spec = s.spec;
  bool turned = operand_a ? spec.shared_a.transposed : spec.shared_b.transposed;
  int demanded = 1;
  if (s.request.vector_global && s.request.vector_global->exact && !turned) {
    demanded = spec.vector_global;
  }
  if (s.request.vector_shared && s.request.vector_shared->exact &&
      slice_map(spec, operand_a).rows_are_k) {
    const FragmentAxis& axis = operand_a ? s.derived.m : s.derived.n;
    demanded = std::max(demanded, widest_vector(spec.vector_shared, axis.piece));
  }
  return demanded;
}

}  // namespace

Found vector_divides(const Subject& s) {
  if (!s.request.vector_global || !s.request.vector_global->exact) return {};
  int width = s.request.vector_global->width;
  if (s.spec.copy == CopyMode::none) {
    if (s.spec.thread.n % width == 0) return {};
    return Finding{
        vector,
        fmt::format("vector {} does not fit C: without shared memory a vector is part of a "
                    "thread's tile, and a thread has {} elements of C in a row",
                    width, s.spec.thread.n),
        fmt::format("`vector {}` fits", widest_vector(width, s.spec.thread.n))};
  }
  for (bool operand_a : {true, false}) {
    int length = global_row_length(s.spec, operand_a);
    if (length % width == 0) continue;
    int fits = std::min(widest_vector(width, global_row_length(s.spec, true)),
                        widest_vector(width, global_row_length(s.spec, false)));
    return Finding{vector,
                   fmt::format("vector {} does not fit {}: {} does not divide {}", width,
                               operand_text(s.spec, operand_a), width, length),
                   fmt::format("`vector {}` fits both operands; `vector at_most {}` takes for each "
                               "what fits it",
                               fits, width)};
  }
  return {};
}

Found shared_vector_narrow_enough(const Subject& s) {
  if (!s.request.vector_shared || !s.request.vector_shared->exact) return {};
  int width = s.request.vector_shared->width;
  int widest = widest_fragment_vector(s.spec.thread, kWidestVector);
  if (width <= widest || s.spec.copy == CopyMode::none) return {};
  return Finding{vector,
                 fmt::format("vector shared {} is wider than any fragment: thread tile {} is made "
                             "of vectors of at most {}",
                             width, text(s.spec.thread), widest),
                 fmt::format("`vector shared {}` fits", widest)};
}

Found padding_keeps_vector(const Subject& s) {
  if (s.spec.copy == CopyMode::none) return {};
  for (bool operand_a : {true, false}) {
    int padding = operand_a ? s.spec.shared_a.padding : s.spec.shared_b.padding;
    int vector_width = demanded_vector(s, operand_a);
    if (padding % vector_width == 0) continue;
    int length = slice_map(s.spec, operand_a).row_length;
    int nearest = (padding + vector_width - 1) / vector_width * vector_width;
    return Finding{shared,
                   fmt::format("padded {} makes rows of {} = {} + {} elements of {}, and accesses "
                               "of {} elements need a multiple of {}",
                               padding, length + padding, length, padding, operand_a ? "A" : "B",
                               vector_width, vector_width),
                   fmt::format("`padded {}` does", nearest)};
  }
  return {};
}

Found swizzle_has_power_of_two(const Subject& s) {
  if (s.spec.copy == CopyMode::none) return {};
  for (bool operand_a : {true, false}) {
    SliceMap map = slice_map(s.spec, operand_a);
    bool swizzled = operand_a ? s.spec.shared_a.swizzled : s.spec.shared_b.swizzled;
    if (!swizzled || std::has_single_bit(static_cast<unsigned>(map.groups))) continue;
    return Finding{shared,
                   fmt::format("a swizzled row is a power of two of vectors: a row of {} is {} "
                               "elements = {} vectors of {}",
                               operand_a ? "A" : "B", map.row_length, map.groups, map.group),
                   "`padded 4` takes rows of any length"};
  }
  return {};
}

Found copy_none_has_one_stage(const Subject& s) {
  if (s.spec.copy != CopyMode::none || s.spec.stages == 1) return {};
  return Finding{stages,
                 fmt::format("copy none keeps nothing in shared memory, so there are no {} stages",
                             s.spec.stages),
                 "`stages 1`, or another `copy`"};
}

Found copy_none_says_nothing_of_shared(const Subject& s) {
  if (s.spec.copy != CopyMode::none) return {};
  auto finding = [](ClauseKind clause, std::string_view what) {
    return Finding{
        clause, fmt::format("copy none keeps nothing in shared memory, so `{}` says nothing", what),
        "leave it out, or take another `copy`"};
  };
  if (s.request.shared_a.any() || s.request.shared_b.any()) return finding(shared, "shared");
  if (s.request.fragment == FragmentShape::split) return finding(fragment, "fragment split");
  const auto& width = s.request.vector_shared;
  if (width && width->exact && width->width > 1) return finding(vector, "vector shared");
  return {};
}

}  // namespace tilec::dsl
