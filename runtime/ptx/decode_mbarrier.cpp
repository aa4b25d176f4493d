// mbarrier.*, cp.async.mbarrier.arrive, cp.async.bulk.
#include <fmt/format.h>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

struct Row {
  std::string_view word;
  MbarrierKind kind;
};
constexpr Row kRows[] = {{"init", MbarrierKind::init},
                         {"inval", MbarrierKind::invalidate},
                         {"expect_tx", MbarrierKind::expect_tx},
                         {"complete_tx", MbarrierKind::complete_tx},
                         {"arrive", MbarrierKind::arrive},
                         {"arrive_drop", MbarrierKind::arrive_drop},
                         {"test_wait", MbarrierKind::test_wait},
                         {"try_wait", MbarrierKind::test_wait},
                         {"pending_count", MbarrierKind::pending_count}};

}  // namespace

// The address operand of an mbarrier, and the op with its uses. data: result, operand.
void Decoder::emit_mbarrier(const Instruction& instruction, Access access, const Operand* place,
                            std::optional<uint32_t> result, std::optional<uint32_t> operand) {
  if (!result || !operand) return;
  Place at;
  if (place) {
    const auto found = address(*place, Space::shared);
    if (!found) return;
    at = *found;
  }
  access.offset = at.offset;
  access.wide_address = at.wide;
  access.data.fill(kNone);
  const uint32_t index = emit(instruction, InstructionClass::barrier);
  code_.infos[index].access = static_cast<uint32_t>(code_.accesses.size());
  code_.accesses.push_back(access);
  if (at.reg != kNone) use(index, Field::address, at.reg, false);
  if (*operand != kNone) use(index, Field::data, *operand, false, 1);
  if (*result != kNone) use(index, Field::data, *result, true, 0);
}

void Decoder::mbarrier(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const Row* row = nullptr;
  for (const Row& each : kRows)
    if (!instruction.modifiers.empty() && instruction.modifiers[0] == each.word) row = &each;
  if (!row)
    return fault(
        "ptx-bad-modifier", instruction.span,
        fmt::format("`{}` is no mbarrier instruction that the machine knows", instruction.text));
  modifiers.take(row->word);
  Access made{
      .kind = AccessKind::mbarrier, .space = Space::generic, .bytes = 8, .mbarrier = row->kind};
  if (row->kind == MbarrierKind::arrive && modifiers.take("expect_tx"))
    made.mbarrier = MbarrierKind::arrive_expect_tx;
  made.parity = modifiers.take("parity");
  modifiers.take("noComplete");
  modifiers.take_any({"relaxed", "release", "acquire"});
  modifiers.take_any({"cta", "cluster"});
  take_space(modifiers, made.space);
  if (!modifiers.take("b64"))
    return fault("ptx-bad-modifier", instruction.span, "an mbarrier is a .b64");
  if (!expect_no_more(instruction, modifiers)) return;
  const std::vector<Operand>& operands = instruction.operands;
  const auto nothing = std::optional<uint32_t>(kNone);
  switch (made.mbarrier) {
    case MbarrierKind::invalidate:
      if (expect_operands(instruction, 1, 1))
        emit_mbarrier(instruction, made, &operands[0], nothing, nothing);
      return;
    case MbarrierKind::init:
    case MbarrierKind::expect_tx:
    case MbarrierKind::complete_tx:
      if (expect_operands(instruction, 2, 2))
        emit_mbarrier(instruction, made, &operands[0], nothing, source(operands[1], Type::b32));
      return;
    case MbarrierKind::pending_count:
      if (expect_operands(instruction, 2, 2))
        emit_mbarrier(instruction, made, nullptr, destination(operands[0], Type::b32),
                      source(operands[1], Type::b64));
      return;
    case MbarrierKind::test_wait:
      if (expect_operands(instruction, 3, 4))
        emit_mbarrier(instruction, made, &operands[1], destination(operands[0], Type::pred),
                      source(operands[2], made.parity ? Type::b32 : Type::b64));
      return;
    default: {
      if (!expect_operands(instruction, 1, 3)) return;
      // The state may be left out where the mbarrier is remote; here it may always.
      const size_t at = operands[0].kind == Operand::Kind::address ? 0 : 1;
      if (operands.size() <= at || operands.size() > at + 2)
        return fault("ptx-operand-count", instruction.span, "state, [mbarrier] and a count");
      const bool sink = at == 0 || operands[0].kind == Operand::Kind::sink;
      emit_mbarrier(instruction, made, &operands[at],
                    sink ? nothing : destination(operands[0], Type::b64),
                    operands.size() > at + 1 ? source(operands[at + 1], Type::b32) : nothing);
    }
  }
}

// cp.async.mbarrier.arrive[.noinc][.shared].b64 [mbarrier]: once this thread's copies have arrived.
void Decoder::copies_arrive(const Instruction& instruction, Modifiers modifiers) {
  Access made{.kind = AccessKind::mbarrier,
              .space = Space::generic,
              .bytes = 8,
              .mbarrier = MbarrierKind::copies_arrive};
  const bool known = modifiers.take("arrive");
  // Without .noinc the pending count goes up by one first, so that the arrival changes nothing.
  const bool counts = modifiers.take("noinc");
  take_space(modifiers, made.space);
  if (!known || !modifiers.take("b64"))
    return fault("ptx-bad-modifier", instruction.span, "cp.async.mbarrier.arrive[.noinc].b64");
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 1, 1)) return;
  emit_mbarrier(instruction, made, &instruction.operands[0], kNone,
                counts ? kNone : constant(0, Type::b32));
}

// cp.async.bulk.shared::{cta,cluster}.global.mbarrier::complete_tx::bytes [to], [from], n, [mbar]
// cp.async.bulk.global.shared::cta.bulk_group [to], [from], n
void Decoder::bulk(const Instruction& instruction, Modifiers modifiers) {
  if (modifiers.take("commit_group") || modifiers.take("wait_group") || modifiers.take("prefetch"))
    return nothing(instruction);  // bulk stores are carried out at once
  const bool hint = modifiers.take("L2::cache_hint");
  const std::vector<std::string_view>& left = modifiers.left();
  const bool in = !left.empty() && left[0].starts_with("shared");
  const bool shared = modifiers.take("shared::cluster") || modifiers.take("shared::cta");
  const bool rest = modifiers.take("global") && (in ? modifiers.take("mbarrier::complete_tx::bytes")
                                                    : modifiers.take("bulk_group"));
  if (!shared || !rest || !modifiers.left().empty())
    return fault("ptx-unsupported", instruction.span,
                 fmt::format("`{}` does not run here", instruction.text));
  const size_t operands = (in ? 4u : 3u) + (hint ? 1u : 0u);
  if (!expect_operands(instruction, operands, operands)) return;
  Access made{
      .kind = in ? AccessKind::bulk_in : AccessKind::bulk_out, .space = Space::shared, .bytes = 16};
  const auto near = address(instruction.operands[in ? 0 : 1], Space::shared);
  const auto far = address(instruction.operands[in ? 1 : 0], Space::global);
  const auto bytes = source(instruction.operands[2], Type::b32);
  if (!near || !far || !bytes) return;
  made.offset = near->offset;
  made.wide_address = near->wide;
  made.source_offset = far->offset;
  made.wide_source = far->wide;
  made.data.fill(kNone);
  Place mbarrier_place;
  if (in) {
    const auto found = address(instruction.operands[3], Space::shared);
    if (!found) return;
    mbarrier_place = *found;
    made.mbarrier_offset = found->offset;
    made.wide_mbarrier = found->wide;
  }
  const uint32_t index = emit(instruction, InstructionClass::async_copy);
  code_.infos[index].access = static_cast<uint32_t>(code_.accesses.size());
  code_.accesses.push_back(made);
  if (near->reg != kNone) use(index, Field::address, near->reg, false);
  if (far->reg != kNone) use(index, Field::source, far->reg, false);
  use(index, Field::source_bytes, *bytes, false);
  if (mbarrier_place.reg != kNone) use(index, Field::data, mbarrier_place.reg, false, 0);
}

// isspacep.SPACE p, a: by the windows of generic addresses.
void Decoder::is_space(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  Space space = Space::none;
  take_space(modifiers, space);
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 2, 2)) return;
  const auto p = destination(instruction.operands[0], Type::pred);
  const auto a = source(instruction.operands[1], Type::b64);
  if (!p || !a) return;
  const InstructionClass kind = InstructionClass::compare;
  const auto within = [&](uint64_t window, uint32_t to, bool hidden) {
    const uint32_t distance = temporary(Type::b64);
    emit_lane(instruction, kind, LaneOp::sub_64, distance, {*a, constant(window, Type::b64)}, true);
    emit_lane(instruction, kind, LaneOp::setp_lt_u64, to,
              {distance, constant(kWindowBytes, Type::b64)}, hidden);
  };
  if (space == Space::shared) return within(kSharedWindow, *p, false);
  if (space == Space::local) return within(kLocalWindow, *p, false);
  // Constants lie in global memory here, and are told from it by nothing.
  const uint32_t shared = temporary(Type::pred), local = temporary(Type::pred),
                 either = temporary(Type::pred);
  within(kSharedWindow, shared, true);
  within(kLocalWindow, local, true);
  emit_lane(instruction, kind, LaneOp::or_pred, either, {shared, local}, true);
  emit_lane(instruction, kind, LaneOp::not_pred, *p, {either});
}

// createpolicy makes a policy that nothing looks at.
void Decoder::trivial(const Instruction& instruction) {
  if (instruction.operands.empty()) return nothing(instruction);
  const auto d = destination(instruction.operands[0], Type::b64);
  if (d)
    emit_lane(instruction, InstructionClass::other, LaneOp::mov_64, *d, {constant(0, Type::b64)});
}

}  // namespace tilec::ptx
