// mapa and getctarank: addresses of shared memory in a cluster. cluster.h says what they look like.
#include "runtime/ptx/cluster.h"
#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

constexpr uint64_t kRankShift = 24;
static_assert(kRankUnit == 1 << kRankShift);
constexpr uint64_t kRankBits = uint64_t{0xFF} << kRankShift;

}  // namespace

// mapa[.shared::cluster].{u32,u64} d, a, b: the same place in the shared memory of the block of
// rank b. The block's own address stays as it is.
void Decoder::map_address(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  modifiers.take("shared::cluster");
  const auto type = modifiers.take_type();
  if (!type || (*type != Type::u32 && *type != Type::u64))
    return fault("ptx-bad-modifier", instruction.span, "mapa goes by .u32 or .u64");
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 3, 3)) return;
  const auto d = destination(instruction.operands[0], *type);
  const auto a = source(instruction.operands[1], *type);
  const auto b = source(instruction.operands[2], Type::u32);
  if (!d || !a || !b) return;
  const InstructionClass kind = InstructionClass::other;
  const bool wide = *type == Type::u64;
  const uint32_t own = temporary(Type::pred);
  const uint32_t above = temporary(Type::b32);
  const uint32_t place = temporary(wide ? Type::b64 : Type::b32);
  const uint32_t mapped = temporary(wide ? Type::b64 : Type::b32);
  const auto helper = [&](LaneOp op, uint32_t to, std::initializer_list<uint32_t> from) {
    emit_lane(instruction, kind, op, to, from, true);
  };
  helper(LaneOp::setp_eq_32, own, {*b, special(Special::cluster_ctarank)});
  helper(LaneOp::add_32, above, {*b, constant(1, Type::b32)});
  helper(LaneOp::shl_32, above, {above, constant(kRankShift, Type::b32)});
  if (wide) {
    const uint32_t wide_above = temporary(Type::b64);
    helper(LaneOp::extend_u32, wide_above, {above});
    helper(LaneOp::and_64, place, {*a, constant(~kRankBits, Type::b64)});
    helper(LaneOp::or_64, mapped, {place, wide_above});
  } else {
    helper(LaneOp::and_32, place, {*a, constant(~kRankBits & 0xFFFF'FFFF, Type::b32)});
    helper(LaneOp::or_32, mapped, {place, above});
  }
  emit_lane(instruction, kind, wide ? LaneOp::selp_64 : LaneOp::selp_32, *d, {place, mapped, own});
}

// getctarank[.shared::cluster].{u32,u64} d, a: the rank of the block whose shared memory it is.
void Decoder::rank_of_address(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  modifiers.take("shared::cluster");
  const auto type = modifiers.take_type();
  if (!type || (*type != Type::u32 && *type != Type::u64))
    return fault("ptx-bad-modifier", instruction.span, "getctarank goes by .u32 or .u64");
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 2, 2)) return;
  const auto d = destination(instruction.operands[0], Type::u32);
  const auto a = source(instruction.operands[1], *type);
  if (!d || !a) return;
  const InstructionClass kind = InstructionClass::other;
  uint32_t place = *a;
  if (*type == Type::u64) {
    place = temporary(Type::b32);
    emit_lane(instruction, kind, LaneOp::low_32, place, {*a}, true);
  }
  const uint32_t above = temporary(Type::b32);
  const uint32_t rank = temporary(Type::b32);
  const uint32_t own = temporary(Type::pred);
  emit_lane(instruction, kind, LaneOp::shr_u32, above, {place, constant(kRankShift, Type::b32)},
            true);
  emit_lane(instruction, kind, LaneOp::setp_eq_32, own, {above, constant(0, Type::b32)}, true);
  emit_lane(instruction, kind, LaneOp::sub_32, rank, {above, constant(1, Type::b32)}, true);
  emit_lane(instruction, kind, LaneOp::selp_32, *d, {special(Special::cluster_ctarank), rank, own});
}

}  // namespace tilec::ptx
