// Accesses at the edges of a matrix: single elements, each under a predicate.
//
// What is left of a row from some column on is its `room`: 0 where the row lies outside. Element
// `across` of the row exists where across < room. Predicated accesses are written as inline
// assembly, since a branch for each would cost more than all the rest of a kernel to compile.
#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kElementBytes = 4;

std::string vector_word(int width) {
  return width == 1 ? "" : fmt::format(".v{}", width);
}

// In the braces of inline assembly `{` and `}` alone stand for themselves.
std::string braced(const std::string& places, int width) {
  return width == 1 ? places : "{" + places + "}";
}

}  // namespace

llvm::Value* Emitter::room_in_row(const Operand& operand, Value* row, Value* column) {
  Value* left = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, operand.columns, column);
  return builder_.CreateSelect(builder_.CreateICmpULT(row, operand.rows), left, i32(0));
}

// The same of C, or 0 where the row is not the block's to store: what a moved tile shares with the
// one before it is that one's. `ours`: what else has to hold; null: nothing.
llvm::Value* Emitter::own_room(const Operand& c, Value* row, Value* column, Value* ours) {
  Value* room = room_in_row(c, row, column);
  Value* open = builder_.CreateICmpUGE(row, own_m_);
  if (ours != nullptr) open = builder_.CreateAnd(open, ours);
  return builder_.CreateSelect(open, room, i32(0));
}

// Of C: where beta is 0 an epilogue that reads it through products with beta alone reads nothing.
llvm::Value* Emitter::room_to_read(const ir::Op& op, Value* room) {
  if (dsl::reads_c(op.epilogue) != dsl::ReadsC::unless_beta_zero) return room;
  return builder_.CreateSelect(condition({.kind = ir::ConditionKind::beta_is_zero}), i32(0), room);
}

llvm::Value* Emitter::element_pointer(const Operand& operand, Value* row, Value* column) {
  return advance(operand.base,
                 builder_.CreateAdd(builder_.CreateMul(wide(row), operand.leading), wide(column)));
}

// Element `across` of a row where `place` < `room`, else 0. `constraint`: of `place`.
llvm::Value* Emitter::read_below(Value* room, Value* place, const char* constraint, int across,
                                 Value* line, bool read_only) {
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* address = builder_.getInt64Ty();
  const std::string load = read_only ? "ld.global.nc.f32" : "ld.global.f32";
  llvm::InlineAsm* read = llvm::InlineAsm::get(
      llvm::FunctionType::get(builder_.getFloatTy(), {word, word, address, word}, false),
      "{ .reg .pred p; setp.gt.u32 p, $1, $2; mov.f32 $0, 0f00000000; @p " + load +
          " $0, [$3+$4]; }",
      fmt::format("=&f,r,{},l,n{}", constraint, read_only ? "" : ",~{memory}"), !read_only);
  return builder_.CreateCall(read, {room, place, builder_.CreatePtrToInt(line, address),
                                    i32(int64_t{across} * kElementBytes)});
}

// Element `across` of a row, or 0 if there is none.
llvm::Value* Emitter::read_if(Value* room, int across, Value* line, bool read_only) {
  return read_below(room, i32(across), "n", across, line, read_only);
}

// `skipped` of the row's elements belong to another block. One comparison tells on both sides: what
// lies before them is, less `skipped`, a very large number.
llvm::Value* Emitter::read_c_if(Value* skipped, Value* room, int across, Value* line) {
  Value* left = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, room, skipped);
  return read_below(left, builder_.CreateSub(i32(across), skipped), "r", across, line, false);
}

void Emitter::write_if(Value* skipped, Value* room, int across, Value* line, Value* element) {
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* address = builder_.getInt64Ty();
  llvm::InlineAsm* write = llvm::InlineAsm::get(
      llvm::FunctionType::get(builder_.getVoidTy(),
                              {word, word, address, word, builder_.getFloatTy()}, false),
      "{ .reg .pred p; setp.gt.u32 p, $0, $1; @p st.global.f32 [$2+$3], $4; }",
      "r,r,l,n,f,~{memory}", true);
  Value* left = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, room, skipped);
  builder_.CreateCall(write, {left, builder_.CreateSub(i32(across), skipped),
                              builder_.CreatePtrToInt(line, address),
                              i32(int64_t{across} * kElementBytes), element});
}

// How many elements of a row from some column on belong to the tile before: all of them above the
// block's own first row.
llvm::Value* Emitter::shared_in_row(Value* row, Value* column) {
  Value* skipped = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, own_n_, column);
  return builder_.CreateSelect(builder_.CreateICmpUGE(row, own_m_), skipped, i32(-1));
}

// `width` elements of C from `across` on, a vector or one; 0 where they are another block's. No
// vector is shared in part: tiles begin where vectors do.
llvm::Value* Emitter::read_own(Value* shared, int across, Value* line, int width) {
  llvm::Type* real = builder_.getFloatTy();
  const std::vector<llvm::Type*> each(static_cast<size_t>(width), real);
  llvm::Type* result = width == 1 ? real : llvm::StructType::get(module_->getContext(), each);
  std::string clear;
  std::string places;
  std::string constraints;
  for (int w = 0; w < width; ++w) {
    clear += fmt::format(" mov.f32 ${}, 0f00000000;", w);
    places += fmt::format("{}${}", w == 0 ? "" : ", ", w);
    constraints += "=&f,";
  }
  const std::string text = fmt::format(
      "{{ .reg .pred p; setp.le.u32 p, ${0}, ${1};{2} @p ld.global{3}.f32 {4}, [${5}+${6}]; }}",
      width, width + 1, clear, vector_word(width), braced(places, width), width + 2, width + 3);
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* address = builder_.getInt64Ty();
  llvm::InlineAsm* read =
      llvm::InlineAsm::get(llvm::FunctionType::get(result, {word, word, address, word}, false),
                           text, constraints + "r,n,l,n", false);
  Value* loaded =
      builder_.CreateCall(read, {shared, i32(across), builder_.CreatePtrToInt(line, address),
                                 i32(int64_t{across} * kElementBytes)});
  if (width == 1) return loaded;
  Values out;
  for (unsigned w = 0; w < static_cast<unsigned>(width); ++w)
    out.push_back(builder_.CreateExtractValue(loaded, w));
  return vector_of(out);
}

void Emitter::write_own(Value* shared, int across, Value* line, llvm::ArrayRef<Value*> elements) {
  const auto width = static_cast<int>(elements.size());
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* address = builder_.getInt64Ty();
  std::vector<llvm::Type*> types = {word, word, address, word};
  Values arguments = {shared, i32(across), builder_.CreatePtrToInt(line, address),
                      i32(int64_t{across} * kElementBytes)};
  std::string places;
  std::string constraints = "r,n,l,n";
  for (int w = 0; w < width; ++w) {
    types.push_back(builder_.getFloatTy());
    arguments.push_back(elements[static_cast<size_t>(w)]);
    places += fmt::format("{}${}", w == 0 ? "" : ", ", w + 4);
    constraints += ",f";
  }
  const std::string text =
      fmt::format("{{ .reg .pred p; setp.le.u32 p, $0, $1; @p st.global{}.f32 [$2+$3], {}; }}",
                  vector_word(width), braced(places, width));
  builder_.CreateCall(
      llvm::InlineAsm::get(llvm::FunctionType::get(builder_.getVoidTy(), types, false), text,
                           constraints + ",~{memory}", true),
      arguments);
}

}  // namespace tilec::codegen
