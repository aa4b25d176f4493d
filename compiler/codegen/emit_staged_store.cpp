// Stores of C whose rows are not aligned, through the shared memory that the slices leave free.
//
// A lane has short pieces of a row, far from those of its neighbours in other rows: element by
// element, an access of a warp would touch nearly as many sectors as it has lanes. So a warp lays
// some of its rows down in shared memory, each lane its pieces, and takes them up again side by
// side: one access is 32 elements next to each other, four or five sectors (dsl/staging.h).
//
// Each warp keeps to a region of its own. Its lanes wait for each other at barriers of the block:
// before sm_90 the assembler makes a call of `bar.warp.sync`, behind which our back end takes every
// register of the steady loop to be in use.
#include <algorithm>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kLanes = 32;
constexpr int64_t kElementBytes = 4;

}  // namespace

dsl::StagedTile Emitter::staged_tile() const {
  const ir::ThreadMap& map = kernel_.map;
  return {map.warps, map.lanes, map.each, map.pieces, ir::shared_elements(kernel_)};
}

// No rows: the store goes element by element.
dsl::Staging Emitter::plan_staging(const ir::Op& op) const {
  if (!kernel_.staged_store || kernel_.at(op.to).is_workspace()) return {};
  return dsl::plan_staging(staged_tile());
}

// Where this thread writes and reads in its warp's region, and the element of C that it stores
// first.
Emitter::StagedThread Emitter::locate_staged(const dsl::Staging& plan, const Operand& to) {
  const ir::ThreadMap& map = kernel_.map;
  Value* warp = builder_.CreateUDiv(thread_, i32(kLanes));
  Value* lane = builder_.CreateURem(thread_, i32(kLanes));
  const auto [lane_m, lane_n] = locate_lane(lane);
  Value* lane_row = i32(0);
  Value* lane_column = lane;
  if (plan.width < kLanes) {
    lane_row = builder_.CreateUDiv(lane, i32(plan.width));
    lane_column = builder_.CreateURem(lane, i32(plan.width));
  }
  const auto in_region = [&](Value* row, Value* column) {
    Value* region = advance(shared_, scaled(warp, plan.region));
    return advance(region, builder_.CreateAdd(scaled(row, plan.stride), column));
  };
  StagedThread out{};
  out.write = in_region(lane_m, scaled(lane_n, map.pieces.n));
  out.read = in_region(lane_row, lane_column);
  Value* warp_m = scaled(builder_.CreateUDiv(warp, i32(map.warps.n)), map.lanes.m * map.each.m);
  Value* warp_n = scaled(builder_.CreateURem(warp, i32(map.warps.n)), plan.width);
  Value* down = builder_.CreateAdd(warp_m, scaled(lane_row, map.pieces.m));
  Value* across = builder_.CreateAdd(warp_n, lane_column);
  out.row = builder_.CreateAdd(block_m_, down);
  out.column = builder_.CreateAdd(block_n_, across);
  out.first = element_pointer(to, builder_.CreateAdd(to.row_origin, down),
                              builder_.CreateAdd(to.column_origin, across));
  return out;
}

// One trip of the loop over pieces: `acc` are the piece's rows. The second barrier keeps these rows
// until all lanes have read them.
void Emitter::store_staged_piece(const ir::Op& op, const dsl::Staging& plan,
                                 const StagedThread& thread, const Values& acc, Value* top) {
  const ir::ThreadMap& map = kernel_.map;
  const int write = dsl::staged_vector(staged_tile());
  for (int first = 0; first < map.pieces.m; first += plan.rows) {
    for (int r = 0; r < plan.rows; ++r) {
      for (int j = 0; j < map.each.n; j += write) {
        const auto begin = static_cast<size_t>((first + r) * map.each.n + j);
        Value* stored = vector_of(llvm::ArrayRef(acc).slice(begin, static_cast<size_t>(write)));
        const int place = r * map.lanes.m * plan.stride + element_offset(false, j);
        builder_.CreateAlignedStore(stored, advance(thread.write, i32(place)),
                                    llvm::Align(static_cast<uint64_t>(write) * kElementBytes));
      }
    }
    block_barrier();
    take_up_rows(op, plan, thread, builder_.CreateAdd(top, i32(first)));
    block_barrier();
  }
}

// A loop over the lanes' places along m, rows of a lane's piece in each trip: enough loads and
// stores for the one to hide behind the other, and few registers.
void Emitter::take_up_rows(const ir::Op& op, const dsl::Staging& plan, const StagedThread& thread,
                           Value* top) {
  llvm::LLVMContext& context = module_->getContext();
  const ir::ThreadMap& map = kernel_.map;
  const int at_once = std::max(1, kLanes / plan.width);  // lanes along m of one access
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "lanes", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "lanes_done", function_);
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode* lane = builder_.CreatePHI(builder_.getInt32Ty(), 2, "lane");
  lane->addIncoming(i32(0), before);
  Value* read = advance(thread.read, scaled(lane, plan.stride));
  Value* down = builder_.CreateAdd(top, scaled(lane, map.pieces.m));
  for (int r = 0; r < plan.rows; ++r)
    store_staged_row(op, plan, thread, advance(read, i32(r * map.lanes.m * plan.stride)),
                     builder_.CreateAdd(down, i32(r)));
  Value* next = builder_.CreateAdd(lane, i32(at_once));
  lane->addIncoming(next, body);
  keep_rolled(builder_.CreateCondBr(builder_.CreateICmpULT(next, i32(map.lanes.m)), body, after));
  builder_.SetInsertPoint(after);
}

// What stands at `read` lies `down` rows below the thread's first element.
void Emitter::store_staged_row(const ir::Op& op, const dsl::Staging& plan,
                               const StagedThread& thread, Value* read, Value* down) {
  Value* line = advance(thread.first, builder_.CreateMul(wide(down), operand(op.to).leading));
  Values acc;
  std::vector<int> across;
  for (int column = 0; column < plan.width; column += kLanes) {
    acc.push_back(builder_.CreateAlignedLoad(builder_.getFloatTy(), advance(read, i32(column)),
                                             llvm::Align(kElementBytes)));
    across.push_back(column);
  }
  store_guarded_row(op, acc, across, line, builder_.CreateAdd(thread.row, down), thread.column);
}

}  // namespace tilec::codegen
