// Stores of C whose rows are not aligned, through the shared memory that the slices leave free.
//
// A lane has short pieces of a row, far from those of its neighbours in other rows: element by
// element, an access of a warp would touch nearly as many sectors as it has lanes. So a warp lays
// some of its rows down in shared memory, each lane its pieces, and takes them up again side by
// side: one access is 32 elements next to each other, four or five sectors.
//
//   slot of a row      r * lanes.m + lane's place along m, for row r of the lane's piece
//   element of a slot  its column in the warp's tile
//   stride of slots    so that eight lanes with 16 bytes each write to different banks
//
// Each warp keeps to a region of its own. Its lanes wait for each other at barriers of the block:
// before sm_90 the assembler makes a call of `bar.warp.sync`, behind which our back end takes every
// register of the steady loop to be in use.
#include <algorithm>

#include "compiler/codegen/emitter.h"

namespace tilec::codegen {
namespace {

constexpr int kLanes = 32;
constexpr int kBanks = 32;
constexpr int kWidestVector = 4;
constexpr int64_t kElementBytes = 4;

int64_t shared_elements(const ir::Kernel& kernel) {
  int64_t elements = 0;
  for (const ir::Storage& s : kernel.storage)
    if (s.space == ir::Space::shared) elements += int64_t{s.stages} * ir::slot_elements(s);
  return elements;
}

int widest_write(const ir::ThreadMap& map) {
  int width = kWidestVector;
  while (map.pieces.n % width != 0) width /= 2;
  return width;
}

}  // namespace

// Rows of a lane's piece that a warp lays down at once; 0: the store goes element by element. That
// is so where a lane's neighbour has the neighbouring element anyway, where rows of the warp's tile
// and accesses of a warp do not divide each other, and where the slices leave too little room.
Emitter::Staging Emitter::plan_staging(const ir::Op& op) const {
  const ir::ThreadMap& map = kernel_.map;
  Staging out;
  out.width = map.lanes.n * map.each.n;
  if (kernel_.at(op.to).is_workspace() || shared_ == nullptr) return out;
  if (map.lanes.m * map.lanes.n != kLanes || map.pieces.n == 1) return out;
  if (out.width % kLanes != 0 && kLanes % out.width != 0) return out;
  out.stride = out.width;
  const int side_by_side = std::min(map.lanes.n * widest_write(map), kBanks);
  while (out.stride % kBanks != side_by_side % kBanks) out.stride += widest_write(map);
  const int warps = map.warps.m * map.warps.n;
  for (int rows = map.pieces.m; rows > 0; --rows) {
    const int64_t region = int64_t{rows} * map.lanes.m * out.stride;
    if (map.pieces.m % rows != 0 || region * warps > shared_elements(kernel_)) continue;
    out.rows = rows;
    out.region = region;
    break;
  }
  return out;
}

// Where this thread writes and reads in its warp's region, and the element of C that it stores
// first.
Emitter::StagedThread Emitter::locate_staged(const Staging& plan, const Operand& to) {
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
void Emitter::store_staged_piece(const ir::Op& op, const Staging& plan, const StagedThread& thread,
                                 const Values& acc, Value* top) {
  const ir::ThreadMap& map = kernel_.map;
  const int write = widest_write(map);
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
void Emitter::take_up_rows(const ir::Op& op, const Staging& plan, const StagedThread& thread,
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
void Emitter::store_staged_row(const ir::Op& op, const Staging& plan, const StagedThread& thread,
                               Value* read, Value* down) {
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
