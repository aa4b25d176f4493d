// Arithmetic: the rows of lane_ops.def by their spelling, and what is made of several rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

struct Spelling {
  LaneOp op;
  std::string_view signature;
};
using Spellings = std::unordered_map<std::string, Spelling>;

// "add[.rn].{u32,s32}" -> add.u32, add.rn.u32, add.s32, add.rn.s32
void expand(std::string_view pattern, const std::string& before, const Spelling& row,
            Spellings& out) {
  const size_t at = pattern.find_first_of("[{");
  if (at == std::string_view::npos) {
    out.emplace(before + std::string(pattern), row);
    return;
  }
  const std::string plain = before + std::string(pattern.substr(0, at));
  const size_t close = pattern.find_first_of("]}", at);
  const std::string_view inside = pattern.substr(at + 1, close - at - 1);
  const std::string_view rest = pattern.substr(close + 1);
  if (pattern[at] == '[') {
    expand(rest, plain, row, out);
    expand(rest, plain + std::string(inside), row, out);
    return;
  }
  for (size_t begin = 0; begin <= inside.size();) {
    const size_t comma = std::min(inside.find(',', begin), inside.size());
    expand(rest, plain + std::string(inside.substr(begin, comma - begin)), row, out);
    begin = comma + 1;
  }
}

const Spellings& spellings() {
  static const Spellings kAll = [] {
    Spellings all;
    const std::span<const LaneOpRow> rows = lane_op_rows();
    for (size_t i = 0; i < rows.size(); ++i)
      if (!rows[i].spelling.empty())
        expand(rows[i].spelling, "", {static_cast<LaneOp>(i), rows[i].signature}, all);
    return all;
  }();
  return kAll;
}

bool is_known_opcode(std::string_view opcode) {
  return std::any_of(spellings().begin(), spellings().end(), [&](const auto& entry) {
    const std::string& name = entry.first;
    return name.starts_with(opcode) && name.size() > opcode.size() && name[opcode.size()] == '.';
  });
}

InstructionClass classify(std::string_view opcode, Type type) {
  if (opcode == "cvt") return InstructionClass::convert;
  if (opcode == "mov") return InstructionClass::move;
  if (opcode == "testp" || opcode == "setp") return InstructionClass::compare;
  switch (type) {
    case Type::f32:
    case Type::f32x2:
      return opcode == "fma" || opcode == "mad" ? InstructionClass::fma
                                                : InstructionClass::floating;
    case Type::f64:
      return InstructionClass::double_;
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      return InstructionClass::half;
    case Type::pred:
      return InstructionClass::compare;
    default:
      return InstructionClass::integer;
  }
}

uint8_t multiply_adds_of(std::string_view opcode, Type type) {
  if ((opcode != "fma" && opcode != "mad") || !is_floating(type)) return 0;
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::f32x2 ? 2 : 1;
}

Type doubled(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    case Type::s32:
      return Type::s64;
    default:
      return Type::b64;
  }
}

// The type that a letter of a signature stands for, given the types named in the spelling.
Type type_of_letter(char letter, const std::vector<Type>& named) {
  const Type first = named.empty() ? Type::b32 : named[0];
  switch (letter) {
    case '2':
    case 'y':
      return named.size() > 1 ? named[1] : first;
    case 'w':
      return doubled(first);
    case 'u':
      return Type::u32;
    case 's':
      return Type::s32;
    case 'p':
      return Type::pred;
    default:
      return first;
  }
}

constexpr std::array<Field, 5> kFields = {Field::d, Field::a, Field::b, Field::c, Field::extra};

}  // namespace

uint32_t Decoder::emit_lane(const Instruction& instruction, InstructionClass kind, LaneOp op,
                            uint32_t d, std::initializer_list<uint32_t> sources, bool hidden) {
  const uint32_t index = emit(instruction, kind);
  code_.infos[index].lane_op = op;
  code_.infos[index].hidden = hidden;
  size_t field = 1;
  for (uint32_t reg : sources) use(index, kFields[field++], reg, false);
  use(index, Field::d, d, true);
  return index;
}

void Decoder::lane(const Instruction& instruction) {
  const auto row = spellings().find(std::string(instruction.text));
  if (row != spellings().end()) return lane_as(instruction, row->second.op, row->second.signature);
  if (is_known_opcode(instruction.opcode))
    fault("ptx-bad-modifier", instruction.span,
          fmt::format("`{}` is not a form of {} that the machine knows", instruction.text,
                      instruction.opcode));
  else
    fault("ptx-unknown-instruction", instruction.span,
          fmt::format("instruction `{}` is not known", instruction.text));
}

void Decoder::lane_as(const Instruction& instruction, LaneOp op, std::string_view signature) {
  if (!expect_operands(instruction, signature.size(), signature.size())) return;
  std::vector<Type> named;
  for (std::string_view word : instruction.modifiers)
    if (const auto type = find_type(word)) named.push_back(*type);
  const InstructionClass kind = classify(instruction.opcode, named.empty() ? Type::b32 : named[0]);

  std::array<uint32_t, 4> sources{};
  for (size_t i = 1; i < signature.size(); ++i) {
    const Type wanted = type_of_letter(signature[i], named);
    const bool relaxed = signature[i] == 'x' || signature[i] == 'y';
    const Operand& operand = instruction.operands[i];
    auto reg = relaxed ? wide_source(operand, wanted) : source(operand, wanted);
    if (!reg) return;
    if (relaxed && code_.registers[*reg].origin != Register::Origin::constant) {
      if (!agrees_relaxed(type_of(*reg), wanted)) return mismatch(operand, type_of(*reg), wanted);
      if (bytes_of(type_of(*reg)) == 8 && bytes_of(wanted) <= 4) {
        const uint32_t low = temporary(Type::b32);
        emit_lane(instruction, kind, LaneOp::low_32, low, {*reg}, true);
        reg = low;
      }
    }
    sources[i - 1] = *reg;
  }

  const Type result = type_of_letter(signature[0], named);
  const bool relaxed = signature[0] == 'x';
  const Operand& target = instruction.operands[0];
  const auto d = relaxed ? wide_destination(target, result) : destination(target, result);
  if (!d) return;
  const Type declared_type = type_of(*d);
  if (relaxed && !agrees_relaxed(declared_type, result))
    return mismatch(target, declared_type, result);

  // A result narrower than its register is extended by its own sign.
  const bool to_64 = bytes_of(declared_type) == 8 && bytes_of(result) <= 4;
  const bool to_32 = !to_64 && is_signed(result) && bytes_of(result) < bytes_of(declared_type);
  const uint32_t direct = to_64 || to_32 ? temporary(Type::b32) : *d;
  const uint32_t index = emit(instruction, kind);
  code_.infos[index].lane_op = op;
  if (!named.empty())
    code_.infos[index].multiply_adds = multiply_adds_of(instruction.opcode, named[0]);
  for (size_t i = 1; i < signature.size(); ++i) use(index, kFields[i], sources[i - 1], false);
  use(index, Field::d, direct, true);
  if (direct == *d) return;
  uint32_t narrow = direct;
  if (is_signed(result) && bytes_of(result) < 4) {
    const uint32_t extended = to_64 ? temporary(Type::b32) : *d;
    emit_lane(instruction, kind, bytes_of(result) == 1 ? LaneOp::extend_s8 : LaneOp::extend_s16,
              extended, {narrow}, true);
    if (!to_64 && bytes_of(declared_type) == 2)
      emit_lane(instruction, kind, LaneOp::low_16, *d, {*d}, true);
    narrow = extended;
  }
  if (to_64)
    emit_lane(instruction, kind, is_signed(result) ? LaneOp::extend_s32 : LaneOp::extend_u32, *d,
              {narrow}, true);
}

// mov, and its forms that take a register apart or put one together.
void Decoder::move(const Instruction& instruction) {
  if (!expect_operands(instruction, 2, 2)) return;
  const Operand& target = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  if (from.kind == Operand::Kind::vector) return pack(instruction, target, from);
  if (target.kind == Operand::Kind::vector) return unpack(instruction, target, from);
  lane(instruction);
}

// mov.b64 %rd, {lo, hi}: the first part is the least significant.
void Decoder::pack(const Instruction& instruction, const Operand& target, const Operand& parts) {
  Modifiers modifiers(instruction);
  const auto type = modifiers.take_type();
  const size_t count = parts.items.size();
  if (!type || !expect_no_more(instruction, modifiers)) return;
  const int bytes = bytes_of(*type);
  if ((count != 2 && count != 4) || bytes < static_cast<int>(count) || bytes > 8)
    return fault("ptx-bad-operand", parts.span,
                 fmt::format("{} parts do not make a .{}", count, info(*type).name));
  const int part = bytes / static_cast<int>(count);
  const Type part_type = part == 1 ? Type::b8 : part == 2 ? Type::b16 : Type::b32;
  std::vector<uint32_t> sources;
  for (const Operand& item : parts.items) {
    const auto reg = source(item, part_type);
    if (!reg) return;
    sources.push_back(*reg);
  }
  const auto d = destination(target, *type);
  if (!d) return;
  const InstructionClass kind = InstructionClass::move;
  if (count == 2) {
    const LaneOp op = part == 4   ? LaneOp::pack_2x32
                      : part == 2 ? LaneOp::pack_2x16
                                  : LaneOp::pack_2x8;
    emit_lane(instruction, kind, op, *d, {sources[0], sources[1]});
  } else if (part == 1) {
    emit_lane(instruction, kind, LaneOp::pack_4x8, *d,
              {sources[0], sources[1], sources[2], sources[3]});
  } else {
    const uint32_t low = temporary(Type::b32), high = temporary(Type::b32);
    emit_lane(instruction, kind, LaneOp::pack_2x16, low, {sources[0], sources[1]}, true);
    emit_lane(instruction, kind, LaneOp::pack_2x16, high, {sources[2], sources[3]}, true);
    emit_lane(instruction, kind, LaneOp::pack_2x32, *d, {low, high});
  }
}

void Decoder::unpack(const Instruction& instruction, const Operand& parts, const Operand& from) {
  Modifiers modifiers(instruction);
  const auto type = modifiers.take_type();
  const size_t count = parts.items.size();
  if (!type || !expect_no_more(instruction, modifiers)) return;
  const int bytes = bytes_of(*type);
  if ((count != 2 && count != 4) || bytes < static_cast<int>(count) || bytes > 8)
    return fault("ptx-bad-operand", parts.span,
                 fmt::format("a .{} does not come in {} parts", info(*type).name, count));
  const auto whole = source(from, *type);
  if (!whole) return;
  const int part = bytes / static_cast<int>(count);
  const Type part_type = part == 1 ? Type::b8 : part == 2 ? Type::b16 : Type::b32;
  // The source is copied first: a part may be the register it comes from.
  const InstructionClass kind = InstructionClass::move;
  std::array<uint32_t, 2> words{temporary(Type::b32), temporary(Type::b32)};
  emit_lane(instruction, kind, bytes == 8 ? LaneOp::low_32 : LaneOp::mov_32, words[0], {*whole},
            true);
  if (bytes == 8) emit_lane(instruction, kind, LaneOp::high_32, words[1], {*whole}, true);
  for (size_t i = 0; i < count; ++i) {
    const auto d = destination(parts.items[i], part_type);
    if (!d) return;
    const size_t bit = i * static_cast<size_t>(part) * 8;
    const LaneOp op = part == 4 ? LaneOp::mov_32 : part == 2 ? LaneOp::half_of : LaneOp::byte_of;
    const uint32_t index = emit_lane(instruction, kind, op, *d, {words[bit / 32]}, i != 0);
    code_.ops[index].immediate = bit % 32;
  }
}

// setp.CMP[.BOOL][.ftz].T p[|q], a, b[, [!]c]: p = (a CMP b) BOOL c, q = !(a CMP b) BOOL c.
// set.CMP….D.T d, a, b[, c] is the same with all ones, or 1.0, for true.
void Decoder::set_predicate(const Instruction& instruction) {
  const bool set = instruction.opcode == "set";
  if (set && spellings().contains(std::string(instruction.text))) return lane(instruction);
  Modifiers modifiers(instruction);
  const std::string_view join = modifiers.take_any({"and", "or", "xor"});
  const auto result = set ? modifiers.take_type() : Type::pred;
  std::string text = "setp";
  for (std::string_view word : modifiers.left()) text += "." + std::string(word);
  const auto row = spellings().find(text);
  if (row == spellings().end() || !result)
    return fault("ptx-bad-modifier", instruction.span,
                 fmt::format("`{}` is not a comparison that the machine knows", instruction.text));
  const size_t operands = join.empty() ? 3 : 4;
  if (!expect_operands(instruction, operands, operands)) return;
  if (set && bytes_of(*result) != 4)
    return fault("ptx-bad-modifier", instruction.span, "set gives .u32, .s32 or .f32");
  const Type type = *modifiers.take_type();

  const auto a = source(instruction.operands[1], type);
  const auto b = source(instruction.operands[2], type);
  const auto c = join.empty() ? std::optional<uint32_t>(kNone) : predicate(instruction.operands[3]);
  if (!a || !b || !c) return;
  const Operand& target = instruction.operands[0];
  const bool pair = target.kind == Operand::Kind::pair;
  const auto d =
      set ? destination(target, *result) : destination(pair ? target.items[0] : target, Type::pred);
  const auto q =
      pair && !set ? destination(target.items[1], Type::pred) : std::optional<uint32_t>(kNone);
  if (!d || !q) return;

  const InstructionClass kind = InstructionClass::compare;
  const bool simple = !set && join.empty() && !pair;
  const uint32_t compared = simple ? *d : temporary(Type::pred);
  emit_lane(instruction, kind, row->second.op, compared, {*a, *b});
  if (simple) return;
  uint32_t other = *c;
  if (!join.empty() && instruction.operands[3].negated) {
    other = temporary(Type::pred);
    emit_lane(instruction, kind, LaneOp::not_pred, other, {*c}, true);
  }
  const LaneOp joined = join == "and"  ? LaneOp::and_pred
                        : join == "or" ? LaneOp::or_pred
                                       : LaneOp::xor_pred;
  const auto finish = [&](uint32_t from, uint32_t to) {
    if (join.empty())
      emit_lane(instruction, kind, LaneOp::mov_pred, to, {from}, true);
    else
      emit_lane(instruction, kind, joined, to, {from, other}, true);
  };
  if (set) {
    const uint32_t truth = temporary(Type::pred);
    finish(compared, truth);
    emit_lane(instruction, kind, is_floating(*result) ? LaneOp::set_float : LaneOp::set_ones, *d,
              {truth}, true);
    return;
  }
  // c may be p or q itself, so both results are computed before either is written.
  const uint32_t first = temporary(Type::pred);
  finish(compared, first);
  if (pair) {
    const uint32_t inverse = temporary(Type::pred), second = temporary(Type::pred);
    emit_lane(instruction, kind, LaneOp::not_pred, inverse, {compared}, true);
    finish(inverse, second);
    emit_lane(instruction, kind, LaneOp::mov_pred, *q, {second}, true);
  }
  emit_lane(instruction, kind, LaneOp::mov_pred, *d, {first}, true);
}

// cvta[.to].space.u64 d, a: global addresses are generic ones; shared and local are windows.
void Decoder::convert_address(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool to = modifiers.take("to");
  Space space = Space::generic;
  if (!take_space(modifiers, space)) return;
  const auto type = modifiers.take_type();
  if (!expect_operands(instruction, 2, 2) || !expect_no_more(instruction, modifiers)) return;
  if (!type || bytes_of(*type) != 8)
    return fault("ptx-bad-modifier", instruction.span, "addresses have 64 bits: cvta….u64");
  const auto a = source(instruction.operands[1], *type);
  const auto d = destination(instruction.operands[0], *type);
  if (!a || !d) return;
  const InstructionClass kind = InstructionClass::integer;
  if (space == Space::parameter)
    return fault("ptx-unsupported", instruction.span,
                 "generic addresses of parameters do not run here");
  if (space == Space::global || space == Space::constant) {
    emit_lane(instruction, kind, LaneOp::mov_64, *d, {*a});
    return;
  }
  const uint32_t window =
      constant(space == Space::shared ? kSharedWindow : kLocalWindow, Type::b64);
  emit_lane(instruction, kind, to ? LaneOp::sub_64 : LaneOp::add_64, *d, {*a, window});
}

}  // namespace tilec::ptx
