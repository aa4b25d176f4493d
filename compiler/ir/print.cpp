#include <fmt/format.h>

#include "compiler/ir/text.h"

namespace tilec::ir {
namespace {

const char* axis_name(Axis axis) {
  switch (axis) {
    case Axis::m:
      return "m";
    case Axis::n:
      return "n";
    case Axis::k:
      return "k";
    case Axis::none:
      return "";
  }
  return "";
}

std::string to_text(const Index& index) {
  if (index.variable.empty()) return fmt::format("{}", index.offset);
  if (index.offset == 0) return index.variable;
  return fmt::format("{} + {}", index.variable, index.offset);
}

std::string to_text(const Bound& bound) {
  switch (bound.kind) {
    case BoundKind::full:
      return "full";
    case BoundKind::slices:
      return "slices";
    case BoundKind::number:
      return fmt::format("{}", bound.number);
  }
  return "";
}

std::string to_text(const Condition& condition) {
  switch (condition.kind) {
    case ConditionKind::whole:
      return "whole";
    case ConditionKind::beta_is_zero:
      return "beta_is_zero";
    case ConditionKind::in_parts:
      return "in_parts";
    case ConditionKind::less:
      return fmt::format("{} < {}", to_text(condition.left), to_text(condition.right));
    case ConditionKind::none:
      return "";
  }
  return "";
}

std::string to_text(const Storage& s) {
  switch (s.space) {
    case Space::global:
      return fmt::format("global {}[{}, {}] vector {}{}", s.name, axis_name(s.row_axis),
                         axis_name(s.column_axis), s.vector,
                         s.parts > 1   ? fmt::format(" parts {}", s.parts)
                         : s.stretches ? " stretches"
                                       : "");
    case Space::shared:
      return fmt::format("shared {}[{} {}, {} {}] stages {} stride {} vector {}{}", s.name,
                         axis_name(s.row_axis), s.rows, axis_name(s.column_axis), s.columns,
                         s.stages, s.stride, s.vector,
                         s.swizzle > 0 ? fmt::format(" swizzle {}", s.swizzle) : "");
    case Space::exchange:
      return fmt::format("exchange {}[{} {}, {} {}] vector {}", s.name, axis_name(s.row_axis),
                         s.rows, axis_name(s.column_axis), s.columns, s.vector);
    case Space::registers:
      if (s.row_axis == Axis::none) return fmt::format("register {}[{}]", s.name, s.rows);
      if (s.column_axis == Axis::none)
        return fmt::format("register {}[{} {}]", s.name, axis_name(s.row_axis), s.rows);
      return fmt::format("register {}[{} {}, {} {}]", s.name, axis_name(s.row_axis), s.rows,
                         axis_name(s.column_axis), s.columns);
  }
  return "";
}

void print_block(std::string& out, const Kernel& kernel, const Block& block, int depth) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  for (const Op& op : block) {
    out += indent + to_text(kernel, op) + "\n";
    if (op.kind != OpKind::loop && op.kind != OpKind::branch) continue;
    print_block(out, kernel, op.body, depth + 1);
    if (!op.otherwise.empty()) {
      out += indent + "} else {\n";
      print_block(out, kernel, op.otherwise, depth + 1);
    }
    out += indent + "}\n";
  }
}

std::string to_text(const dsl::Raster& raster) {
  switch (raster.order) {
    case dsl::RasterOrder::rows:
      return "rows";
    case dsl::RasterOrder::columns:
      return "columns";
    case dsl::RasterOrder::swizzle:
      return fmt::format("swizzle {}", raster.width);
  }
  return "";
}

std::string_view to_text(dsl::LaneOrder order) {
  switch (order) {
    case dsl::LaneOrder::rows:
      return "rows";
    case dsl::LaneOrder::columns:
      return "columns";
    case dsl::LaneOrder::interleaved:
      return "interleaved";
  }
  return "";
}

// What says which slices of K a block takes.
std::string share_text(const Kernel& kernel) {
  if (kernel.split_k > 1)
    return fmt::format(" split_k {}{}", kernel.split_k, kernel.cluster ? " cluster" : "");
  if (!kernel.streams()) return "";
  const StreamK& stream = kernel.stream;
  return fmt::format(" stream_k {}x{}x{} starts {}x{}", stream.tile.m, stream.tile.n, stream.tile_k,
                     stream.starts.m, stream.starts.n);
}

std::string to_text(dsl::Batch batch) {
  switch (batch) {
    case dsl::Batch::none:
      return "";
    case dsl::Batch::strided:
      return " batch strided";
    case dsl::Batch::pointers:
      return " batch pointers";
  }
  return "";
}

}  // namespace

std::string to_text(const Kernel& kernel, const Op& op) {
  const auto name = [&](Id id) { return kernel.at(id).name; };
  const auto at = [&](Id id, const Index& index) {
    return fmt::format("{}[{}]", name(id), to_text(index));
  };
  const std::string when =
      op.when.kind == ConditionKind::none ? "" : fmt::format(" when {}", to_text(op.when));
  const std::string guard = op.guard ? " guard" : "";
  switch (op.kind) {
    case OpKind::zero:
      return fmt::format("zero {}", name(op.to));
    case OpKind::copy:
      return fmt::format("copy {} = {}{}{}", at(op.to, op.to_index), at(op.from, op.from_index),
                         op.via < 0 ? "" : " via " + name(op.via), guard);
    case OpKind::load:
      return fmt::format("load {} = {}{}{}", name(op.to), at(op.from, op.from_index), when, guard);
    case OpKind::put:
      return fmt::format("put {} = {}", at(op.to, op.to_index), name(op.from));
    case OpKind::async:
      return fmt::format("async {} = {}{}{}", at(op.to, op.to_index), at(op.from, op.from_index),
                         when, guard);
    case OpKind::commit:
      return "commit";
    case OpKind::wait:
      return fmt::format("wait {}", op.count);
    case OpKind::barrier:
      return "barrier";
    case OpKind::fragment:
      return fmt::format("fragment {} = {} at {}{}{}", name(op.to), at(op.from, op.from_index),
                         to_text(op.k), when, guard);
    case OpKind::outer:
      return fmt::format("outer {} += {} * {}", name(op.to), name(op.from), name(op.from_n));
    case OpKind::store:
    case OpKind::reduce:
      return fmt::format("{} {} = {} : {}{}", op.kind == OpKind::store ? "store" : "reduce",
                         name(op.to), name(op.from), dsl::to_string(op.epilogue), guard);
    case OpKind::share:
      return fmt::format("share {} = {}", name(op.to), name(op.from));
    case OpKind::cluster_barrier:
      return "cluster_barrier";
    case OpKind::depart:
      return "depart";
    case OpKind::sum:
      return fmt::format("sum {} = {}{}", name(op.to), name(op.from), guard);
    case OpKind::loop:
      return fmt::format("loop {} = {} to {}{} {{", op.variable, to_text(op.lower),
                         to_text(op.upper), op.count == 1 ? "" : fmt::format(" step {}", op.count));
    case OpKind::branch:
      return fmt::format("if {} {{", to_text(op.when));
  }
  return "";
}

int first_op_line(const Kernel& kernel) {
  constexpr int kHeadLines = 3;  // kernel, block, threads
  constexpr int kBlankLines = 1;
  return kHeadLines + static_cast<int>(kernel.storage.size()) + kBlankLines + 1;
}

std::string print(const Kernel& kernel) {
  std::string out = fmt::format("kernel {} target {}", kernel.name, kernel.target);
  if (kernel.blocks_per_sm > 0) out += fmt::format(" blocks_per_sm {}", kernel.blocks_per_sm);
  if (kernel.registers > 0) out += fmt::format(" registers {}", kernel.registers);
  if (kernel.exact) out += " exact";
  if (kernel.persistent) out += " persistent";
  if (kernel.staged_store) out += " staged_store";
  if (kernel.synchronised) out += " synchronised";
  out += " {\n";
  const ThreadMap& map = kernel.map;
  out +=
      fmt::format("  block {}x{}x{} raster {}{}{}\n", kernel.tile.m, kernel.tile.n, kernel.tile_k,
                  to_text(kernel.raster), share_text(kernel), to_text(kernel.batch));
  out += fmt::format("  threads warps {}x{} lanes {}x{} {} each {}x{} pieces {}x{}\n", map.warps.m,
                     map.warps.n, map.lanes.m, map.lanes.n, to_text(map.order), map.each.m,
                     map.each.n, map.pieces.m, map.pieces.n);
  for (const Storage& s : kernel.storage) out += "  " + to_text(s) + "\n";
  out += "\n";
  print_block(out, kernel, kernel.ops, 1);
  out += "}\n";
  return out;
}

}  // namespace tilec::ir
