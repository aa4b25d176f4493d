// Fragments and their products.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kElementBytes = 4;

ir::Axis other_axis(const ir::Storage& s) {
  return s.row_axis == ir::Axis::k ? s.column_axis : s.row_axis;
}

}  // namespace

// The global operand whose slices the ring holds.
const ir::Storage& Emitter::operand_of(const ir::Storage& ring) const {
  for (const ir::Storage& s : kernel_.storage)
    if (s.space == ir::Space::global &&
        (s.row_axis == ir::Axis::k || s.column_axis == ir::Axis::k) &&
        other_axis(s) == other_axis(ring))
      return s;
  return ring;  // the verifier has seen to it that there is one
}

// Elements that lie together and aligned: what one shared access may take, at most.
int Emitter::shared_width(const ir::Storage& ring) const {
  int width = ring.vector;
  while (width > 1 && (ring.stride % width != 0 || (ring.swizzle > 0 && ring.swizzle % width != 0)))
    width /= 2;
  return width;
}

// Element (k, x + x_offset) of a slot; the rule is ir::shared_offset. The constant comes last, so
// that it ends up in the instruction.
llvm::Value* Emitter::shared_pointer(ir::Id id, Value* slot, Value* k, Value* x, int x_offset) {
  const ir::Storage& ring = kernel_.at(id);
  const bool k_is_row = ring.row_axis == ir::Axis::k;
  Value* base = builder_.CreateConstGEP1_64(
      builder_.getFloatTy(), shared_, static_cast<uint64_t>(ring_base_[static_cast<size_t>(id)]));
  Value* start = scaled(slot, ir::slot_elements(ring));
  if (ring.swizzle == 0) {
    Value* thread = k_is_row ? x : scaled(x, ring.stride);
    Value* along_k = k_is_row ? scaled(k, ring.stride) : k;
    Value* fixed = builder_.CreateAdd(along_k, i32(k_is_row ? x_offset : x_offset * ring.stride));
    return advance(advance(advance(base, thread), start), fixed);
  }
  x = builder_.CreateAdd(x, i32(x_offset));
  Value* row = k_is_row ? k : x;
  Value* turn = scaled(builder_.CreateURem(row, i32(ring.columns / ring.swizzle)), ring.swizzle);
  Value* column = builder_.CreateXor(k_is_row ? x : k, turn);
  return advance(advance(base, start), builder_.CreateAdd(scaled(row, ring.stride), column));
}

void Emitter::fragment_from_ring(const ir::Op& op) {
  const ir::Storage& ring = kernel_.at(op.from);
  const bool along_m = other_axis(ring) == ir::Axis::m;
  const int count = along_m ? kernel_.map.each.m : kernel_.map.each.n;
  const int piece = along_m ? kernel_.map.pieces.m : kernel_.map.pieces.n;
  int width = ring.row_axis == ir::Axis::k ? shared_width(ring) : 1;
  while (piece % width != 0) width /= 2;
  Value* row = value(op.k);
  Value* at_slot = slot(ring, op.from_index);
  if (op.when.kind != ir::ConditionKind::none) {
    // Where the condition does not hold, the slot of this trip is as good: nobody writes it.
    const ir::Index here{op.from_index.variable, 0};
    at_slot = builder_.CreateSelect(condition(op.when), at_slot, slot(ring, here));
  }
  Values& out = values(op.to);
  out.clear();
  for (int i = 0; i < count; i += width) {
    Value* pointer = shared_pointer(op.from, at_slot, row, along_m ? thread_m_ : thread_n_,
                                    element_offset(along_m, i));
    Value* loaded = builder_.CreateAlignedLoad(
        vector_type(width), pointer, llvm::Align(static_cast<uint64_t>(width) * kElementBytes));
    for (int w = 0; w < width; ++w)
      out.push_back(width == 1 ? loaded
                               : builder_.CreateExtractElement(loaded, static_cast<uint64_t>(w)));
  }
}

// Offset of element i of the thread's tile from its first, along m or n.
int Emitter::element_offset(bool along_m, int i) const {
  const ir::ThreadMap& map = kernel_.map;
  const int piece = along_m ? map.pieces.m : map.pieces.n;
  const int stride = piece * (along_m ? map.lanes.m : map.lanes.n);
  return i / piece * stride + i % piece;
}

void Emitter::fragment_from_global(const ir::Op& op) {
  if (op.guard) return fragment_guarded(op);
  const ir::Storage& s = kernel_.at(op.from);
  const Operand& from = operand(op.from);
  const bool along_m = other_axis(s) == ir::Axis::m;
  const int count = along_m ? kernel_.map.each.m : kernel_.map.each.n;
  const int piece = along_m ? kernel_.map.pieces.m : kernel_.map.pieces.n;
  const bool k_is_row = s.row_axis == ir::Axis::k;
  int width = k_is_row ? s.vector : 1;
  while (piece % width != 0) width /= 2;
  Value* slice = builder_.CreateAdd(scaled(value(op.from_index), kernel_.tile_k), first_k_);
  Value* k = builder_.CreateAdd(slice, value(op.k));
  Value* x = builder_.CreateAdd(along_m ? block_m_ : block_n_, along_m ? thread_m_ : thread_n_);
  Value* thread =
      advance(from.base, k_is_row ? wide(x) : builder_.CreateMul(wide(x), from.leading));
  Value* along_k = advance(thread, k_is_row ? builder_.CreateMul(wide(k), from.leading) : wide(k));
  const llvm::Align align(static_cast<uint64_t>(width) * kElementBytes);
  Values& out = values(op.to);
  out.clear();
  for (int i = 0; i < count; i += width) {
    const int offset = element_offset(along_m, i);
    Value* pointer = advance(along_k, k_is_row ? i64(offset) : scaled(from.leading, offset));
    Value* loaded = builder_.CreateAlignedLoad(vector_type(width), pointer, align);
    for (int w = 0; w < width; ++w)
      out.push_back(width == 1 ? loaded
                               : builder_.CreateExtractElement(loaded, static_cast<uint64_t>(w)));
  }
}

void Emitter::fragment_guarded(const ir::Op& op) {
  const ir::Storage& s = kernel_.at(op.from);
  const Operand& from = operand(op.from);
  const bool along_m = other_axis(s) == ir::Axis::m;
  const int count = along_m ? kernel_.map.each.m : kernel_.map.each.n;
  const bool k_is_row = s.row_axis == ir::Axis::k;
  Value* slice = builder_.CreateAdd(scaled(value(op.from_index), kernel_.tile_k), first_k_);
  Value* k = builder_.CreateAdd(slice, value(op.k));
  Value* x = builder_.CreateAdd(along_m ? block_m_ : block_n_, along_m ? thread_m_ : thread_n_);
  Values& out = values(op.to);
  out.clear();
  for (int i = 0; i < count; ++i) {
    Value* at = builder_.CreateAdd(x, i32(element_offset(along_m, i)));
    Value* row = k_is_row ? k : at;
    Value* column = k_is_row ? at : k;
    out.push_back(
        read_if(room_in_row(from, row, column), 0, element_pointer(from, row, column), true));
  }
}

// Runs along the shorter axis, back and forth: within a run one element of the longer fragment is
// used again and again, at each turn one of the shorter, and the register file's reuse cache serves
// both. The assembler keeps this order for the most part: for 8x16 tiles it came to 1.12 cycles a
// multiply-add by the bank model of compiler/sass, against 1.22 with runs along the longer axis.
void Emitter::outer(const ir::Op& op) {
  if (packs_products()) {
    outer_of_pairs(op);
    return;
  }
  const Values& m = values(op.from);
  const Values& n = values(op.from_n);
  Values& acc = values(op.to);
  const bool along_m = m.size() < n.size();
  const size_t runs = along_m ? n.size() : m.size();
  const size_t length = along_m ? m.size() : n.size();
  for (size_t run = 0; run < runs; ++run) {
    for (size_t step = 0; step < length; ++step) {
      const size_t turn = run % 2 == 0 ? step : length - 1 - step;
      const size_t i = along_m ? turn : run;
      const size_t j = along_m ? run : turn;
      Value*& sum = acc[i * n.size() + j];
      sum =
          builder_.CreateIntrinsic(builder_.getFloatTy(), llvm::Intrinsic::fma, {m[i], n[j], sum});
    }
  }
}

// `fma.rn.f32x2` does two neighbours along n in one instruction (PTX ISA 8.6, sm_100). Each lane is
// rounded like a multiply-add of its own. Pairs have to lie together in a fragment: `vector`.
bool Emitter::packs_products() const {
  return kernel_.target.starts_with("sm_100") && kernel_.map.pieces.n % 2 == 0;
}

llvm::Value* Emitter::pair_of(Value* first, Value* second) {
  Value* pair = llvm::PoisonValue::get(vector_type(2));
  pair = builder_.CreateInsertElement(pair, first, uint64_t{0});
  return builder_.CreateInsertElement(pair, second, uint64_t{1});
}

void Emitter::outer_of_pairs(const ir::Op& op) {
  const Values& m = values(op.from);
  const Values& n = values(op.from_n);
  Values& acc = values(op.to);
  for (size_t j = 0; j < n.size(); j += 2) {
    Value* of_n = pair_of(n[j], n[j + 1]);
    for (size_t step = 0; step < m.size(); ++step) {
      const size_t i = j / 2 % 2 == 0 ? step : m.size() - 1 - step;
      Value*& first = acc[i * n.size() + j];
      Value*& second = acc[i * n.size() + j + 1];
      Value* sums = builder_.CreateIntrinsic(vector_type(2), llvm::Intrinsic::fma,
                                             {pair_of(m[i], m[i]), of_n, pair_of(first, second)});
      first = builder_.CreateExtractElement(sums, uint64_t{0});
      second = builder_.CreateExtractElement(sums, uint64_t{1});
    }
  }
}

}  // namespace tilec::codegen
