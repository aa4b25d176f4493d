// atom and red.
#include <fmt/format.h>

#include <array>

#include "runtime/ptx/decode.h"

namespace tilec::ptx {
namespace {

struct Row {
  std::string_view word;
  AtomicKind kind;
  std::string_view types;  // with blanks round each
};
constexpr std::array<Row, 10> kRows = {{
    {"add", AtomicKind::add, " u32 s32 u64 s64 f16 f16x2 bf16 bf16x2 f32 f64 "},
    {"and", AtomicKind::and_, " b32 b64 "},
    {"or", AtomicKind::or_, " b32 b64 "},
    {"xor", AtomicKind::xor_, " b32 b64 "},
    {"exch", AtomicKind::exchange, " b32 b64 u32 s32 u64 s64 f32 f64 "},
    {"cas", AtomicKind::cas, " b16 b32 b64 u32 s32 u64 s64 "},
    {"min", AtomicKind::minimum, " u32 s32 u64 s64 f16 f16x2 bf16 bf16x2 "},
    {"max", AtomicKind::maximum, " u32 s32 u64 s64 f16 f16x2 bf16 bf16x2 "},
    {"inc", AtomicKind::increment, " u32 "},
    {"dec", AtomicKind::decrement, " u32 "},
}};

}  // namespace

// atom[.sem][.scope][.space].op[.noftz][.vec].type d, [a], b[, c];   red… [a], b;
void Decoder::atomic(const Instruction& instruction) {
  const bool result = instruction.opcode == "atom";
  Modifiers modifiers(instruction);
  Access access{.kind = AccessKind::atomic, .space = Space::generic, .strong = true};
  modifiers.take("async");
  modifiers.take_any({"relaxed", "acquire", "release", "acq_rel"});
  modifiers.take_any({"cta", "cluster", "gpu", "sys"});
  take_space(modifiers, access.space);
  modifiers.take("noftz");
  const bool cache_policy = modifiers.take("L2::cache_hint");
  access.count = modifiers.take("v2") ? 2 : modifiers.take("v4") ? 4 : 1;
  const Row* row = nullptr;
  for (const Row& each : kRows)
    if (!row && modifiers.take(each.word)) row = &each;
  const auto type = modifiers.take_type();
  const bool known =
      row && type && row->types.find(fmt::format(" {} ", info(*type).name)) != std::string::npos;
  if (!known || (access.count > 1 && row->kind != AtomicKind::add))
    return fault("ptx-bad-modifier", instruction.span,
                 fmt::format("`{}` is not an atomic that the machine knows", instruction.text));
  if (!expect_no_more(instruction, modifiers)) return;
  const bool cas = row->kind == AtomicKind::cas;
  const size_t operands = (result ? 1u : 0u) + 2 + (cas ? 1u : 0u) + (cache_policy ? 1u : 0u);
  if (!expect_operands(instruction, operands, operands)) return;
  access.atomic = row->kind;
  access.type = *type;
  access.bytes = static_cast<uint8_t>(bytes_of(*type));
  access.register_bytes = access.bytes == 8 ? 8 : 4;
  access.declared_bytes = access.bytes;

  size_t at = 0;
  std::vector<uint32_t> results, sources;
  const auto registers = [&](const Operand& operand, bool target, std::vector<uint32_t>& to) {
    const bool vector = operand.kind == Operand::Kind::vector;
    if ((vector ? operand.items.size() : 1) != access.count) {
      fault("ptx-bad-operand", operand.span,
            fmt::format("{} registers are wanted here", access.count));
      return false;
    }
    for (size_t i = 0; i < access.count; ++i) {
      const Operand& item = vector ? operand.items[i] : operand;
      const auto reg = target ? destination(item, *type) : source(item, *type);
      if (!reg) return false;
      to.push_back(*reg);
    }
    return true;
  };
  if (result && !registers(instruction.operands[at++], true, results)) return;
  const auto place = address(instruction.operands[at++], access.space);
  if (!place || !registers(instruction.operands[at++], false, sources)) return;
  if (cas && !registers(instruction.operands[at++], false, sources)) return;
  access.offset = place->offset;
  access.wide_address = place->wide;
  access.data.fill(kNone);

  // Access::data: results of all elements, then b of all, then c.
  const uint32_t index = emit(instruction, InstructionClass::atomic);
  code_.infos[index].access = static_cast<uint32_t>(code_.accesses.size());
  code_.accesses.push_back(access);
  if (place->reg != kNone) use(index, Field::address, place->reg, false);
  for (size_t i = 0; i < sources.size(); ++i)
    use(index, Field::data, sources[i], false, static_cast<uint8_t>(access.count + i));
  for (size_t i = 0; i < results.size(); ++i)
    use(index, Field::data, results[i], true, static_cast<uint8_t>(i));
}

}  // namespace tilec::ptx
