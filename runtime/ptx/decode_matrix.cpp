// Matrix instructions: ldmatrix, stmatrix, movmatrix, mma.sync.
#include <fmt/format.h>

#include <array>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

// Shapes and element types of mma.sync, PTX ISA "Matrix multiply-accumulate operation using mma
// instruction". One register of A or B holds 32 bits of elements, of f64 one element.
struct ShapeRow {
  std::string_view shape;
  uint8_t m, n, k;
  std::string_view elements;  // of A and B, with blanks round each
};
constexpr std::array<ShapeRow, 6> kShapes = {{
    {"m16n8k4", 16, 8, 4, " tf32 f64 "},
    {"m16n8k8", 16, 8, 8, " f16 bf16 tf32 f64 "},
    {"m16n8k16", 16, 8, 16, " f16 bf16 u8 s8 e4m3 e5m2 f64 "},
    {"m16n8k32", 16, 8, 32, " u8 s8 e4m3 e5m2 "},
    {"m8n8k16", 8, 8, 16, " u8 s8 "},
    {"m8n8k4", 8, 8, 4, " f64 "},
}};

int bits_of(Type type) {
  return type == Type::tf32 ? 32 : 8 * bytes_of(type);
}

// Types of D and C that go with an element type.
bool accumulates(Type element, Type accumulator) {
  switch (element) {
    case Type::f16:
    case Type::e4m3:
    case Type::e5m2:
      return accumulator == Type::f16 || accumulator == Type::f32;
    case Type::u8:
    case Type::s8:
      return accumulator == Type::s32;
    case Type::f64:
      return accumulator == Type::f64;
    default:
      return accumulator == Type::f32;
  }
}

// A register of a fragment: packed elements in 32 bits, or one f32, s32 or f64.
Type register_type(Type element, bool accumulator) {
  if (element == Type::f64) return Type::f64;
  if (accumulator && element == Type::f32) return Type::f32;
  if (accumulator && element == Type::s32) return Type::s32;
  return Type::b32;
}

uint8_t registers_of(int rows, int columns, Type element) {
  const int bits = element == Type::f64 ? 64 : 32;
  return static_cast<uint8_t>(rows * columns * bits_of(element) / (32 * bits));
}

}  // namespace

// The registers of one operand, appended to `to`.
bool Decoder::fragment(const Operand& operand, Type type, size_t count, bool result,
                       std::vector<uint32_t>& to) {
  const bool vector = operand.kind == Operand::Kind::vector;
  const size_t given = vector ? operand.items.size() : 1;
  if (given != count) {
    fault("ptx-bad-operand", operand.span,
          fmt::format("{} registers where the fragment has {}", given, count));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    const Operand& item = vector ? operand.items[i] : operand;
    const auto reg = result ? destination(item, type) : source(item, type);
    if (!reg) return false;
    to.push_back(*reg);
  }
  return true;
}

uint32_t Decoder::emit_collective(const Instruction& instruction, InstructionClass kind,
                                  Collective made, const std::vector<uint32_t>& results,
                                  const std::vector<uint32_t>& sources) {
  made.parts.fill(kNone);
  made.aligned = true;
  const uint32_t index = emit_control(instruction, kind, {.kind = ControlKind::collective});
  code_.controls.back().collective = static_cast<uint32_t>(code_.collectives.size());
  code_.collectives.push_back(made);
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i] != kNone)
      use(index, Field::part, sources[i], false, static_cast<uint8_t>(results.size() + i));
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i] != kNone) use(index, Field::part, results[i], true, static_cast<uint8_t>(i));
  return index;
}

// mma.sync.aligned.SHAPE.row.col[.satfinite].D.A.B.C d, a, b, c
void Decoder::multiply_matrices(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync") && modifiers.take("aligned");
  const ShapeRow* row = nullptr;
  for (const ShapeRow& each : kShapes)
    if (!row && modifiers.take(each.shape)) row = &each;
  const bool layout = modifiers.take("row") && modifiers.take("col");
  Collective made{.kind = CollectiveKind::multiply};
  MatrixShape& shape = made.shape;
  shape.saturate = modifiers.take("satfinite");
  modifiers.take("kind::f8f6f4");
  const auto d = modifiers.take_type(), a = modifiers.take_type(), b = modifiers.take_type(),
             c = modifiers.take_type();
  const bool known = sync && row && layout && d && a && b && c &&
                     row->elements.find(fmt::format(" {} ", info(*a).name)) != std::string::npos &&
                     bits_of(*a) == bits_of(*b) && is_floating(*a) == is_floating(*b) &&
                     accumulates(*a, *d) && accumulates(*a, *c);
  if (!known)
    return fault(
        "ptx-bad-modifier", instruction.span,
        fmt::format("`{}` is not a matrix instruction that the machine knows", instruction.text));
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 4, 4)) return;
  shape.m = row->m;
  shape.n = row->n;
  shape.k = row->k;
  shape.d = *d;
  shape.a = *a;
  shape.b = *b;
  shape.c = *c;
  shape.d_registers = registers_of(shape.m, shape.n, *d);
  shape.a_registers = registers_of(shape.m, shape.k, *a);
  shape.b_registers = registers_of(shape.k, shape.n, *b);
  shape.c_registers = registers_of(shape.m, shape.n, *c);
  std::vector<uint32_t> results, sources;
  const std::vector<Operand>& operands = instruction.operands;
  if (!fragment(operands[0], register_type(*d, true), shape.d_registers, true, results) ||
      !fragment(operands[1], register_type(*a, false), shape.a_registers, false, sources) ||
      !fragment(operands[2], register_type(*b, false), shape.b_registers, false, sources) ||
      !fragment(operands[3], register_type(*c, true), shape.c_registers, false, sources))
    return;
  emit_collective(instruction, InstructionClass::matrix, made, results, sources);
}

// ldmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans][.shared].b16 r, [p];   stmatrix… [p], r
void Decoder::access_matrix(const Instruction& instruction) {
  const bool load = instruction.opcode == "ldmatrix";
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync") && modifiers.take("aligned") && modifiers.take("m8n8");
  Collective made{.kind = load ? CollectiveKind::load_matrix : CollectiveKind::store_matrix};
  made.count = modifiers.take("x1") ? 1 : modifiers.take("x2") ? 2 : modifiers.take("x4") ? 4 : 0;
  made.transposed = modifiers.take("trans");
  Access access{.kind = load ? AccessKind::load : AccessKind::store, .space = Space::generic};
  take_space(modifiers, access.space);
  const auto type = modifiers.take_type();
  if (!sync || made.count == 0 || type != Type::b16 ||
      (access.space != Space::shared && access.space != Space::generic))
    return fault(
        "ptx-bad-modifier", instruction.span,
        fmt::format("{}.sync.aligned.m8n8.{{x1,x2,x4}}[.trans].shared.b16", instruction.opcode));
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 2, 2)) return;
  std::vector<uint32_t> data;
  if (!fragment(instruction.operands[load ? 0 : 1], Type::b32, made.count, load, data)) return;
  const auto place = address(instruction.operands[load ? 1 : 0], Space::shared);
  if (!place) return;
  access.bytes = 16;
  access.offset = place->offset;
  access.wide_address = place->wide;
  made.access = static_cast<uint32_t>(code_.accesses.size());
  const uint32_t index = emit_collective(
      instruction, load ? InstructionClass::load_shared : InstructionClass::store_shared, made,
      load ? data : std::vector<uint32_t>{}, load ? std::vector<uint32_t>{} : data);
  code_.infos[index].access = made.access;
  code_.accesses.push_back(access);
  if (place->reg != kNone) use(index, Field::address, place->reg, false);
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a
void Decoder::move_matrix(const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool known = modifiers.take("sync") && modifiers.take("aligned") &&
                     modifiers.take("m8n8") && modifiers.take("trans") && modifiers.take("b16");
  if (!known)
    return fault("ptx-bad-modifier", instruction.span, "movmatrix.sync.aligned.m8n8.trans.b16");
  if (!expect_no_more(instruction, modifiers) || !expect_operands(instruction, 2, 2)) return;
  const auto d = destination(instruction.operands[0], Type::b32);
  const auto a = source(instruction.operands[1], Type::b32);
  if (d && a)
    emit_collective(instruction, InstructionClass::shuffle, {.kind = CollectiveKind::move_matrix},
                    {*d}, {*a});
}

}  // namespace tilec::ptx
