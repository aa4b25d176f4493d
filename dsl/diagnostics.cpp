#include "dsl/diagnostics.h"

#include <array>
#include <map>

namespace tilec::dsl {
namespace {

using enum DrawnBy;

constexpr auto kRows = std::to_array<FaultRow>({
    {Fault::missing_file, "missing-file", argument, "there is no file of that name"},
    {Fault::unreadable_file, "unreadable-file", argument, "the file is there but cannot be read"},
    {Fault::source_too_large, "source-too-large", argument, "the text is longer than 1 MiB"},
    {Fault::not_text, "not-text", spec, "the input is binary: a NUL, or not UTF-8"},
    {Fault::empty_spec, "empty-spec", spec, "there is no clause at all"},
    {Fault::too_many_faults, "too-many-faults", spec, "the rest of the faults is left out"},

    {Fault::unexpected_character, "unexpected-character", spec, "no token begins so"},
    {Fault::malformed_number, "malformed-number", spec, "digits with something stuck to them"},
    {Fault::number_too_large, "number-too-large", spec, "the number does not fit 64 bits"},
    {Fault::unknown_clause, "unknown-clause", spec, "no clause has that name"},
    {Fault::unknown_word, "unknown-word", spec, "the clause does not know that word"},
    {Fault::expected_number, "expected-number", spec, "a whole number has to stand here"},
    {Fault::expected_word, "expected-word", spec, "one of the clause's words has to stand here"},
    {Fault::expected_cross, "expected-cross", spec, "an `x` has to stand between two extents"},
    {Fault::clause_twice, "clause-twice", spec, "a clause stands at most once"},
    {Fault::unterminated_block, "unterminated-block", spec, "a kernel's `}` is missing"},
    {Fault::expected_block, "expected-block", spec, "a kernel's `{` is missing"},
    {Fault::stray_token, "stray-token", spec, "a clause was expected"},
    {Fault::clause_outside_kernel, "clause-outside-kernel", spec,
     "a file with kernels holds clauses only inside them"},
    {Fault::bad_kernel_name, "bad-kernel-name", spec, "a kernel's name is an identifier"},
    {Fault::reserved_kernel_name, "reserved-kernel-name", spec,
     "the name means something to the language or to PTX"},
    {Fault::duplicate_kernel, "duplicate-kernel", spec, "two kernels have one name"},

    {Fault::expected_operand, "expected-operand", spec, "an operand has to stand here"},
    {Fault::unknown_operand, "unknown-operand", spec, "an epilogue knows no such name"},
    {Fault::unclosed_parenthesis, "unclosed-parenthesis", spec, "a `)` is missing"},
    {Fault::division, "division", spec, "an epilogue does not divide"},
    {Fault::expression_too_deep, "expression-too-deep", spec, "too many levels of nesting"},
    {Fault::expression_too_long, "expression-too-long", spec, "too many terms"},
    {Fault::constant_too_large, "constant-too-large", spec, "the number does not fit f32"},

    {Fault::malformed_set, "malformed-set", space, "a set is `{1,2,4}` or `{2..5}`"},
    {Fault::range_backwards, "range-backwards", space, "a range runs from low to high"},
    {Fault::set_too_long, "set-too-long", space, "a set has too many members"},
    {Fault::space_too_large, "space-too-large", space, "the space has too many members"},
    {Fault::set_in_spec, "set-in-spec", spec, "a spec has one value where a space has a set"},

    {Fault::mma_not_built, "mma-not-built", spec, "tensor-core kernels are not built yet"},
    {Fault::tma_not_built, "tma-not-built", spec, "the bulk copy engine is not built yet"},
    {Fault::cluster_not_built, "cluster-not-built", spec,
     "clusters along M and N are not built yet"},
    {Fault::roles_not_built, "roles-not-built", spec, "warp specialisation is not built yet"},
    {Fault::type_not_built, "type-not-built", spec, "operands other than f32 are not built yet"},
    {Fault::accumulate_not_built, "accumulate-not-built", spec,
     "accumulators other than f32 are not built yet"},
    {Fault::output_not_built, "output-not-built", spec, "output other than f32 is not built yet"},
    {Fault::bias_not_built, "bias-not-built", spec, "a bias is not built yet"},
    {Fault::activation_not_built, "activation-not-built", spec,
     "relu, gelu and silu are not built yet"},

    {Fault::missing_tile, "missing-tile", spec, "every spec says its tile"},
    {Fault::unknown_target, "unknown-target", spec, "no such machine is known"},
    {Fault::out_of_range, "out-of-range", spec, "the number is outside what the clause takes"},
    {Fault::vector_not_a_power, "vector-not-a-power", spec, "an access is 1, 2 or 4 elements wide"},
    {Fault::shared_twice, "shared-twice", spec, "one operand's layout is said twice"},
    {Fault::warp_does_not_divide_tile, "warp-does-not-divide-tile", spec,
     "warp tiles have to fill the block tile"},
    {Fault::thread_does_not_divide_warp, "thread-does-not-divide-warp", spec,
     "thread tiles have to fill the warp tile"},
    {Fault::thread_does_not_divide_tile, "thread-does-not-divide-tile", spec,
     "thread tiles have to fill the block tile"},
    {Fault::warp_not_32_lanes, "warp-not-32-lanes", spec, "a warp has 32 lanes"},
    {Fault::lanes_need_warp, "lanes-need-warp", spec,
     "lanes of a warp are interleaved, not threads of a block"},
    {Fault::stream_k_alone, "stream-k-alone", spec,
     "stream_k deals tiles and K to blocks, and leaves nothing for another clause to deal"},
    {Fault::staged_store_no_room, "staged-store-no-room", spec,
     "rows of C pass through the slices' shared memory, a warp's 32 lanes side by side"},
    {Fault::cluster_needs_target, "cluster-needs-target", spec, "the target has no clusters"},
    {Fault::cluster_shares_k, "cluster-shares-k", spec,
     "a cluster is the blocks that share K of one tile"},
    {Fault::cluster_one_tile, "cluster-one-tile", spec, "blocks of a cluster compute one tile"},
    {Fault::lanes_disagree, "lanes-disagree", spec,
     "the lane grid is not the one that the tiles make"},
    {Fault::too_many_threads, "too-many-threads", spec, "a block has at most 1024 threads"},
    {Fault::vector_does_not_divide, "vector-does-not-divide", spec,
     "an operand's rows are no multiple of the vector"},
    {Fault::shared_vector_too_wide, "shared-vector-too-wide", spec,
     "no fragment is as wide as the shared vector"},
    {Fault::padding_breaks_vector, "padding-breaks-vector", spec,
     "padded rows are no multiple of the vector"},
    {Fault::swizzle_not_power_of_two, "swizzle-not-power-of-two", spec,
     "a swizzled row has a power of two of vectors"},
    {Fault::copy_none_stages, "copy-none-stages", spec, "without shared memory there is one stage"},
    {Fault::copy_none_shared, "copy-none-shared", spec,
     "without shared memory nothing is said about it"},
    {Fault::shared_over_limit, "shared-over-limit", spec,
     "the slices do not fit the target's shared memory"},
    {Fault::parts_over_limit, "parts-over-limit", spec,
     "a part of the tile does not fit the target's shared memory"},
    {Fault::registers_impossible, "registers-impossible", spec,
     "the thread tile does not fit the registers a thread can have"},
    {Fault::blocks_per_sm_impossible, "blocks-per-sm-impossible", spec,
     "so many blocks do not fit one SM"},
    {Fault::unroll_over_budget, "unroll-over-budget", spec,
     "the unrolled body of the loop would be too long"},

    {Fault::malformed_shape, "malformed-shape", shape, "a shape is MxNxK, or one number"},
    {Fault::extent_out_of_range, "extent-out-of-range", shape, "an extent is 0 to 2147483647"},
    {Fault::shape_not_tiled, "shape-not-tiled", shape,
     "`edges exact` takes only shapes that the tile divides"},
    {Fault::grid_over_limit, "grid-over-limit", shape, "a grid has at most 2147483647 blocks"},
});

}  // namespace

std::span<const FaultRow> fault_rows() {
  return kRows;
}

const FaultRow& row_of(Fault fault) {
  return kRows[static_cast<size_t>(fault)];
}

Diagnostic diagnose(Fault fault, Span span, std::string message, std::string help) {
  return {std::string(row_of(fault).code), span, std::move(message), std::move(help)};
}

Error user_error(const Source& source, std::vector<Diagnostic> diagnostics) {
  std::multimap<uint32_t, Diagnostic> by_place;  // findings of one place keep their order
  for (Diagnostic& found : diagnostics) by_place.emplace(found.span.begin, std::move(found));
  diagnostics.clear();
  for (auto& [place, found] : by_place) diagnostics.push_back(std::move(found));
  if (diagnostics.size() > kMostFaults) {
    Span span = diagnostics[kMostFaults].span;
    diagnostics.resize(kMostFaults);
    diagnostics.push_back(
        diagnose(Fault::too_many_faults, span, "there are more faults from here on"));
  }
  Error error;
  error.diagnostics = std::move(diagnostics);
  error.source = source;
  return error;
}

}  // namespace tilec::dsl
