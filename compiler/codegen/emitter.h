// From tile IR to LLVM IR, op by op.
//
// Registers of the tile IR become SSA values: `values_` holds, for each register storage, the value
// that each element has at this point; loops and branches make the phis. Addresses are made of a
// part that depends on the thread (computed once, in the entry block), a part that depends on the
// slice or slot, and a constant, in this order, so that the constant ends up in the instruction.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/kernel.h"
#include "dsl/staging.h"

namespace tilec::codegen {

/// C, or a workspace of its parts.
inline bool like_c(const ir::Storage& s) {
  return s.row_axis == ir::Axis::m && s.column_axis == ir::Axis::n;
}

/// Parameters by number, where a kernel has them: compiler/artifact.h states the order.
inline constexpr unsigned kWorkspace = 11;
inline constexpr unsigned kStreamTiles = 12;
inline constexpr unsigned kStreamBlocks = 13;

class Emitter {
 public:
  /// Debug locations name lines of `file`, in which the printed kernel stands after `lines_before`.
  Emitter(const ir::Kernel& kernel, llvm::Module& module, std::string file, int lines_before);
  void emit();

 private:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;

  // A global operand: its parameter, and where this thread begins.
  struct Operand {
    Value* base = nullptr;           // parameter
    Value* leading = nullptr;        // i64, elements from row to row
    Value* rows = nullptr;           // i32, as stored
    Value* columns = nullptr;        // i32, as stored
    Value* row_origin = nullptr;     // i32, of the block's tile; along k, of its share of K
    Value* column_origin = nullptr;  // i32
    Value* part_step = nullptr;      // i64, elements from part to part of a workspace
    Value* first = nullptr;          // pointer to this thread's first access of slice 0
    Value* slice_step = nullptr;     // i64, elements from slice to slice
    Value* pass_step = nullptr;      // i64, elements from pass to pass; null: not uniform
  };

  // A pointer that walks along K with its loop: the slice of one load or async op.
  struct Walk {
    ir::Id operand;
    int offset;    // slices ahead of the loop variable
    bool stops;    // stays at the last full slice
    Value* start;  // in the loop's first trip
    llvm::PHINode* pointer;
  };

  // How `stream_k` deals the slices of K; all i32.
  struct Stretches {
    Value* tiles;   // that are shared out
    Value* blocks;  // that share them
    Value* slices;  // of a tile
    Value* length;  // slices of a stretch, but for
    Value* longer;  // the first so many, which have one more
  };

  struct Loop {
    Value* variable = nullptr;               // i32
    std::map<int, llvm::PHINode*> counters;  // by stages: variable % stages
    std::vector<Walk> walks;
  };

  // emit_kernel.cpp: signature, parameters, operands; emit_place.cpp: where block and thread stand
  void declare();
  void describe_source();
  void locate();
  void locate_block();
  Value* inside(ir::Axis axis, Value* origin, Value* extent, int tile);
  void locate_thread();
  std::pair<Value*, Value*> locate_lane(Value* lane);
  void locate_share();
  Value* slices_of_k();
  void locate_operand(ir::Id id);
  Value* base_of(unsigned parameter);
  Value* workspace();
  void locate_parts(const ir::Storage& s, Operand& out);
  void count_slices();
  Value* special_register(const char* name);
  void tile();
  void every_tile();
  Value* tiles_along(Value* extent, int tile);
  Value* block_barrier();

  // emit_stream.cpp
  bool streams() const { return kernel_.streams(); }
  void every_tile_of_stretch();
  Stretches stretches();
  Value* stretch_begin(const Stretches& all, Value* block);
  Value* stretch_of(const Stretches& all, Value* slice);
  std::pair<Value*, Value*> blocks_of_tile(const Stretches& all);
  Value* at_least_one(Value* value);
  void locate_stretch();
  void locate_tile_of_sum();
  void locate_stretches(Operand& out);
  void sum_stretches(const ir::Op& op);

  // emit_control.cpp
  void block(const ir::Block& ops);
  void op(const ir::Op& op);
  void loop(const ir::Op& op);
  void keep_rolled(llvm::Instruction* back_edge);
  void branch(const ir::Op& op);
  Value* condition(const ir::Condition& condition);
  Value* value(const ir::Index& index);
  Value* value(const ir::Bound& bound);
  Value* slot(const ir::Storage& ring, const ir::Index& index);
  std::vector<Walk> plan_walks(const ir::Op& loop);
  Value* in_one_piece(Value* pointer);
  void open_walks(std::vector<Walk>& walks, llvm::BasicBlock* before);
  void close_walks(const ir::Op& loop, Loop& state);
  std::map<int, Value*> plan_counters(const ir::Op& loop);
  void open_counters(Loop& state, const std::map<int, Value*>& first, llvm::BasicBlock* before);
  void merge(const std::vector<Values>& other, llvm::BasicBlock* from,
             llvm::BasicBlock* other_from);
  void only_if(Value* condition, llvm::function_ref<void()> body);  // null: always

  // emit_copy.cpp
  struct Access {   // one vector access of this thread, within a slice
    Value* row;     // i32
    Value* column;  // i32
    Value* active;  // i1; null: always
  };
  Access access(const ir::Storage& operand, int pass);
  Value* slice_pointer(const ir::Op& op, int pass);
  void load(const ir::Op& op);
  void put(const ir::Op& op);
  void async(const ir::Op& op);
  std::pair<Value*, Value*> matrix_position(const ir::Op& op, const Access& here);
  Value* ring_pointer(const ir::Storage& operand, const ir::Op& op, Value* row, Value* column,
                      int column_offset);
  const ir::Storage& operand_of(const ir::Storage& ring) const;
  void async_access(Value* to, Value* from, int bytes, Value* source_bytes);

  // emit_guard.cpp
  Value* room_in_row(const Operand& operand, Value* row, Value* column);
  Value* own_room(const Operand& c, Value* row, Value* column, Value* ours);
  Value* room_to_read(const ir::Op& op, Value* room);
  Value* element_pointer(const Operand& operand, Value* row, Value* column);
  Value* read_below(Value* room, Value* place, const char* constraint, int across, Value* line,
                    bool read_only);
  Value* read_if(Value* room, int across, Value* line, bool read_only);
  Value* shared_in_row(Value* row, Value* column);
  Value* read_own(Value* shared, int across, Value* line, int width);
  void write_own(Value* shared, int across, Value* line, llvm::ArrayRef<Value*> elements);
  Value* read_c_if(Value* skipped, Value* room, int across, Value* line);
  void write_if(Value* skipped, Value* room, int across, Value* line, Value* element);

  // emit_compute.cpp
  void fragment_from_ring(const ir::Op& op);
  void fragment_from_global(const ir::Op& op);
  void fragment_guarded(const ir::Op& op);
  void outer(const ir::Op& op);
  void outer_of_pairs(const ir::Op& op);
  bool packs_products() const;
  Value* pair_of(Value* first, Value* second);
  Value* shared_pointer(ir::Id ring, Value* slot, Value* k, Value* x, int x_offset);
  int shared_width(const ir::Storage& ring) const;

  // emit_store.cpp
  void store(const ir::Op& op);
  void sum(const ir::Op& op);
  Value* first_element(const Operand& operand);
  void store_row(const ir::Op& op, int i, Value* line, Value* row, Value* column);
  void store_guarded(const ir::Op& op, Value* first, Value* row, Value* column);
  void store_guarded_piece(const ir::Op& op, const Values& piece, Value* top, Value* first,
                           Value* row, Value* column);
  void store_guarded_row(const ir::Op& op, const Values& acc, const std::vector<int>& across,
                         Value* line, Value* row, Value* column);
  Value* evaluate(const dsl::Expression& expression, Value* acc, Value* c);

  // emit_staged_store.cpp
  struct StagedThread {
    Value* write;   // pointer: its first piece of the region's first slot
    Value* read;    // pointer: its first element of the first slot that it takes up
    Value* first;   // pointer: that element in C, in the first trip
    Value* row;     // i32: of that element
    Value* column;  // i32
  };
  dsl::StagedTile staged_tile() const;
  dsl::Staging plan_staging(const ir::Op& op) const;
  StagedThread locate_staged(const dsl::Staging& plan, const Operand& to);
  void store_staged_piece(const ir::Op& op, const dsl::Staging& plan, const StagedThread& thread,
                          const Values& acc, Value* top);
  void take_up_rows(const ir::Op& op, const dsl::Staging& plan, const StagedThread& thread,
                    Value* top);
  void store_staged_row(const ir::Op& op, const dsl::Staging& plan, const StagedThread& thread,
                        Value* read, Value* down);

  // emit_cluster.cpp
  struct Piece {   // of the thread's tile: what one access of the exchange holds
    Value* place;  // i32, elements from where the thread's first lies in the exchange
    Value* row;    // i32, of C
    Value* column;
    Value* line;  // pointer to its first element of C
    Value* ours;  // i1, whether there is one; null: always
    Values old;   // elements of C, where they are read
    Values sums;
  };
  void share(const ir::Op& op);
  void reduce(const ir::Op& op);
  void cluster_barrier();
  void depart();
  Value* exchange_of_thread(const ir::Storage& x);
  void reduce_pieces(const ir::Op& op, const Values& exchanges, Value* turn, int pieces);
  Piece piece(const ir::Op& op, Value* number);
  Value* offset_along(bool along_m, Value* element);
  void sum_pieces(const ir::Storage& x, const Values& exchanges, std::vector<Piece>& pieces);
  void access_piece(const ir::Op& op, Piece& piece, bool store);
  void access_guarded_piece(const ir::Op& op, Piece& piece, bool store);

  // small helpers
  Value* i32(int64_t number) { return builder_.getInt32(static_cast<uint32_t>(number)); }
  Value* i64(int64_t number) { return builder_.getInt64(static_cast<uint64_t>(number)); }
  Value* wide(Value* value) { return builder_.CreateZExt(value, builder_.getInt64Ty()); }
  Value* advance(Value* pointer, Value* elements) {
    return builder_.CreateGEP(builder_.getFloatTy(), pointer, elements);
  }
  Value* scaled(Value* value, int64_t factor);  // value * factor, same type
  llvm::Type* vector_type(int width);
  Value* vector_of(llvm::ArrayRef<Value*> elements);  // one alone stays as it is
  Values& values(ir::Id id) { return values_[static_cast<size_t>(id)]; }
  Operand& operand(ir::Id id) { return operands_[static_cast<size_t>(id)]; }
  int element_offset(bool along_m, int i) const;

  const ir::Kernel& kernel_;
  llvm::IRBuilder<> builder_;
  llvm::Module* module_;
  std::string file_;  // that debug locations name
  int lines_before_;
  llvm::Function* function_ = nullptr;
  llvm::GlobalVariable* shared_ = nullptr;
  llvm::DISubprogram* subprogram_ = nullptr;
  int line_ = 0;  // of the op being emitted, in `file_`

  Value *m_ = nullptr, *n_ = nullptr, *k_ = nullptr, *alpha_ = nullptr, *beta_ = nullptr;
  Value* thread_ = nullptr;                          // i32, of the block
  Value* tile_ = nullptr;                            // its number, where a block computes several
  Value* turn_ = nullptr;                            // 0 or 1: of the tiles that a stretch touches
  Value *block_m_ = nullptr, *block_n_ = nullptr;    // first row and column of the block's tile
  Value *own_m_ = nullptr, *own_n_ = nullptr;        // of what it shares with no tile before
  Value *thread_m_ = nullptr, *thread_n_ = nullptr;  // of the thread's tile within it
  Value *share_ = nullptr, *first_k_ = nullptr;      // of K: the block's number, its first element
  Value *in_parts_ = nullptr, *more_ = nullptr;      // i1: as kernel.h says; a second tile follows
  Value* stretch_slot_ = nullptr;                    // i32: where in the workspace the part goes
  Value *sub_m_ = nullptr, *sub_n_ = nullptr;        // of a sum: where in its tile the block lies
  Value *whole_ = nullptr, *full_ = nullptr, *slices_ = nullptr;
  std::vector<Operand> operands_;      // by storage id
  std::vector<int64_t> ring_base_;     // by storage id, elements from the start of shared memory
  std::vector<Values> values_;         // by storage id
  std::map<std::string, Loop> loops_;  // by variable
};

}  // namespace tilec::codegen
