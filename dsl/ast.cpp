#include "dsl/ast.h"

#include <array>

namespace tilec::dsl {
namespace {

using enum ClauseKind;

constexpr auto kRows = std::to_array<ClauseRow>({
    {tile, "tile", "MxN or MxNxK", "tile 128x128x8"},
    {warp, "warp", "MxN", "warp 64x32"},
    {thread, "thread", "MxN", "thread 8x8"},
    {mma, "mma", "MxNxK", "mma 16x8x8"},
    {stages, "stages", "N", "stages 2"},
    {copy, "copy", "none, register, async or tma", "copy async"},
    {vector, "vector", "[at_most] N, or global [at_most] N shared [at_most] N",
     "vector global 4 shared 2"},
    {lanes, "lanes", "rows or columns, the lane grid MxN, or both", "lanes columns 8x4"},
    {fragment, "fragment", "whole or split", "fragment split"},
    {shared, "shared", "[a or b] plain, transposed, padded N, swizzled",
     "shared a transposed padded 4 b plain"},
    {blocks_per_sm, "blocks_per_sm", "N", "blocks_per_sm 2"},
    {registers, "registers", "N", "registers 128"},
    {raster, "raster", "rows, columns or swizzle N", "raster swizzle 8"},
    {split_k, "split_k", "N", "split_k 4"},
    {stream_k, "stream_k", "", "stream_k"},
    {persistent, "persistent", "", "persistent"},
    {staged_store, "staged_store", "", "staged_store"},
    {cluster, "cluster", "MxN or MxNxK", "cluster 1x1x4"},
    {roles, "roles", "producer P consumer C", "roles producer 1 consumer 2"},
    {type, "type", "f32, f16, bf16, tf32, f8e4m3, f8e5m2, s8 or f64", "type f32"},
    {accumulate, "accumulate", "a type", "accumulate f32"},
    {output, "output", "a type", "output f32"},
    {layout, "layout", "nn, nt, tn or tt", "layout nt"},
    {epilogue, "epilogue", "an expression over acc, c, alpha, beta", "epilogue alpha*acc + beta*c"},
    {edges, "edges", "guard or exact", "edges exact"},
    {sass, "sass", "on or off", "sass off"},
    {target, "target", "a machine", "target sm_90a"},
});
static_assert(kRows.size() == kClauseCount);

constexpr std::array<std::string_view, kClauseCount> make_words() {
  std::array<std::string_view, kClauseCount> words;
  for (size_t i = 0; i < kClauseCount; ++i) words[i] = kRows[i].word;
  return words;
}
constexpr std::array<std::string_view, kClauseCount> kWords = make_words();

}  // namespace

std::span<const ClauseRow> clause_rows() {
  return kRows;
}

const ClauseRow& row_of(ClauseKind kind) {
  return kRows[static_cast<size_t>(kind)];
}

std::span<const std::string_view> clause_words() {
  return kWords;
}

std::optional<ClauseKind> find_clause(std::string_view word) {
  for (const ClauseRow& row : kRows) {
    if (row.word == word) return row.kind;
  }
  return std::nullopt;
}

const Slot* Clause::find(Role role) const {
  for (const Slot& slot : slots) {
    if (slot.role == role) return &slot;
  }
  return nullptr;
}

const Clause* SpecAst::find(ClauseKind kind) const {
  for (const Clause& clause : clauses) {
    if (clause.kind == kind) return &clause;
  }
  return nullptr;
}

}  // namespace tilec::dsl
