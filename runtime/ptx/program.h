// A decoded module: for each entry the code of it and of every function it calls, in one array of
// ops cut into basic blocks, over one file of registers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/source.h"
#include "runtime/ptx/counters.h"
#include "runtime/ptx/lanes.h"
#include "runtime/ptx/machine.h"
#include "runtime/ptx/syntax.h"
#include "runtime/ptx/types.h"

namespace tilec::ptx {

inline constexpr uint32_t kNone = 0xFFFF'FFFF;

/// Shared memory begins here in its own space, as on sm_90 where the system keeps 1 KiB: address
/// 0 belongs to nobody.
inline constexpr uint64_t kSharedBegin = 1024;
/// Likewise local memory.
inline constexpr uint64_t kLocalBegin = 16;

/// A register of the machine. Constants and special registers are registers that are filled before
/// a warp starts and that nothing writes.
struct Register {
  Type type{};
  enum class Origin : uint8_t { declared, temporary, constant, special } origin{};
  bool tracked = false;  // some path reads it before any write: its lanes are watched
  uint32_t slot = 0;     // byte offset in the register file; index for predicates
};

enum class Special : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
};

/// What a constant register holds: bits, or an address that only a launch knows.
struct Constant {
  enum class Base : uint8_t { none, dynamic_shared, variable } base = Base::none;
  uint32_t variable = 0;  // index into Program::variables
  uint64_t value = 0;     // bits, or added to the base
  uint32_t reg = 0;

  bool operator==(const Constant&) const = default;
};

enum class AccessKind : uint8_t {
  load,
  store,
  async_copy,
  atomic,
  mbarrier,
  bulk_in,   // cp.async.bulk from global to shared memory
  bulk_out,  // and back
};

enum class MbarrierKind : uint8_t {
  none,
  init,
  invalidate,
  expect_tx,
  complete_tx,
  arrive,
  arrive_expect_tx,
  arrive_drop,
  copies_arrive,  // cp.async.mbarrier.arrive
  test_wait,      // and try_wait
  pending_count,
};

/// `decrement` and `increment` wrap at the operand; `cas` compares with b and stores c.
enum class AtomicKind : uint8_t {
  add,
  and_,
  or_,
  xor_,
  exchange,
  cas,
  minimum,
  maximum,
  increment,
  decrement,
};

/// A memory instruction's side of an Op.
struct Access {
  AccessKind kind{};
  Space space{};               // generic: found out lane by lane
  uint8_t bytes = 4;           // an element's
  uint8_t count = 1;           // elements: .v2, .v4
  bool sign_extend = false;    // loads of s8, s16, s32 into wider registers
  uint8_t register_bytes = 4;  // 4 or 8, of the data registers' lanes
  uint8_t declared_bytes = 4;  // of the data registers' type: a s8 in a u16 keeps 16 bits
  bool strong = false;         // volatile, relaxed, acquire, release: meant for other threads
  bool of_cluster = false;     // shared::cluster: may lead to another block
  bool wide_address = true;    // the address register has 64 bits
  uint32_t address = kNone;    // slot; kNone: `offset` alone
  int64_t offset = 0;
  std::array<uint32_t, 8> data{};  // slots
  // cp.async: `address`, `offset` are the shared side.
  uint32_t source = kNone;
  int64_t source_offset = 0;
  bool wide_source = true;
  uint8_t copy_bytes = 0;          // 4, 8, 16
  uint32_t source_bytes = kNone;   // slot of src-size, kNone: copy_bytes
  uint32_t ignore_source = kNone;  // predicate slot: zeros where it holds
  bool ignore_negated = false;
  // atom, red: data holds the results (kNone for red), then the operands b, then c.
  AtomicKind atomic{};
  Type type{};
  // mbarrier: data holds the result and the operand (count, bytes, state or parity).
  MbarrierKind mbarrier{};
  bool parity = false;
  // bulk_in: data[0] is the mbarrier's address register.
  bool wide_mbarrier = true;
  int64_t mbarrier_offset = 0;
};

enum class CollectiveKind : uint8_t {
  sync,  // bar.warp.sync
  shuffle,
  vote,
  match,
  redux,
  elect,
  load_matrix,   // ldmatrix
  store_matrix,  // stmatrix
  move_matrix,   // movmatrix
  multiply,      // mma
};
/// mma: D (m x n) = A (m x k) * B (k x n) + C.
struct MatrixShape {
  uint8_t m = 0, n = 0, k = 0;
  Type d{}, a{}, b{}, c{};
  bool saturate = false;  // integers: .satfinite
  uint8_t d_registers = 0, a_registers = 0, b_registers = 0, c_registers = 0;
};

enum class CollectiveMode : uint8_t {
  none,
  up,
  down,
  butterfly,
  index,
  all,
  any,
  uniform,
  ballot,
  add,
  minimum,
  maximum,
  and_,
  or_,
  xor_,
};

/// An instruction that lanes of a warp carry out together, once all that it names are there.
struct Collective {
  CollectiveKind kind{};
  CollectiveMode mode{};
  Type type = Type::b32;
  uint32_t members = kNone;  // slot of the member mask; kNone: the lanes there, or all
  bool aligned = false;      // ldmatrix, mma and their like: all lanes of the warp
  bool negated = false;      // vote: the predicate
  bool transposed = false;   // ldmatrix, stmatrix
  uint8_t count = 1;         // ldmatrix, stmatrix: matrices
  uint32_t access = kNone;   // ldmatrix, stmatrix: index into Code::accesses
  MatrixShape shape;         // mma
  // Slots: results, then operands; kNone where left out. mma: registers of D, A, B, C in turn.
  std::array<uint32_t, 32> parts{};
};

enum class ControlKind : uint8_t {
  branch,
  exit,
  barrier,
  cluster_arrive,
  cluster_wait,
  fence,  // release, for other blocks
  collective,
  commit_group,
  wait_group,
  trap,
  call,
  return_,
  indirect,  // brx.idx
};

/// An instruction that the scheduler of a block executes itself. It ends a basic block.
struct Control {
  ControlKind kind{};
  uint32_t target = kNone;   // branch, call: op index, later block index
  uint32_t barrier = 0;      // slot of the barrier's number
  uint32_t threads = kNone;  // slot of the thread count; kNone: all of the block
  bool aligned = true;
  bool arrive_only = false;
  bool relaxed = false;  // cluster_arrive: orders no memory
  // bar.red: combines a predicate of all threads, kept as a count.
  CollectiveMode reduce{};  // add (popc), and_, or_; none
  uint32_t predicate = kNone;
  bool negated = false;
  uint32_t result = kNone;        // register of popc, predicate of and, or
  bool wait_all = false;          // wait_all: copies without a group too
  uint32_t groups = 0;            // wait_group: how many may still be open
  uint32_t collective = kNone;    // index into Code::collectives
  uint32_t index = kNone;         // indirect: slot of the index
  std::vector<uint32_t> targets;  // indirect: like `target`
};

/// The parts of an instruction that execution seldom needs.
struct OpInfo {
  int line = 0;  // of the PTX text
  TileLocation tile;
  dsl::Span span;
  InstructionClass kind = InstructionClass::other;
  LaneOp lane_op = LaneOp::none;
  uint8_t multiply_adds = 0;  // floating ones that a lane gets from it; matrices count otherwise
  bool hidden = false;        // a helper of the instruction before or after it: not counted
  uint32_t guard = kNone;     // slot of the predicate
  bool guard_negated = false;
  uint32_t access = kNone;     // index into Code::accesses
  uint32_t control = kNone;    // index into Code::controls
  bool is_copy = false;        // of arguments: local memory b bytes from a to d
  uint32_t tracked_begin = 0;  // its uses of tracked registers, in Code::tracked_uses
  uint32_t tracked_count = 0;
};

/// Where an op names a register, until slots are known.
enum class Field : uint8_t {
  d,
  a,
  b,
  c,
  extra,
  guard,
  address,
  source,
  source_bytes,
  ignore_source,
  barrier,
  threads,
  index,
  predicate,  // of bar.red
  result,
  members,
  data,  // element k of Access::data
  part,  // element k of Collective::parts
};
struct Use {
  uint32_t op = 0;
  Field field{};
  bool write = false;
  uint8_t element = 0;  // of Field::data and part
  uint32_t reg = 0;
};

/// Ops [begin, end) run for the same lanes; then `control` (op index `end`), if any, decides.
struct CodeBlock {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t control = kNone;  // index into Code::controls
  uint32_t next = kNone;     // block that follows; kNone at the end of the function: exit
  uint32_t order = 0;        // of parted lanes, those in the block of least order run first
};

/// A use of a tracked register: one that some path reads before it writes it, or one that gets its
/// value from such a one.
struct TrackedUse {
  uint32_t tracked = 0;  // index into Code::tracked
  Field field{};
  bool write = false;
  bool guard = false;
  bool sink = false;  // a read that matters: an address, what is stored, a barrier's number
};

struct RegisterName {
  uint32_t first = 0;  // register id
  uint32_t count = 1;
  std::string stem;
  bool numbered = false;
};

struct Code {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<int64_t> parameter_offsets;
  int64_t parameter_bytes = 0;
  std::array<uint32_t, 3> reqntid{};
  std::array<uint32_t, 3> maxntid{};
  std::array<uint32_t, 3> cluster{1, 1, 1};  // blocks

  std::vector<Op> ops;  // handlers are bound by a launch
  std::vector<OpInfo> infos;
  std::vector<Use> uses;  // by op
  std::vector<Access> accesses;
  std::vector<Control> controls;
  std::vector<Collective> collectives;
  std::vector<CodeBlock> blocks;    // blocks[0] is the entry
  std::vector<uint32_t> functions;  // op index, later block, where each function begins

  std::vector<Register> registers;
  std::vector<Constant> constants;
  std::vector<std::pair<Special, uint32_t>> specials;  // register
  uint32_t register_bytes = 0;                         // of a warp
  uint32_t predicates = 1;                             // of a warp; 0 is the carry flag

  std::vector<RegisterName> names;
  std::vector<uint32_t> tracked;  // registers
  std::vector<TrackedUse> tracked_uses;
  bool between_blocks = false;  // atomics or volatile accesses of global memory: blocks may talk
  uint32_t shared_grain = 4;    // bytes of the smallest shared or generic access, at most 4

  uint64_t shared_end = kSharedBegin;      // end of static shared memory
  uint64_t dynamic_shared = kSharedBegin;  // begin of dynamic shared memory
  uint64_t local_end = kLocalBegin;

  std::string name_of(uint32_t reg) const;  // as the text declares it
};

/// A module-scope `.global` or `.const` variable.
struct ModuleVariable {
  std::string name;
  int64_t bytes = 0;
  int64_t align = 1;
  bool read_only = false;
  bool initialised = false;    // without an initialiser it is zeros, and counts as written
  std::vector<uint8_t> image;  // `bytes` long
  struct Relocation {
    int64_t offset;
    int bytes;
    uint32_t variable;
    uint64_t addend;
  };
  std::vector<Relocation> relocations;
};

struct Program {
  dsl::Source source;
  int version = 0;
  std::string target;
  std::vector<std::string> files;
  std::vector<ModuleVariable> variables;
  std::vector<Code> codes;

  const Code* find(std::string_view entry) const;
};

}  // namespace tilec::ptx
