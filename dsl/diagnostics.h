// Every complaint the language can make is a row of one table: a stable code and what it means.
// For each row tests/dsl/must_fail/ holds an input that draws it and the text it renders to.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dsl/error.h"

namespace tilec::dsl {

enum class Fault {
  // reading
  missing_file,
  unreadable_file,
  source_too_large,
  not_text,
  empty_spec,
  too_many_faults,
  // words and grammar
  unexpected_character,
  malformed_number,
  number_too_large,
  unknown_clause,
  unknown_word,
  expected_number,
  expected_word,
  expected_cross,
  clause_twice,
  unterminated_block,
  expected_block,
  stray_token,
  clause_outside_kernel,
  bad_kernel_name,
  reserved_kernel_name,
  duplicate_kernel,
  // expressions
  expected_operand,
  unknown_operand,
  unclosed_parenthesis,
  division,
  expression_too_deep,
  expression_too_long,
  constant_too_large,
  // spaces
  malformed_set,
  range_backwards,
  set_too_long,
  space_too_large,
  set_in_spec,
  // understood, not built
  mma_not_built,
  tma_not_built,
  cluster_not_built,
  roles_not_built,
  type_not_built,
  accumulate_not_built,
  output_not_built,
  bias_not_built,
  activation_not_built,
  // rules
  missing_tile,
  unknown_target,
  out_of_range,
  vector_not_a_power,
  shared_twice,
  warp_does_not_divide_tile,
  thread_does_not_divide_warp,
  thread_does_not_divide_tile,
  warp_not_32_lanes,
  lanes_need_warp,
  stream_k_alone,
  staged_store_no_room,
  cluster_needs_target,
  cluster_shares_k,
  cluster_one_tile,
  lanes_disagree,
  too_many_threads,
  vector_does_not_divide,
  shared_vector_too_wide,
  padding_breaks_vector,
  swizzle_not_power_of_two,
  copy_none_stages,
  copy_none_shared,
  shared_over_limit,
  parts_over_limit,
  registers_impossible,
  blocks_per_sm_impossible,
  unroll_over_budget,
  // shapes
  malformed_shape,
  extent_out_of_range,
  shape_not_tiled,
  grid_over_limit,
};

/// What draws a fault: a spec, a space, a shape, or the argument itself before any text is read.
enum class DrawnBy { spec, space, shape, argument };

struct FaultRow {
  Fault fault;
  std::string_view code;  // stable; the name of its file in tests/dsl/must_fail/
  DrawnBy drawn_by;
  std::string_view meaning;  // one line
};

std::span<const FaultRow> fault_rows();
const FaultRow& row_of(Fault fault);

Diagnostic diagnose(Fault fault, Span span, std::string message, std::string help = "");

/// A user's error about `source`, its findings sorted by place and cut off after `kMostFaults`.
Error user_error(const Source& source, std::vector<Diagnostic> diagnostics);

inline constexpr size_t kMostFaults = 20;

}  // namespace tilec::dsl
