// How one instruction works on the 32 lanes of a warp.
//
// A register is a vector of 32 lanes, 4 or 8 bytes each, in the register file of its warp; types
// of 8 and 16 bits lie zero-extended in 4 bytes. A predicate is a word with a bit a lane. A handler
// executes one Op on them. The handlers of arithmetic are generated from one table, lane_ops.def
// (see lane_kernels.inc); its vector rows once for any host and once for hosts with AVX2 and FMA,
// which give the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tilec::ptx {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kAllLanes = 0xFFFF'FFFF;

struct Op;
struct Lanes;

/// Executes `op` for the lanes of Lanes::mask.
using Handler = void (*)(const Op& op, Lanes& lanes);

/// One instruction, decoded. The meaning of d, a, b, c is the handler's: byte offsets into
/// Lanes::registers, or indices into Lanes::predicates.
struct Op {
  Handler run_all = nullptr;   // when Lanes::mask is kAllLanes
  Handler run_some = nullptr;  // when some lanes are off
  uint32_t d = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint64_t immediate = 0;
  uint32_t extra = 0;  // index into a side table of the Code, or a second destination
  uint32_t index = 0;  // in Code::ops
};

struct Code;
struct Warp;

/// What a handler works on: the warp's registers, and the lanes that take part.
struct Lanes {
  std::byte* registers = nullptr;  // aligned to 64 bytes
  uint32_t* predicates = nullptr;
  uint32_t mask = 0;
  const uint64_t* clock = nullptr;  // warp instructions of the block so far
  const Code* code = nullptr;
  Warp* warp = nullptr;
};

enum class LaneOp : uint16_t {
#define LANE_OP(name, spelling, signature, ...) name,
#include "runtime/ptx/lane_ops.def"
#undef LANE_OP
  count,
  none = 0xFFFF,
};
inline constexpr size_t kLaneOps = static_cast<size_t>(LaneOp::count);

struct LaneKernel {
  Handler run_all = nullptr;
  Handler run_some = nullptr;
};
using LaneKernels = std::array<LaneKernel, kLaneOps>;

std::span<const LaneKernel> scalar_kernels();  // of the rows of lane_scalar_ops.def
LaneKernels with_scalar_rows(std::span<const LaneKernel> vector_rows);
const LaneKernels& base_kernels();
const LaneKernels* avx2_kernels();  // null where this host cannot run them
const LaneKernels& host_kernels();  // the best of these

/// A row of lane_ops.def as the decoder sees it. `spelling` is the PTX name with alternatives in
/// braces and optional parts in brackets: "add.{u32,s32}", "add[.rn].f32". `signature` has a
/// letter an operand, destination first:
///   1 2  first, second type named in the spelling      w  twice as wide as the first
///   x y  the same, wider registers allowed             u  u32      p  predicate
struct LaneOpRow {
  std::string_view name;
  std::string_view spelling;
  std::string_view signature;
};
std::span<const LaneOpRow> lane_op_rows();

}  // namespace tilec::ptx
