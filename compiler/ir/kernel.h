// Tile IR: the language between the spec and LLVM.
//
// A kernel is what one block of threads does to compute one tile of C. It names its storage (global
// operands, rings of slices in shared memory, registers), then lists operations that move whole
// tiles between them. K is walked in slices of tile.k; the last slice may be partial.
//
//   kernel  = "kernel" NAME "target" NAME [ "blocks_per_sm" INT ] [ "registers" INT ]
//             [ "exact" ] [ "persistent" ] [ "staged_store" ]
//             [ "synchronised" ] "{" head storage* op* "}"
//   head    = "block" INTxINTxINT "raster" ( "rows" | "columns" | "swizzle" INT )
//             [ "split_k" INT [ "cluster" ] | stream ] [ "batch" ( "strided" | "pointers" ) ]
//             "threads" "warps" INTxINT "lanes" INTxINT ( "rows" | "columns" | "interleaved" )
//             "each" INTxINT "pieces" INTxINT
//   stream  = "stream_k" INTxINTxINT "starts" INTxINT
//   storage = "global" NAME "[" axis "," axis "]" "vector" INT [ "parts" INT | "stretches" ]
//           | "shared" NAME "[" axis INT "," axis INT "]" "stages" INT "stride" INT
//             "vector" INT [ "swizzle" INT ]
//           | "exchange" NAME "[" "m" INT "," "n" INT "]" "vector" INT
//           | "register" NAME "[" [ axis ] INT [ "," axis INT ] "]"
//   axis    = "m" | "n" | "k"
//   op      = "zero" NAME
//           | "copy" at "=" at [ "via" NAME ] [ "guard" ]                  (until lower_copies)
//           | "load" NAME "=" at [ "when" index "<" bound ] [ "guard" ]
//           | "put" at "=" NAME
//           | "async" at "=" at [ "when" index "<" bound ] [ "guard" ]
//           | "commit" | "wait" INT | "barrier"
//           | "fragment" NAME "=" at "at" index [ "when" index "<" bound ] [ "guard" ]
//           | "outer" NAME "+=" NAME "*" NAME
//           | "store" NAME "=" NAME ":" EXPR [ "guard" ]
//           | "sum" NAME "=" NAME [ "guard" ]
//           | "share" NAME "=" NAME
//           | "reduce" NAME "=" NAME ":" EXPR [ "guard" ]
//           | "cluster_barrier" | "depart"
//           | "loop" NAME "=" bound "to" bound [ "step" INT ] "{" op* "}"
//           | "if" condition "{" op* "}" [ "else" "{" op* "}" ]
//   at      = NAME "[" index "]"
//   index   = INT | NAME [ "+" INT ]
//   bound   = INT | "full" | "slices"
//   condition = index "<" bound | "whole" | "beta_is_zero" | "in_parts"
//
// Meaning:
// - `a[i]` on a global operand is slice i of K; `sa[i]` on a ring is its slot i modulo its stages.
// - `split_k N`: N blocks compute one tile, each from a share of K: ceil(ceil(K / tile.k) / N)
//   slices, the last ones fewer or none. For each of them K is its share: slice 0 is the first of
//   it, and `slices` and `full` count no others.
// - `cluster`: those N blocks are a cluster: they run at the same time, and each may read what the
//   others `share`. An `exchange` is that much of a block's shared memory, in the place of its
//   rings: who writes to the one overwrites the other.
// - `stream_k MxNxK starts ...`: the slices of the first tiles of C, of this size, are shared out
// to blocks, a
//   stretch for each that touches two tiles at most (dsl/shape.h, stream_of); of the other tiles
//   each is a block's. A block runs all ops once for each tile that it touches, with a barrier
//   between two, and K is its share of it, as with `split_k`. `in_parts`: it has not all slices of
//   the tile. Where the kernel's own tile is smaller, its blocks lie in those first tiles.
// - `batch`: a block works on the matrices of its own index; `strided`: each lies so many elements
//   after the one before; `pointers`: the parameters are arrays of pointers.
// - `persistent`: a block computes one tile after the other, every so many-th as there are blocks,
//   with a barrier between two. All copies of a tile have landed by its end.
// - A global storage in `parts` is a workspace, one M x N matrix for each block of a tile; one in
//   `stretches` has two tiles for each block that has a stretch: of the first tile that it touches,
//   and of the second. Stretches have no edges: all of a tile may be touched.
// - A tile that would reach over the border of C is moved back inside, along each axis where C is
//   long enough and the vectors of A and B allow it. It then shares elements with the tile before
//   it: both blocks compute them, and the one before stores them. An `exact` kernel moves none.
// - `slices` = ceil(K / tile.k). `whole`: the block's tile lies inside C, and the base and leading
//   dimension of each operand allow its vector width. `full`: slices that may be copied without a
//   guard: K / tile.k if the tile lies inside C and A and B allow their vector widths, else 0; in
//   an `exact` kernel always `slices`.
// - `guard`: elements outside M, N or K read as 0 and are not written. Without it they must not be
//   touched.
// - `when i < n`: where it does not hold, what arrives is unspecified, and neither global memory is
//   read nor a slot whose copy may be under way.
// - `copy` brings a slice into a slot: through the registers that `via` names, else by `async`.
// - `load` and `put` are the two halves of a copy through registers. `async` is a copy that lands
//   some time before the `wait` that covers it: `commit` closes a group of copies, `wait n` returns
//   when at most n of this thread's groups are still under way.
// - A shared store is visible to the other threads after the next `barrier`; an `async` one after
//   the `wait` that covers it and the next `barrier` after that. Until a kernel is `synchronised`
//   its ops mean what they would mean one after the other.
// - `fragment f = sa[i] at k`: each thread's part of row k of the slice. `outer`: the product of
//   two fragments, added to the accumulators, one fused multiply-add an element.
// - `store c = acc : EXPR` computes EXPR for each element of the thread's tile, with `c` the
//   element that is there. A guarded store whose expression reads c only through products with beta
//   reads no c where beta is 0; an unguarded one reads what it names.
// - `staged_store`: a guarded store of C goes through the memory of the rings, whose slots then
//   hold nothing any more. All threads of the block take part, and it begins with a barrier of its
//   own.
// - A store into parts or stretches goes to the block's own. `sum acc = w`: w[0] + w[1] + ..., in
//   this order; of stretches, those that touch the tile, in the order of K.
// - `share x = acc`: each thread puts its accumulators into its block's exchange. `reduce c = x :
//   EXPR`: the pieces of the tile, `vector` elements each, are dealt to the blocks of the cluster
//   in turn. Each block stores EXPR of its own, with acc = x of the first block + x of the second +
//   ..., in the order of K. All blocks together store what one `store` of the whole sum would.
// - `cluster_barrier`: of all threads of the cluster. What is shared before it can be read after
//   it. `depart`: no exchange goes before all threads have come here; it makes nothing visible.
// - From sm_90 on a kernel that sums starts while the one that stores the parts is at work, and
//   before all else waits for its end.
// - Loops run zero or more times. Their variables are visible in their bodies alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/derive.h"
#include "dsl/expression.h"
#include "dsl/shape.h"
#include "dsl/spec.h"

namespace tilec::ir {

using Id = int;  // index into Kernel::storage; -1: none

enum class Space { global, shared, exchange, registers };
enum class Axis { none, m, n, k };

/// One named piece of storage; which fields count follows from `space`.
struct Storage {
  std::string name;
  Space space = Space::global;
  Axis row_axis = Axis::none;     // global, shared: as stored, columns contiguous. registers: the
  Axis column_axis = Axis::none;  //   axes of a fragment (one) or of accumulators (two)
  int rows = 0;  // shared: of a slice. exchange: of the tile. registers: elements along row_axis
  int columns =
      1;  // shared: of a slice. exchange: of the tile. registers: elements along column_axis
  int vector = 1;          // but for registers: elements per access, at most
  int parts = 1;           // global: matrices of a workspace
  bool stretches = false;  // global: a workspace of `stream_k`
  int stages = 1;          // shared: slots of the ring
  int stride = 0;          // shared: elements from one row to the next
  int swizzle = 0;         // shared: elements per swizzled group; 0: not swizzled
  bool is_workspace() const { return parts > 1 || stretches; }
  bool operator==(const Storage&) const = default;
};

/// `variable + offset`, or the number `offset` where `variable` is empty.
struct Index {
  std::string variable;
  int offset = 0;
  bool operator==(const Index&) const = default;
};

enum class BoundKind { number, full, slices };
struct Bound {
  BoundKind kind = BoundKind::number;
  int number = 0;
  bool operator==(const Bound&) const = default;
};

enum class ConditionKind { none, less, whole, beta_is_zero, in_parts };
struct Condition {
  ConditionKind kind = ConditionKind::none;
  Index left;  // less: left < right
  Bound right;
  bool operator==(const Condition&) const = default;
};

// clang-format off
enum class OpKind {
  zero, copy, load, put, async, commit, wait, barrier, fragment, outer, sum, store, share, reduce,
  cluster_barrier, depart, loop, branch
};
// clang-format on

struct Op {
  OpKind kind = OpKind::barrier;
  Id to = -1;        // written: storage of the left side
  Id from = -1;      // read: storage of the right side; outer: the fragment along m
  Id from_n = -1;    // outer: the fragment along n
  Id via = -1;       // copy: staging registers; -1: async
  Index to_index;    // slot written (shared)
  Index from_index;  // slice (global) or slot (shared) read
  Index k;           // fragment: row of the slice
  Condition when;    // load, async, fragment: `less` or none. branch: its condition
  bool guard = false;
  int count = 0;              // wait: groups that may be under way. loop: step
  dsl::Expression epilogue;   // store, reduce
  std::string variable;       // loop
  Bound lower, upper;         // loop
  std::vector<Op> body;       // loop, branch
  std::vector<Op> otherwise;  // branch
  bool operator==(const Op&) const = default;
};

using Block = std::vector<Op>;

/// How threads cover the block's tile; see dsl/derive.h, FragmentAxis.
struct ThreadMap {
  dsl::Extent warps;  // warps over the block's tile
  dsl::Extent lanes;  // lanes over a warp's tile (threads over the block's, where warps is 1x1)
  dsl::LaneOrder order = dsl::LaneOrder::columns;
  dsl::Extent each;    // elements of C a thread
  dsl::Extent pieces;  // contiguous elements of them
  bool operator==(const ThreadMap&) const = default;

  int threads() const { return warps.m * warps.n * lanes.m * lanes.n; }
};

/// Which tiles `stream_k` deals, and the slices of K that it counts; none where tile_k is 0.
struct StreamK {
  dsl::Extent tile;
  int tile_k = 0;
  dsl::Extent starts{1, 1};  // tiles that are moved inside C begin at multiples of these
  bool operator==(const StreamK&) const = default;
};

struct Kernel {
  std::string name;
  std::string target;
  int blocks_per_sm = 0;  // 0: not asked for
  int registers = 0;      // 0: not asked for
  bool exact = false;
  bool persistent = false;
  bool staged_store = false;
  bool synchronised = false;
  dsl::Extent tile;
  int tile_k = 0;
  dsl::Raster raster;
  int split_k = 1;       // blocks that share K of one tile
  bool cluster = false;  // they are a cluster
  StreamK stream;
  dsl::Batch batch = dsl::Batch::none;
  ThreadMap map;
  std::vector<Storage> storage;
  Block ops;
  bool operator==(const Kernel&) const = default;

  bool streams() const { return stream.tile_k != 0; }
  Id find(const std::string& storage_name) const;  // -1 if there is none
  const Storage& at(Id id) const { return storage[static_cast<size_t>(id)]; }
};

/// Whether the kernel adds up what another one left in a workspace.
bool sums(const Kernel& kernel);

/// Whether the kernel stores parts that the next launch sums, or sums them, on a target where the
/// next may start early.
bool lets_next_start(const Kernel& kernel);
bool awaits_launch_before(const Kernel& kernel);

/// Element offset of (k, x) within one slot, x along the other axis; the same rule as
/// dsl::shared_offset.
int shared_offset(const Storage& ring, int k, int x);

/// Elements of shared memory that rings and exchange take.
int64_t shared_elements(const Kernel& kernel);

/// Elements from one slot of a ring to the next: rounded up to 16 bytes, so that each is aligned.
int slot_elements(const Storage& ring);

/// How the threads of the block bring a slice of `operand`, A or B, into a ring; see dsl/derive.h.
dsl::CopyMap copy_map(const Kernel& kernel, const Storage& operand);

}  // namespace tilec::ir
