// The kernel's frame: its parameters, and where block and thread stand.
#include <fmt/format.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "compiler/codegen/emitter.h"
#include "compiler/ir/text.h"

namespace tilec::codegen {
namespace {

constexpr unsigned kGlobal = 1;  // address spaces of NVPTX
constexpr unsigned kShared = 3;
constexpr int kElementBytes = 4;

bool has_workspace(const ir::Kernel& kernel) {
  return std::any_of(kernel.storage.begin(), kernel.storage.end(),
                     [](const ir::Storage& s) { return s.is_workspace(); });
}

}  // namespace

Emitter::Emitter(const ir::Kernel& kernel, llvm::Module& module, std::string file, int lines_before)
    : kernel_(kernel),
      builder_(module.getContext()),
      module_(&module),
      file_(std::move(file)),
      lines_before_(lines_before),
      operands_(kernel.storage.size()),
      ring_base_(kernel.storage.size()),
      values_(kernel.storage.size()) {}

void Emitter::emit() {
  declare();
  describe_source();
  builder_.SetInsertPoint(llvm::BasicBlock::Create(module_->getContext(), "entry", function_));
  builder_.SetCurrentDebugLocation(llvm::DILocation::get(
      module_->getContext(), static_cast<unsigned>(lines_before_ + 1), 1, subprogram_));
  line_ = lines_before_ + ir::first_op_line(kernel_);
  if (ir::lets_next_start(kernel_))
    builder_.CreateIntrinsic(builder_.getVoidTy(),
                             llvm::Intrinsic::nvvm_griddepcontrol_launch_dependents, {});
  if (ir::awaits_launch_before(kernel_))
    builder_.CreateIntrinsic(builder_.getVoidTy(), llvm::Intrinsic::nvvm_griddepcontrol_wait, {});
  if (kernel_.persistent) {
    every_tile();
  } else if (streams() && !ir::sums(kernel_)) {
    every_tile_of_stretch();
  } else {
    tile();
  }
  builder_.CreateRetVoid();
}

void Emitter::tile() {
  for (const ir::Op& op : kernel_.ops) {
    builder_.SetCurrentDebugLocation(
        llvm::DILocation::get(module_->getContext(), static_cast<unsigned>(line_), 1, subprogram_));
    locate();
    block({op});
  }
}

// A block takes tile x of the grid, then every so many-th as there are blocks. The barrier between
// two keeps the slices of one from the copies of the next.
void Emitter::every_tile() {
  llvm::LLVMContext& context = module_->getContext();
  Value* tiles =
      builder_.CreateMul(tiles_along(m_, kernel_.tile.m), tiles_along(n_, kernel_.tile.n));
  Value* first = special_register("%ctaid.x");
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "tile", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "tiles_done", function_);
  builder_.CreateCondBr(builder_.CreateICmpULT(first, tiles), body, after);
  builder_.SetInsertPoint(body);
  llvm::PHINode* number = builder_.CreatePHI(builder_.getInt32Ty(), 2, "tile");
  number->addIncoming(first, before);
  tile_ = number;
  tile();
  if (shared_ != nullptr) block_barrier();
  // At most 2^31 tiles, and no more blocks than that: the sum does not wrap.
  Value* next = builder_.CreateAdd(number, special_register("%nctaid.x"));
  number->addIncoming(next, builder_.GetInsertBlock());
  keep_rolled(builder_.CreateCondBr(builder_.CreateICmpULT(next, tiles), body, after));
  builder_.SetInsertPoint(after);
}

llvm::Value* Emitter::block_barrier() {
  return builder_.CreateIntrinsic(builder_.getVoidTy(),
                                  llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {i32(0)});
}

llvm::Value* Emitter::tiles_along(Value* extent, int tile) {
  return builder_.CreateUDiv(builder_.CreateAdd(extent, i32(tile - 1)), i32(tile));
}

// Block, thread and operands are located anew before each op of the top level, so that what the
// guarded loop and the epilogue need does not occupy registers in the steady loop.
void Emitter::locate() {
  if (streams()) ir::sums(kernel_) ? locate_tile_of_sum() : locate_stretch();
  locate_block();
  locate_thread();
  locate_share();
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
  std::vector<llvm::Type*> parameters = {pointer,   pointer,   pointer,   word, word, word,
                                         wide_word, wide_word, wide_word, real, real};
  std::vector<const char*> names = {"a",   "b",   "c",   "m",     "n",   "k",
                                    "lda", "ldb", "ldc", "alpha", "beta"};
  if (has_workspace(kernel_)) {
    parameters.push_back(pointer);
    names.push_back("w");
  }
  if (streams()) {
    parameters.insert(parameters.end(), 2, word);
    names.insert(names.end(), {"stream_tiles", "stream_blocks"});
  }
  if (kernel_.batch == dsl::Batch::strided) {
    parameters.insert(parameters.end(), 3, wide_word);
    names.insert(names.end(), {"stride_a", "stride_b", "stride_c"});
  }
  function_ =
      llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), parameters, false),
                             llvm::Function::ExternalLinkage, kernel_.name, module_);
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  for (llvm::Argument& argument : function_->args()) argument.setName(names[argument.getArgNo()]);
  for (unsigned operand = 0; operand < 3; ++operand) {
    function_->addParamAttr(operand, llvm::Attribute::NoAlias);
    if (operand < 2) function_->addParamAttr(operand, llvm::Attribute::ReadOnly);
  }
  if (has_workspace(kernel_)) function_->addParamAttr(kWorkspace, llvm::Attribute::NoAlias);
  const auto attribute = [&](const char* key, int number) {
    if (number > 0) function_->addFnAttr(key, std::to_string(number));
  };
  attribute("nvvm.reqntid", kernel_.map.threads());
  attribute("nvvm.minctasm", kernel_.blocks_per_sm);
  attribute("nvvm.maxnreg", kernel_.registers);
  if (kernel_.cluster)
    function_->addFnAttr("nvvm.cluster_dim", fmt::format("1,{},1", kernel_.split_k));

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
  if (ir::shared_elements(kernel_) == 0) return;
  shared_ = new llvm::GlobalVariable(*module_, llvm::ArrayType::get(real, 0), false,
                                     llvm::GlobalValue::ExternalLinkage, nullptr, "slices", nullptr,
                                     llvm::GlobalValue::NotThreadLocal, kShared);
  shared_->setAlignment(llvm::Align(16));
}

// The source that debug locations name is the printed tile IR.
void Emitter::describe_source() {
  const bool first = module_->debug_compile_units().empty();
  llvm::DIBuilder debug(*module_, true, first ? nullptr : *module_->debug_compile_units_begin());
  llvm::DIFile* file = debug.createFile(file_, ".");
  if (first)
    debug.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file, "tilec", true,
                            "", 0, "", llvm::DICompileUnit::DebugDirectivesOnly);
  llvm::DISubroutineType* type = debug.createSubroutineType(debug.getOrCreateTypeArray({}));
  subprogram_ = debug.createFunction(
      file, kernel_.name, kernel_.name, file, static_cast<unsigned>(lines_before_ + 1), type,
      static_cast<unsigned>(lines_before_ + 1), llvm::DINode::FlagZero,
      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function_->setSubprogram(subprogram_);
  debug.finalize();
  if (first)
    module_->addModuleFlag(llvm::Module::Warning, "Debug Info Version",
                           llvm::DEBUG_METADATA_VERSION);
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

llvm::Value* Emitter::vector_of(llvm::ArrayRef<Value*> elements) {
  if (elements.size() == 1) return elements[0];
  Value* out = llvm::PoisonValue::get(vector_type(static_cast<int>(elements.size())));
  for (uint64_t i = 0; i < elements.size(); ++i)
    out = builder_.CreateInsertElement(out, elements[i], i);
  return out;
}

void Emitter::locate_operand(ir::Id id) {
  const ir::Storage& s = kernel_.at(id);
  const bool is_c = like_c(s);
  const bool is_a = !is_c && (s.row_axis == ir::Axis::m || s.column_axis == ir::Axis::m);
  const unsigned number = is_c ? 2 : is_a ? 0 : 1;
  const auto extent = [&](ir::Axis axis) {
    return axis == ir::Axis::m ? m_ : axis == ir::Axis::n ? n_ : k_;
  };
  const auto origin = [&](ir::Axis axis) {
    return axis == ir::Axis::m ? block_m_ : axis == ir::Axis::n ? block_n_ : first_k_;
  };
  Operand& out = operand(id);
  out.base = s.is_workspace() ? nullptr : base_of(number);
  out.leading = function_->getArg(number + 6);
  out.rows = extent(s.row_axis);
  out.columns = extent(s.column_axis);
  out.row_origin = origin(s.row_axis);
  out.column_origin = origin(s.column_axis);
  if (s.parts > 1) locate_parts(s, out);
  if (s.stretches) locate_stretches(out);
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

// An operand's matrix of the block's own index in the batch.
llvm::Value* Emitter::base_of(unsigned parameter) {
  Value* base = function_->getArg(parameter);
  if (kernel_.batch == dsl::Batch::none) return base;
  Value* index = wide(special_register("%ctaid.z"));
  if (kernel_.batch == dsl::Batch::pointers) {
    Value* place = builder_.CreateGEP(base->getType(), base, index);
    return builder_.CreateAlignedLoad(base->getType(), place, llvm::Align(8));
  }
  const unsigned strides = kWorkspace + (has_workspace(kernel_) ? 1U : 0U) + (streams() ? 2U : 0U);
  return advance(base, builder_.CreateMul(index, function_->getArg(strides + parameter)));
}

llvm::Value* Emitter::workspace() {
  return function_->getArg(kWorkspace);
}

// A workspace holds, for each matrix of a batch, `parts` matrices of M rows; N is rounded up so
// that each row is aligned (dsl/shape.h). A block that has a share of K writes to its own.
void Emitter::locate_parts(const ir::Storage& s, Operand& out) {
  constexpr int kAlignment = 4;  // elements
  Value* n = wide(builder_.CreateAdd(n_, i32(kAlignment - 1)));
  out.leading = builder_.CreateAnd(n, i64(-kAlignment));
  out.part_step = builder_.CreateMul(wide(m_), out.leading);
  out.base = workspace();
  if (kernel_.batch != dsl::Batch::none) {
    Value* index = wide(special_register("%ctaid.z"));
    out.base = advance(out.base, builder_.CreateMul(index, scaled(out.part_step, s.parts)));
  }
  if (share_ != nullptr)
    out.base = advance(out.base, builder_.CreateMul(wide(share_), out.part_step));
}

llvm::Value* Emitter::slices_of_k() {
  const int tile_k = streams() ? kernel_.stream.tile_k : kernel_.tile_k;
  return builder_.CreateUDiv(builder_.CreateAdd(k_, i32(tile_k - 1)), i32(tile_k));
}

// Which part of K is the block's: equal parts in whole slices, the last ones shorter or empty.
void Emitter::locate_share() {
  if (streams()) return;  // locate_stretch
  first_k_ = i32(0);
  if (kernel_.split_k == 1) return;
  slices_ = slices_of_k();
  share_ = special_register("%ctaid.y");
  Value* most = builder_.CreateUDiv(builder_.CreateAdd(slices_, i32(kernel_.split_k - 1)),
                                    i32(kernel_.split_k));
  Value* first = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin,
                                                builder_.CreateMul(share_, most), slices_);
  slices_ = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, most,
                                           builder_.CreateSub(slices_, first));
  first_k_ = scaled(first, kernel_.tile_k);
}

// `whole` and `full`, as kernel.h defines them.
void Emitter::count_slices() {
  const bool shares = kernel_.split_k > 1 || (streams() && !ir::sums(kernel_));
  if (!shares) slices_ = slices_of_k();
  if (kernel_.exact) {
    whole_ = builder_.getTrue();
    full_ = slices_;
    return;
  }
  // A block of its own tile begins inside C; one of a sum may lie in a tile's part outside.
  const auto left = [&](Value* extent, Value* begin) {
    return sub_m_ == nullptr
               ? builder_.CreateSub(extent, begin)
               : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, extent, begin);
  };
  Value* open = builder_.CreateAnd(builder_.CreateICmpUGE(left(m_, block_m_), i32(kernel_.tile.m)),
                                   builder_.CreateICmpUGE(left(n_, block_n_), i32(kernel_.tile.n)));
  whole_ = builder_.getTrue();
  for (size_t id = 0; id < kernel_.storage.size(); ++id) {
    const ir::Storage& s = kernel_.storage[id];
    if (s.space != ir::Space::global || s.vector == 1 || s.stretches) continue;
    Value* bytes = i64(0);
    if (s.parts == 1)  // a workspace is aligned by contract
      bytes = builder_.CreateOr(builder_.CreatePtrToInt(operands_[id].base, builder_.getInt64Ty()),
                                scaled(operands_[id].leading, kElementBytes));
    if (like_c(s)) bytes = builder_.CreateOr(bytes, scaled(wide(block_n_), kElementBytes));
    Value* odd = builder_.CreateAnd(bytes, i64(int64_t{s.vector} * kElementBytes - 1));
    Value*& fits = like_c(s) ? whole_ : open;
    fits = builder_.CreateAnd(fits, builder_.CreateICmpEQ(odd, i64(0)));
  }
  whole_ = builder_.CreateAnd(whole_, open);
  Value* full = builder_.CreateUDiv(k_, i32(kernel_.tile_k));
  if (shares) {
    Value* from_share = builder_.CreateBinaryIntrinsic(
        llvm::Intrinsic::usub_sat, full, builder_.CreateUDiv(first_k_, i32(kernel_.tile_k)));
    full = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, from_share, slices_);
  }
  full_ = builder_.CreateSelect(open, full, i32(0));
}

}  // namespace tilec::codegen
