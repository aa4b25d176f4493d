#include "compiler/passes/build_kernel.h"

#include <algorithm>
#include <numeric>

#include "compiler/passes/make_ops.h"
#include "dsl/defaults.h"

namespace tilec::passes {
namespace {

using ir::Axis;
using ir::Storage;

Storage global(const std::string& name, Axis row, Axis column, int vector) {
  return {.name = name, .row_axis = row, .column_axis = column, .vector = vector};
}

Storage ring(const std::string& name, bool operand_a, const dsl::Spec& spec) {
  const dsl::SliceMap map = dsl::slice_map(spec, operand_a);
  const Axis other = operand_a ? Axis::m : Axis::n;
  return {.name = name,
          .space = ir::Space::shared,
          .row_axis = map.rows_are_k ? Axis::k : other,
          .column_axis = map.rows_are_k ? other : Axis::k,
          .rows = map.rows,
          .columns = map.row_length,
          .vector = spec.vector_shared,
          .stages = spec.stages,
          .stride = map.row_stride,
          .swizzle = map.groups > 0 ? map.group : 0};
}

Storage registers(const std::string& name, int rows, Axis row = Axis::none, int columns = 1,
                  Axis column = Axis::none) {
  return {.name = name,
          .space = ir::Space::registers,
          .row_axis = row,
          .column_axis = column,
          .rows = rows,
          .columns = columns};
}

// Elements per access of a global operand, at most.
int vector_a(const dsl::Spec& spec, const dsl::Derived& derived) {
  return spec.copy == dsl::CopyMode::none ? derived.fragment_vector_a : derived.copy_a.vector;
}

int vector_b(const dsl::Spec& spec, const dsl::Derived& derived) {
  return spec.copy == dsl::CopyMode::none ? derived.fragment_vector_b : derived.copy_b.vector;
}

// Elements of a row of C that a thread of the sum takes; a tile has whole ones.
int vector_of_sum(const dsl::Spec& spec) {
  return spec.stream_k ? dsl::widest_vector(dsl::kWidestVector, spec.tile.n) : dsl::kWidestVector;
}

// A tile begins where the vectors of A or B do that is contiguous along the axis.
ir::StreamK stream_of(const dsl::Spec& spec, const dsl::Derived& derived) {
  const int along_m = spec.layout.a_transposed ? vector_a(spec, derived) : 1;
  const int along_n = spec.layout.b_transposed ? 1 : vector_b(spec, derived);
  return {spec.tile, spec.tile_k, {along_m, along_n}};
}

ir::Kernel head(const dsl::Spec& spec, const dsl::Derived& derived, dsl::Batch batch) {
  ir::Kernel kernel;
  kernel.name = spec.name;
  kernel.target = spec.target;
  kernel.blocks_per_sm = spec.blocks_per_sm;
  kernel.registers = spec.registers;
  kernel.exact = spec.edges == dsl::Edges::exact;
  kernel.tile = spec.tile;
  kernel.tile_k = spec.tile_k;
  kernel.raster = spec.raster;
  kernel.split_k = spec.split_k;
  kernel.cluster = spec.cluster > 1;
  if (spec.stream_k) kernel.stream = stream_of(spec, derived);
  kernel.persistent = spec.persistent;
  kernel.staged_store = spec.staged_store;
  kernel.batch = batch;
  kernel.map = {.warps = derived.warp_grid,
                .lanes = {derived.m.lanes, derived.n.lanes},
                .order = spec.lanes,
                .each = spec.thread,
                .pieces = {derived.m.piece, derived.n.piece}};
  return kernel;
}

// Adds storages to the kernel, and says by which id.
auto adder(ir::Kernel& kernel) {
  return [&kernel](Storage storage) {
    kernel.storage.push_back(std::move(storage));
    return static_cast<ir::Id>(kernel.storage.size()) - 1;
  };
}

// Where the accumulators go: to C; or, where blocks share K, a part of C to a workspace; with
// stream_k to the one or the other. A cluster adds up its parts itself, by way of an exchange.
struct Results {
  ir::Id c = -1;
  ir::Id w = -1;
  ir::Id exchange = -1;
};

Results add_results(ir::Kernel& kernel, const dsl::Spec& spec, int vector_c) {
  const auto add = adder(kernel);
  Results out;
  const bool part = spec.leaves_parts() && !spec.stream_k;
  if (!part) out.c = add(global("c", Axis::m, Axis::n, vector_c));
  if (spec.cluster > 1)
    out.exchange = add({.name = "x",
                        .space = ir::Space::exchange,
                        .row_axis = Axis::m,
                        .column_axis = Axis::n,
                        .rows = spec.tile.m,
                        .columns = spec.tile.n,
                        .vector = dsl::widest_vector(dsl::kWidestVector, kernel.map.pieces.n)});
  if (!spec.leaves_parts()) return out;
  Storage workspace = global("w", Axis::m, Axis::n, spec.stream_k ? vector_of_sum(spec) : vector_c);
  workspace.parts = spec.split_k;
  workspace.stretches = spec.stream_k;
  out.w = add(std::move(workspace));
  return out;
}

ir::Block store_results(const Results& results, ir::Id acc, const dsl::Expression& epilogue) {
  if (results.exchange >= 0)
    return {make_share(results.exchange, acc),
            make_reduce(results.c, results.exchange, epilogue, true)};
  ir::Op part = make_store(results.w, acc, dsl::Expression{}, true);
  ir::Op whole = make_store(results.c, acc, epilogue, true);
  if (results.c < 0) return {part};
  if (results.w < 0) return {whole};
  return {make_branch({.kind = ir::ConditionKind::in_parts}, {part}, {whole})};
}

}  // namespace

ir::Kernel build_kernel(const dsl::Spec& spec, const dsl::Derived& derived, dsl::Batch batch) {
  ir::Kernel kernel = head(spec, derived, batch);
  const auto add = adder(kernel);
  const dsl::OperandLayout& stored = spec.layout;
  const bool direct = spec.copy == dsl::CopyMode::none;
  const ir::Id a = add(global("a", stored.a_transposed ? Axis::k : Axis::m,
                              stored.a_transposed ? Axis::m : Axis::k, vector_a(spec, derived)));
  const ir::Id b = add(global("b", stored.b_transposed ? Axis::n : Axis::k,
                              stored.b_transposed ? Axis::k : Axis::n, vector_b(spec, derived)));
  const Results results = add_results(kernel, spec, derived.vector_c);

  const ir::Index i{"i", 0};
  ir::Block slice;
  ir::Id from_a = a;
  ir::Id from_b = b;
  if (!direct) {
    from_a = add(ring("sa", true, spec));
    from_b = add(ring("sb", false, spec));
    ir::Id via_a = -1;
    ir::Id via_b = -1;
    if (spec.copy == dsl::CopyMode::through_registers) {
      via_a = add(registers("ra", derived.copy_a.passes * derived.copy_a.vector));
      via_b = add(registers("rb", derived.copy_b.passes * derived.copy_b.vector));
    }
    slice.push_back(make_copy({from_a, i}, {a, i}, via_a, true));
    slice.push_back(make_copy({from_b, i}, {b, i}, via_b, true));
  }
  const ir::Id fa = add(registers("fa", spec.thread.m, Axis::m));
  const ir::Id fb = add(registers("fb", spec.thread.n, Axis::n));
  const ir::Id acc = add(registers("acc", spec.thread.m, Axis::m, spec.thread.n, Axis::n));

  const ir::Index k{"k", 0};
  slice.push_back(make_loop("k", {ir::BoundKind::number, 0}, {ir::BoundKind::number, spec.tile_k},
                            {make_fragment(fa, {from_a, i}, k, direct),
                             make_fragment(fb, {from_b, i}, k, direct), make_outer(acc, fa, fb)}));
  kernel.ops = {make_zero(acc),
                make_loop("i", {ir::BoundKind::number, 0}, {ir::BoundKind::slices, 0}, slice)};
  for (ir::Op& op : store_results(results, acc, spec.epilogue)) kernel.ops.push_back(std::move(op));
  return kernel;
}

ir::Kernel build_sum(const dsl::Spec& spec, const dsl::Derived& derived, dsl::Batch batch) {
  // One row of a block is a warp of 32 lanes, each with a vector of C; fewer where a tile, which
  // blocks of a stretch have to fill, is narrower.
  constexpr int kLanes = 32;
  constexpr int kMostRows = 8;
  const int vector = vector_of_sum(spec);
  const int lanes = spec.stream_k ? std::gcd(kLanes, spec.tile.n / vector) : kLanes;
  ir::Kernel kernel;
  kernel.name = spec.name + "_sum";
  kernel.target = spec.target;
  const int rows = dsl::widest_vector(kMostRows, spec.tile.m);
  kernel.tile = {rows, lanes * vector};
  kernel.tile_k = 1;
  kernel.batch = batch;
  kernel.map = {
      .warps = {rows, 1}, .lanes = {1, lanes}, .each = {1, vector}, .pieces = {1, vector}};
  if (spec.stream_k) {
    kernel.raster = spec.raster;
    kernel.stream = stream_of(spec, derived);
  }
  Storage parts = global("w", Axis::m, Axis::n, vector);
  parts.parts = spec.split_k;
  parts.stretches = spec.stream_k;
  const int vector_c = dsl::widest_vector(spec.vector_global, vector);
  kernel.storage = {parts, global("c", Axis::m, Axis::n, vector_c),
                    registers("acc", 1, Axis::m, vector, Axis::n)};
  constexpr ir::Id kParts = 0;
  constexpr ir::Id kC = 1;
  constexpr ir::Id kAcc = 2;
  kernel.ops = {make_sum(kAcc, kParts, true), make_store(kC, kAcc, spec.epilogue, true)};
  if (spec.stream_k)
    kernel.ops = {make_branch({.kind = ir::ConditionKind::in_parts}, std::move(kernel.ops), {})};
  return kernel;
}

}  // namespace tilec::passes
