// Copies of slices: load, put and async.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kElementBytes = 4;

}  // namespace

// Vector access `pass` of this thread, by the map of dsl/derive.h.
Emitter::Access Emitter::access(const ir::Storage& operand, int pass) {
  const dsl::CopyMap map = ir::copy_map(kernel_, operand);
  const int threads = kernel_.map.threads();
  const int across = map.columns / map.vector;
  Access out{nullptr, nullptr, nullptr};
  if (threads % across == 0) {
    // Each pass moves down by whole rows: the column is the same for all.
    out.row = builder_.CreateAdd(builder_.CreateUDiv(thread_, i32(across)),
                                 i32(int64_t{pass} * (threads / across)));
    out.column = scaled(builder_.CreateURem(thread_, i32(across)), map.vector);
  } else {
    Value* number = builder_.CreateAdd(thread_, i32(int64_t{pass} * threads));
    out.row = builder_.CreateUDiv(number, i32(across));
    out.column = scaled(builder_.CreateURem(number, i32(across)), map.vector);
  }
  if ((pass + 1) * threads > map.rows * across)
    out.active = builder_.CreateICmpULT(out.row, i32(map.rows));
  return out;
}

// Address of an unguarded access. Passes of even rows follow each other by one step; a thread that
// is idle in the last pass reads its first access again.
llvm::Value* Emitter::slice_pointer(const ir::Op& op, int pass) {
  const ir::Storage& s = kernel_.at(op.from);
  const Operand& from = operand(op.from);
  Value* slice = nullptr;
  const auto loop = loops_.find(op.from_index.variable);
  if (loop != loops_.end())
    for (const Walk& walk : loop->second.walks)
      if (walk.operand == op.from && walk.offset == op.from_index.offset) slice = walk.pointer;
  if (slice == nullptr) {
    Value* number = value(op.from_index);
    if (op.kind == ir::OpKind::load && op.when.kind == ir::ConditionKind::less)
      number = builder_.CreateSelect(condition(op.when), number, i32(0));
    slice = advance(from.first, builder_.CreateMul(wide(number), from.slice_step));
  }
  if (pass == 0) return slice;
  Value* step = nullptr;
  const Access here = access(s, pass);
  if (from.pass_step != nullptr) {
    step = scaled(from.pass_step, pass);
  } else {
    const Access first = access(s, 0);
    Value* rows =
        builder_.CreateSExt(builder_.CreateSub(here.row, first.row), builder_.getInt64Ty());
    Value* columns =
        builder_.CreateSExt(builder_.CreateSub(here.column, first.column), builder_.getInt64Ty());
    step = builder_.CreateAdd(builder_.CreateMul(rows, from.leading), columns);
  }
  if (here.active != nullptr) step = builder_.CreateSelect(here.active, step, i64(0));
  return advance(slice, step);
}

void Emitter::load(const ir::Op& op) {
  const ir::Storage& s = kernel_.at(op.from);
  const Operand& from = operand(op.from);
  const dsl::CopyMap map = ir::copy_map(kernel_, s);
  Values& out = values(op.to);
  out.clear();
  for (int pass = 0; pass < map.passes; ++pass) {
    if (op.guard) {
      const auto [row, column] = matrix_position(op, access(s, pass));
      Value* room = room_in_row(from, row, column);
      Value* line = element_pointer(from, row, column);
      for (int e = 0; e < map.vector; ++e) out.push_back(read_if(room, e, line, true));
      continue;
    }
    Value* loaded =
        builder_.CreateAlignedLoad(vector_type(map.vector), slice_pointer(op, pass),
                                   llvm::Align(static_cast<uint64_t>(map.vector) * kElementBytes));
    for (int e = 0; e < map.vector; ++e)
      out.push_back(map.vector == 1
                        ? loaded
                        : builder_.CreateExtractElement(loaded, static_cast<uint64_t>(e)));
  }
}

// Row and column in the matrix of an access of the slice that `op` reads.
std::pair<llvm::Value*, llvm::Value*> Emitter::matrix_position(const ir::Op& op,
                                                               const Access& here) {
  const ir::Storage& s = kernel_.at(op.from);
  const Operand& from = operand(op.from);
  Value* k = builder_.CreateAdd(scaled(value(op.from_index), kernel_.tile_k), first_k_);
  Value* row = s.row_axis == ir::Axis::k ? k : from.row_origin;
  Value* column = s.column_axis == ir::Axis::k ? k : from.column_origin;
  return {builder_.CreateAdd(row, here.row), builder_.CreateAdd(column, here.column)};
}

// Where element (row, column) of a slice, as stored in global memory, lies in the ring.
llvm::Value* Emitter::ring_pointer(const ir::Storage& operand, const ir::Op& op, Value* row,
                                   Value* column, int column_offset) {
  const ir::Storage& ring = kernel_.at(op.to);
  const bool k_is_row = operand.row_axis == ir::Axis::k;
  Value* at = column_offset == 0 ? column : builder_.CreateAdd(column, i32(column_offset));
  return k_is_row ? shared_pointer(op.to, slot(ring, op.to_index), row, column, column_offset)
                  : shared_pointer(op.to, slot(ring, op.to_index), at, row, 0);
}

void Emitter::put(const ir::Op& op) {
  const ir::Storage& ring = kernel_.at(op.to);
  const ir::Storage& operand = operand_of(ring);
  const dsl::CopyMap map = ir::copy_map(kernel_, operand);
  const bool turned = ring.column_axis != operand.column_axis;
  const int width = turned ? 1 : std::min(map.vector, shared_width(ring));
  const Values& in = values(op.from);
  for (int pass = 0; pass < map.passes; ++pass) {
    const Access here = access(operand, pass);
    only_if(here.active, [&] {
      for (int e = 0; e < map.vector; e += width) {
        Value* stored = vector_of(llvm::ArrayRef(in).slice(
            static_cast<size_t>(pass * map.vector + e), static_cast<size_t>(width)));
        builder_.CreateAlignedStore(stored, ring_pointer(operand, op, here.row, here.column, e),
                                    llvm::Align(static_cast<uint64_t>(width) * kElementBytes));
      }
    });
  }
}

// Guarded, an async copy brings single elements, and zeros for those outside. Where `when` does not
// hold it brings zeros alone.
void Emitter::async(const ir::Op& op) {
  const ir::Storage& ring = kernel_.at(op.to);
  const ir::Storage& s = kernel_.at(op.from);
  const Operand& from = operand(op.from);
  const dsl::CopyMap map = ir::copy_map(kernel_, s);
  const bool turned = ring.column_axis != s.column_axis;
  const int width = turned || op.guard ? 1 : std::min(map.vector, shared_width(ring));
  const int bytes = width * kElementBytes;
  for (int pass = 0; pass < map.passes; ++pass) {
    const Access here = access(s, pass);
    only_if(here.active, [&] {
      for (int e = 0; e < map.vector; e += width) {
        Value* to = ring_pointer(s, op, here.row, here.column, e);
        if (op.guard) {
          const auto [row, column] = matrix_position(op, here);
          Value* in = builder_.CreateICmpUGT(room_in_row(from, row, column), i32(e));
          Value* line = builder_.CreateSelect(in, element_pointer(from, row, column), from.base);
          async_access(to, advance(line, builder_.CreateSelect(in, i64(e), i64(0))), bytes,
                       builder_.CreateSelect(in, i32(bytes), i32(0)));
        } else {
          Value* source = advance(slice_pointer(op, pass), i64(e));
          async_access(to, source, bytes,
                       op.when.kind == ir::ConditionKind::none
                           ? nullptr
                           : builder_.CreateSelect(condition(op.when), i32(bytes), i32(0)));
        }
      }
    });
  }
}

// 16 bytes go past L1 (.cg); less can only go through it (.ca). `source_bytes` null: all of them.
void Emitter::async_access(Value* to, Value* from, int bytes, Value* source_bytes) {
  struct Row {
    int bytes;
    unsigned plain;
    unsigned sized;
  };
  static constexpr Row rows[] = {
      {4, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4,
       llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s},
      {8, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8,
       llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s},
      {16, llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16,
       llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s},
  };
  for (const Row& row : rows) {
    if (row.bytes != bytes) continue;
    if (source_bytes == nullptr) {
      builder_.CreateIntrinsic(builder_.getVoidTy(), row.plain, {to, from});
    } else {
      builder_.CreateIntrinsic(builder_.getVoidTy(), row.sized, {to, from, source_bytes});
    }
  }
}

}  // namespace tilec::codegen
