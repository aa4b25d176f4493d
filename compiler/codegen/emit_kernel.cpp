// The kernel's frame: its parameters, and where block and thread stand.
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/codegen/emitter.h"
#include "compiler/ir/text.h"

namespace tilec::codegen {
namespace {

constexpr unsigned kGlobal = 1;  // address spaces of NVPTX
constexpr unsigned kShared = 3;
constexpr int kElementBytes = 4;

}  // namespace

Emitter::Emitter(const ir::Kernel& kernel, llvm::LLVMContext& context)
    : kernel_(kernel),
      builder_(context),
      module_(std::make_unique<llvm::Module>(kernel.name, context)),
      operands_(kernel.storage.size()),
      ring_base_(kernel.storage.size()),
      values_(kernel.storage.size()) {}

std::unique_ptr<llvm::Module> Emitter::emit() {
  declare();
  describe_source();
  builder_.SetInsertPoint(llvm::BasicBlock::Create(module_->getContext(), "entry", function_));
  builder_.SetCurrentDebugLocation(llvm::DILocation::get(module_->getContext(), 1, 1, subprogram_));
  line_ = ir::first_op_line(kernel_);
  for (const ir::Op& op : kernel_.ops) {
    builder_.SetCurrentDebugLocation(
        llvm::DILocation::get(module_->getContext(), static_cast<unsigned>(line_), 1, subprogram_));
    locate();
    block({op});
  }
  builder_.CreateRetVoid();
  return std::move(module_);
}

// Block, thread and operands are located anew before each op of the top level, so that what the
// guarded loop and the epilogue need does not occupy registers in the steady loop.
void Emitter::locate() {
  locate_block();
  locate_thread();
  for (size_t id = 0; id < kernel_.storage.size(); ++id)
    if (kernel_.storage[id].space == ir::Space::global) locate_operand(static_cast<ir::Id>(id));
  count_slices();
}

// Parameters in the order that compiler/artifact.h states.
void Emitter::declare() {
  llvm::LLVMContext& context = module_->getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, kGlobal);
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* wide_word = builder_.getInt64Ty();
  llvm::Type* real = builder_.getFloatTy();
  llvm::Type* parameters[] = {pointer,   pointer,   pointer,   word, word, word,
                              wide_word, wide_word, wide_word, real, real};
  const char* names[] = {"a", "b", "c", "m", "n", "k", "lda", "ldb", "ldc", "alpha", "beta"};
  function_ =
      llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), parameters, false),
                             llvm::Function::ExternalLinkage, kernel_.name, module_.get());
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  for (llvm::Argument& argument : function_->args()) argument.setName(names[argument.getArgNo()]);
  for (unsigned operand = 0; operand < 3; ++operand) {
    function_->addParamAttr(operand, llvm::Attribute::NoAlias);
    if (operand < 2) function_->addParamAttr(operand, llvm::Attribute::ReadOnly);
  }
  const auto attribute = [&](const char* key, int number) {
    if (number > 0) function_->addFnAttr(key, std::to_string(number));
  };
  attribute("nvvm.reqntid", kernel_.map.threads());
  attribute("nvvm.minctasm", kernel_.blocks_per_sm);
  attribute("nvvm.maxnreg", kernel_.registers);

  m_ = function_->getArg(3);
  n_ = function_->getArg(4);
  k_ = function_->getArg(5);
  alpha_ = function_->getArg(9);
  beta_ = function_->getArg(10);

  int64_t elements = 0;
  for (size_t id = 0; id < kernel_.storage.size(); ++id) {
    const ir::Storage& s = kernel_.storage[id];
    if (s.space != ir::Space::shared) continue;
    ring_base_[id] = elements;
    elements += int64_t{s.stages} * ir::slot_elements(s);
  }
  if (elements == 0) return;
  shared_ = new llvm::GlobalVariable(*module_, llvm::ArrayType::get(real, 0), false,
                                     llvm::GlobalValue::ExternalLinkage, nullptr, "slices", nullptr,
                                     llvm::GlobalValue::NotThreadLocal, kShared);
  shared_->setAlignment(llvm::Align(16));
}

// The source that debug locations name is the printed tile IR.
void Emitter::describe_source() {
  llvm::DIBuilder debug(*module_);
  llvm::DIFile* file = debug.createFile(kernel_.name + ".tile", ".");
  debug.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file, "tilec", true,
                          "", 0, "", llvm::DICompileUnit::DebugDirectivesOnly);
  llvm::DISubroutineType* type = debug.createSubroutineType(debug.getOrCreateTypeArray({}));
  subprogram_ = debug.createFunction(
      file, kernel_.name, kernel_.name, file, 1, type, 1, llvm::DINode::FlagZero,
      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function_->setSubprogram(subprogram_);
  debug.finalize();
  module_->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
}

// `%tid.x` or `%ctaid.x`. A volatile read, since LLVM would merge it with earlier ones and keep the
// value, and all that follows from it, alive in between.
llvm::Value* Emitter::special_register(const char* name) {
  llvm::InlineAsm* read =
      llvm::InlineAsm::get(llvm::FunctionType::get(builder_.getInt32Ty(), false),
                           std::string("mov.u32 $0, ") + name + ";", "=r", true);
  return builder_.CreateCall(read, {});
}

llvm::Value* Emitter::scaled(Value* value, int64_t factor) {
  if (factor == 1) return value;
  return builder_.CreateMul(value, llvm::ConstantInt::get(value->getType(), factor));
}

llvm::Type* Emitter::vector_type(int width) {
  if (width == 1) return builder_.getFloatTy();
  return llvm::FixedVectorType::get(builder_.getFloatTy(), static_cast<unsigned>(width));
}

// Which tile of C: block x of the grid, in the order of `raster`.
void Emitter::locate_block() {
  const auto tiles = [&](Value* extent, int tile) {
    return builder_.CreateUDiv(builder_.CreateAdd(extent, i32(tile - 1)), i32(tile));
  };
  Value* x = special_register("%ctaid.x");
  Value* tile_m = nullptr;
  Value* tile_n = nullptr;
  switch (kernel_.raster.order) {
    case dsl::RasterOrder::rows: {
      Value* tiles_n = tiles(n_, kernel_.tile.n);
      tile_m = builder_.CreateUDiv(x, tiles_n);
      tile_n = builder_.CreateURem(x, tiles_n);
      break;
    }
    case dsl::RasterOrder::columns: {
      Value* tiles_m = tiles(m_, kernel_.tile.m);
      tile_n = builder_.CreateUDiv(x, tiles_m);
      tile_m = builder_.CreateURem(x, tiles_m);
      break;
    }
    case dsl::RasterOrder::swizzle: {
      // Bands of `width` tile rows, each walked column by column; the last may be lower.
      Value* tiles_m = tiles(m_, kernel_.tile.m);
      Value* band_size = scaled(tiles(n_, kernel_.tile.n), kernel_.raster.width);
      Value* first = scaled(builder_.CreateUDiv(x, band_size), kernel_.raster.width);
      Value* within = builder_.CreateURem(x, band_size);
      Value* height = builder_.CreateBinaryIntrinsic(
          llvm::Intrinsic::umin, builder_.CreateSub(tiles_m, first), i32(kernel_.raster.width));
      tile_n = builder_.CreateUDiv(within, height);
      tile_m = builder_.CreateAdd(first, builder_.CreateURem(within, height));
      break;
    }
  }
  block_m_ = scaled(tile_m, kernel_.tile.m);
  block_n_ = scaled(tile_n, kernel_.tile.n);
}

// The lane's coordinates along m and n: the rule is dsl::lane_position.
std::pair<llvm::Value*, llvm::Value*> Emitter::locate_lane(Value* lane) {
  const ir::ThreadMap& map = kernel_.map;
  if (map.order == dsl::LaneOrder::interleaved) {
    Value *at_m = i32(0), *at_n = i32(0);
    int bit = 0, bit_m = 0, bit_n = 0;
    for (const bool along_m : dsl::interleaved_bits(map.lanes)) {
      Value* one = builder_.CreateAnd(builder_.CreateLShr(lane, static_cast<uint64_t>(bit++)), 1);
      Value*& at = along_m ? at_m : at_n;
      int& weight = along_m ? bit_m : bit_n;
      at = builder_.CreateOr(at, builder_.CreateShl(one, static_cast<uint64_t>(weight++)));
    }
    return {at_m, at_n};
  }
  const bool rows = map.order == dsl::LaneOrder::rows;
  const int inner = rows ? map.lanes.m : map.lanes.n;
  Value* fast = builder_.CreateURem(lane, i32(inner));
  Value* slow = builder_.CreateUDiv(lane, i32(inner));
  return rows ? std::pair{fast, slow} : std::pair{slow, fast};
}

// Where the thread's tile begins within the block's. Warps are numbered along n first.
void Emitter::locate_thread() {
  const ir::ThreadMap& map = kernel_.map;
  thread_ = special_register("%tid.x");
  const int lanes = map.lanes.m * map.lanes.n;
  Value* warp = builder_.CreateUDiv(thread_, i32(lanes));
  Value* lane = builder_.CreateURem(thread_, i32(lanes));
  const auto [lane_m, lane_n] = locate_lane(lane);
  const auto place = [&](Value* warp_index, Value* lane_index, int lane_count, int each,
                         int piece) {
    return builder_.CreateAdd(scaled(warp_index, int64_t{lane_count} * each),
                              scaled(lane_index, piece));
  };
  thread_m_ = place(builder_.CreateUDiv(warp, i32(map.warps.n)), lane_m, map.lanes.m, map.each.m,
                    map.pieces.m);
  thread_n_ = place(builder_.CreateURem(warp, i32(map.warps.n)), lane_n, map.lanes.n, map.each.n,
                    map.pieces.n);
}

void Emitter::locate_operand(ir::Id id) {
  const ir::Storage& s = kernel_.at(id);
  const bool is_c = s.row_axis == ir::Axis::m && s.column_axis == ir::Axis::n;
  const bool is_a = !is_c && (s.row_axis == ir::Axis::m || s.column_axis == ir::Axis::m);
  const unsigned number = is_c ? 2 : is_a ? 0 : 1;
  const auto extent = [&](ir::Axis axis) {
    return axis == ir::Axis::m ? m_ : axis == ir::Axis::n ? n_ : k_;
  };
  const auto origin = [&](ir::Axis axis) {
    return axis == ir::Axis::m ? block_m_ : axis == ir::Axis::n ? block_n_ : i32(0);
  };
  Operand& out = operand(id);
  out.base = function_->getArg(number);
  out.leading = function_->getArg(number + 6);
  out.rows = extent(s.row_axis);
  out.columns = extent(s.column_axis);
  out.row_origin = origin(s.row_axis);
  out.column_origin = origin(s.column_axis);
  if (is_c) return;

  const dsl::CopyMap map = ir::copy_map(kernel_, s);
  const int across = map.columns / map.vector;
  const Access first = access(s, 0);
  // A thread that has nothing to copy points at the first row, so that its loads do no harm.
  Value* first_row =
      first.active == nullptr ? first.row : builder_.CreateSelect(first.active, first.row, i32(0));
  Value* row = wide(builder_.CreateAdd(out.row_origin, first_row));
  Value* column = wide(builder_.CreateAdd(out.column_origin, first.column));
  out.first = advance(out.base, builder_.CreateAdd(builder_.CreateMul(row, out.leading), column));
  out.slice_step =
      s.column_axis == ir::Axis::k ? i64(kernel_.tile_k) : scaled(out.leading, kernel_.tile_k);
  if (kernel_.map.threads() % across == 0)
    out.pass_step = scaled(out.leading, kernel_.map.threads() / across);
}

// `whole`, `full` and `slices`, as kernel.h defines them.
void Emitter::count_slices() {
  slices_ =
      builder_.CreateUDiv(builder_.CreateAdd(k_, i32(kernel_.tile_k - 1)), i32(kernel_.tile_k));
  if (kernel_.exact) {
    whole_ = builder_.getTrue();
    full_ = slices_;
    return;
  }
  whole_ = builder_.CreateAnd(
      builder_.CreateICmpUGE(builder_.CreateSub(m_, block_m_), i32(kernel_.tile.m)),
      builder_.CreateICmpUGE(builder_.CreateSub(n_, block_n_), i32(kernel_.tile.n)));
  for (size_t id = 0; id < kernel_.storage.size(); ++id) {
    const ir::Storage& s = kernel_.storage[id];
    if (s.space != ir::Space::global || s.vector == 1) continue;
    Value* bytes =
        builder_.CreateOr(builder_.CreatePtrToInt(operands_[id].base, builder_.getInt64Ty()),
                          scaled(operands_[id].leading, kElementBytes));
    Value* odd = builder_.CreateAnd(bytes, i64(int64_t{s.vector} * kElementBytes - 1));
    whole_ = builder_.CreateAnd(whole_, builder_.CreateICmpEQ(odd, i64(0)));
  }
  full_ = builder_.CreateSelect(whole_, builder_.CreateUDiv(k_, i32(kernel_.tile_k)), i32(0));
}

}  // namespace tilec::codegen
