// What lanes of a warp do together: shuffles, votes, matches, reductions.
#include <fmt/format.h>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

CollectiveMode mode_of(std::string_view word) {
  struct Row {
    std::string_view word;
    CollectiveMode mode;
  };
  static constexpr Row kRows[] = {
      {"up", CollectiveMode::up},          {"down", CollectiveMode::down},
      {"bfly", CollectiveMode::butterfly}, {"idx", CollectiveMode::index},
      {"all", CollectiveMode::all},        {"any", CollectiveMode::any},
      {"uni", CollectiveMode::uniform},    {"ballot", CollectiveMode::ballot},
      {"add", CollectiveMode::add},        {"min", CollectiveMode::minimum},
      {"max", CollectiveMode::maximum},    {"and", CollectiveMode::and_},
      {"or", CollectiveMode::or_},         {"xor", CollectiveMode::xor_}};
  for (const Row& row : kRows)
    if (row.word == word) return row.mode;
  return CollectiveMode::none;
}

}  // namespace

// Emits a collective whose parts are `results` and then `sources`; null ones are left out. A part
// that had a fault stops it.
void Decoder::collective(const Instruction& instruction, Collective made,
                         std::initializer_list<std::optional<uint32_t>> results,
                         std::initializer_list<std::optional<uint32_t>> sources,
                         const Operand* members) {
  std::optional<uint32_t> member_mask = kNone;
  if (members) member_mask = source(*members, Type::b32);
  if (!member_mask) return;
  for (const auto& reg : results)
    if (!reg) return;
  for (const auto& reg : sources)
    if (!reg) return;
  made.parts.fill(kNone);
  const InstructionClass kind =
      made.kind == CollectiveKind::sync ? InstructionClass::barrier : InstructionClass::shuffle;
  const uint32_t index = emit_control(instruction, kind, {.kind = ControlKind::collective});
  code_.controls.back().collective = static_cast<uint32_t>(code_.collectives.size());
  code_.collectives.push_back(made);
  if (*member_mask != kNone) use(index, Field::members, *member_mask, false);
  uint8_t part = static_cast<uint8_t>(results.size());
  for (const auto& reg : sources) {
    if (*reg != kNone) use(index, Field::part, *reg, false, part);
    ++part;
  }
  part = 0;
  for (const auto& reg : results) {
    if (*reg != kNone) use(index, Field::part, *reg, true, part);
    ++part;
  }
}

// shfl.sync.MODE.b32 d[|p], a, b, c, members
void Decoder::shuffle(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync");
  const CollectiveMode mode = mode_of(modifiers.take_any({"up", "down", "bfly", "idx"}));
  const auto type = modifiers.take_type();
  if (mode == CollectiveMode::none || type != Type::b32)
    return fault("ptx-bad-modifier", instruction.span, "shfl.sync.{up,down,bfly,idx}.b32");
  const size_t operands = sync ? 5 : 4;
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, operands, operands))
    return;
  const Operand& target = instruction.operands[0];
  const bool pair = target.kind == Operand::Kind::pair;
  collective(
      instruction, {.kind = CollectiveKind::shuffle, .mode = mode},
      {destination(pair ? target.items[0] : target, Type::b32),
       pair ? destination(target.items[1], Type::pred) : kNone},
      {source(instruction.operands[1], Type::b32), source(instruction.operands[2], Type::b32),
       source(instruction.operands[3], Type::b32)},
      sync ? &instruction.operands[4] : nullptr);
}

// vote.sync.{all,any,uni}.pred p, [!]a, members;   vote.sync.ballot.b32 d, [!]a, members
void Decoder::vote(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync");
  const CollectiveMode mode = mode_of(modifiers.take_any({"all", "any", "uni", "ballot"}));
  const auto type = modifiers.take_type();
  const Type wanted = mode == CollectiveMode::ballot ? Type::b32 : Type::pred;
  if (mode == CollectiveMode::none || type != wanted)
    return fault("ptx-bad-modifier", instruction.span,
                 "vote.sync.{all,any,uni}.pred or vote.sync.ballot.b32");
  const size_t operands = sync ? 3 : 2;
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, operands, operands))
    return;
  collective(
      instruction,
      {.kind = CollectiveKind::vote, .mode = mode, .negated = instruction.operands[1].negated},
      {destination(instruction.operands[0], wanted)}, {predicate(instruction.operands[1])},
      sync ? &instruction.operands[2] : nullptr);
}

// match.any.sync.T d, a, members;   match.all.sync.T d[|p], a, members
void Decoder::match(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const CollectiveMode mode = mode_of(modifiers.take_any({"all", "any"}));
  const bool sync = modifiers.take("sync");
  const auto type = modifiers.take_type();
  if (mode == CollectiveMode::none || !sync || (type != Type::b32 && type != Type::b64))
    return fault("ptx-bad-modifier", instruction.span, "match.{any,all}.sync.{b32,b64}");
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 3, 3)) return;
  const Operand& target = instruction.operands[0];
  const bool pair = target.kind == Operand::Kind::pair;
  collective(instruction, {.kind = CollectiveKind::match, .mode = mode, .type = *type},
             {destination(pair ? target.items[0] : target, Type::b32),
              pair ? destination(target.items[1], Type::pred) : kNone},
             {source(instruction.operands[1], *type)}, &instruction.operands[2]);
}

// redux.sync.{add,min,max}.{u32,s32} and .{and,or,xor}.b32 d, a, members
void Decoder::reduce_warp(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync");
  const CollectiveMode mode =
      mode_of(modifiers.take_any({"add", "min", "max", "and", "or", "xor"}));
  const auto type = modifiers.take_type();
  const bool legal = type == Type::b32 || type == Type::u32 || type == Type::s32;
  if (mode == CollectiveMode::none || !sync || !legal)
    return fault("ptx-bad-modifier", instruction.span,
                 fmt::format("`{}` is not a reduction that the machine knows", instruction.text));
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 3, 3)) return;
  collective(instruction, {.kind = CollectiveKind::redux, .mode = mode, .type = *type},
             {destination(instruction.operands[0], *type)},
             {source(instruction.operands[1], *type)}, &instruction.operands[2]);
}

// elect.sync d|p, members
void Decoder::elect(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync");
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 2, 2)) return;
  const Operand& target = instruction.operands[0];
  if (!sync || target.kind != Operand::Kind::pair)
    return fault("ptx-bad-operand", target.span, "elect.sync d|p, members");
  collective(instruction, {.kind = CollectiveKind::elect},
             {destination(target.items[0], Type::b32), destination(target.items[1], Type::pred)},
             {}, &instruction.operands[1]);
}

}  // namespace tilec::ptx
