// Accesses at the edges of a matrix: single elements, each under a predicate.
//
// What is left of a row from some column on is its `room`: 0 where the row lies outside. Element
// `across` of the row exists where across < room. Predicated accesses are written as inline
// assembly, since a branch for each would cost more than all the rest of a kernel to compile.
#include <llvm/IR/InlineAsm.h>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kElementBytes = 4;

}  // namespace

llvm::Value* Emitter::room_in_row(const Operand& operand, Value* row, Value* column) {
  Value* left = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, operand.columns, column);
  return builder_.CreateSelect(builder_.CreateICmpULT(row, operand.rows), left, i32(0));
}

llvm::Value* Emitter::element_pointer(const Operand& operand, Value* row, Value* column) {
  return advance(operand.base,
                 builder_.CreateAdd(builder_.CreateMul(wide(row), operand.leading), wide(column)));
}

// Element `across` of a row, or 0 if there is none.
llvm::Value* Emitter::read_if(Value* room, int across, Value* line, bool read_only) {
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* address = builder_.getInt64Ty();
  const std::string load = read_only ? "ld.global.nc.f32" : "ld.global.f32";
  llvm::InlineAsm* read = llvm::InlineAsm::get(
      llvm::FunctionType::get(builder_.getFloatTy(), {word, word, address, word}, false),
      "{ .reg .pred p; setp.gt.u32 p, $1, $2; mov.f32 $0, 0f00000000; @p " + load +
          " $0, [$3+$4]; }",
      read_only ? "=&f,r,n,l,n" : "=&f,r,n,l,n,~{memory}", !read_only);
  return builder_.CreateCall(read, {room, i32(across), builder_.CreatePtrToInt(line, address),
                                    i32(int64_t{across} * kElementBytes)});
}

void Emitter::write_if(Value* room, int across, Value* line, Value* element) {
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* address = builder_.getInt64Ty();
  llvm::InlineAsm* write = llvm::InlineAsm::get(
      llvm::FunctionType::get(builder_.getVoidTy(),
                              {word, word, address, word, builder_.getFloatTy()}, false),
      "{ .reg .pred p; setp.gt.u32 p, $0, $1; @p st.global.f32 [$2+$3], $4; }",
      "r,n,l,n,f,~{memory}", true);
  builder_.CreateCall(write, {room, i32(across), builder_.CreatePtrToInt(line, address),
                              i32(int64_t{across} * kElementBytes), element});
}

}  // namespace tilec::codegen
